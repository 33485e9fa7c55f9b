// SPDX-License-Identifier: BSD-2-Clause
//
// READ data and atomic results, packet by packet in PSN order. Each request keeps a slot
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

    /// The slot for the next request is free. What a repetition had left to send from it is given
    /// up: a requester that asks for more has got what it needs of it.
    static bool has_slot(ResponderState& responder);
    /// Takes that slot for a request, and counts its MSN.
    static ReadResource& new_resource(ResponderState& responder, const packet::Packet& packet);
    /// The slot of a request of which `psn` is a packet, or nullptr.
    static ReadResource* find_resource(ResponderState& responder, std::uint32_t psn);

    /// Schedules packets [start, stop) of a slot; `end` = bytes of the READ that they reach to.
    void start_response(QueuePair& qp, ReadResource& resource, std::uint32_t start,
                        std::uint32_t stop, std::uint32_t end);
    /// Sends one packet of the oldest slot that has any. kNo: a region is paused, or has gone, for
    /// which a NAK is owed; or far memory makes it wait.
    Sent send_response(QueuePair& qp);
    /// Packets sent by the last send_response() that said kYes.
    [[nodiscard]] unsigned packets_sent() const { return frame_.packets(); }
    /// Nothing that is scheduled is sent.
    static void drop_all(ResponderState& responder);
    /// Nothing that waits for more than `done` accesses to far memory is sent. The newest of those
    /// that are, or nullptr.
    static const ReadResource* drop_behind(ResponderState& responder, std::uint64_t done);

  private:
    /// Gives the open frame its payload, of which `ahead` bytes are to come with it.
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
