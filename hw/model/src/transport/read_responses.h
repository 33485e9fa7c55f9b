// SPDX-License-Identifier: BSD-2-Clause
//
// Sends READ data and atomic results, packet by packet in PSN order. Each request keeps a slot
// (ReadResource) from which its response can be repeated.
#pragma once

#include <cstdint>

#include "../card_context.h"
#include "../memory_region.h"
#include "ack_nak.h"
#include "deadlines.h"
#include "dingo/packet/parse.h"
#include "frame_writer.h"
#include "scheduler.h"
#include "transport_state.h"

namespace dingo::model {

class ReadResponses {
  public:
    ReadResponses(FrameWriter& frame, FarWork& far, Scheduler& scheduler, Deadlines& deadlines,
                  MemoryTable& memory, AckNak& ack_nak)
        : frame_(frame),
          far_(far),
          scheduler_(scheduler),
          deadlines_(deadlines),
          memory_(memory),
          ack_nak_(ack_nak) {}

    /// Returns true if the slot for the next request is free. If it still has to repeat a response,
    /// that is abandoned: a requester that sends new requests has already got what it needs.
    static bool has_slot(ResponderState& responder);
    /// Takes that slot for a request and counts its MSN.
    static ReadResource& new_resource(ResponderState& responder, const packet::Packet& packet);
    /// Changes the number of slots. Keeps the newest requests: the peer may repeat them.
    static void resize(ResponderState& responder, std::uint32_t slots);
    /// Returns the slot of the request that includes `psn`, or nullptr.
    static ReadResource* find_resource(ResponderState& responder, std::uint32_t psn);

    /// Schedules packets [start, stop) of a slot; `end`: byte offset in the READ at which they end.
    void start_response(QueuePair& qp, ReadResource& resource, std::uint32_t start,
                        std::uint32_t stop, std::uint32_t end);
    /// Sends a packet, or a train, of the oldest slot that has any. kNo: a region is paused, and
    /// the peer knows by an RNR NAK; or it was destroyed and a NAK is owed; or far memory is not
    /// ready.
    Sent send_response(QueuePair& qp);
    /// Number of packets sent by the last send_response() that returned kYes.
    [[nodiscard]] unsigned packets_sent() const { return frame_.packets(); }
    /// Cancels all scheduled responses.
    static void drop_all(ResponderState& responder);
    /// Cancels responses that wait for more than `done` far accesses. Returns the newest one that
    /// remains, or nullptr.
    static const ReadResource* drop_behind(ResponderState& responder, std::uint64_t done);

  private:
    /// Fills the open frame; `ahead`: bytes of the READ from here on, which may be prefetched.
    FarMemory::Access fill(QueuePair& qp, const ReadResource& resource, const MemoryRange& range,
                           std::uint64_t ahead);
    Sent send_read_response(QueuePair& qp, ReadResource& resource,
                            packet::TransportHeaders& headers);
    Sent send_atomic_response(QueuePair& qp, ReadResource& resource,
                              packet::TransportHeaders& headers);
    static void pick_response(ResponderState& responder);

    FrameWriter& frame_;
    FarWork& far_;
    Scheduler& scheduler_;
    Deadlines& deadlines_;
    MemoryTable& memory_;
    AckNak& ack_nak_;
};

}  // namespace dingo::model
