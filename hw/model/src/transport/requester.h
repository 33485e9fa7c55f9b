// SPDX-License-Identifier: BSD-2-Clause
//
// The sending half of RC and UC: selects the next WQE and packet (requester.cpp) and builds the
// packet (request_packet.cpp). After a loss the cursor returns to an older record, whose packets
// are rebuilt from the send queue and host memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../card_context.h"
#include "deadlines.h"
#include "frame_writer.h"
#include "local_ops.h"
#include "paths.h"
#include "payload.h"
#include "send_queue.h"
#include "transport_state.h"

namespace dingo::model {

/// Limit of request packets in flight: bounds the cost of a loss and what peers must buffer.
inline constexpr std::int32_t kWindow = 256;

/// Returns the number of request packets that may be sent in addition to those in flight.
inline std::uint32_t window_room(const RequesterState& r) {
    const auto in_flight = static_cast<std::int32_t>(r.send_psn - r.oldest_psn - r.read_psns);
    return static_cast<std::uint32_t>(std::max(kWindow - in_flight, 0));
}

class Requester {
  public:
    Requester(CardContext& card, FrameWriter& frame, FarWork& far, Deadlines& deadlines,
              const Paths& paths, Payload& payload, SendQueue& send_queue, LocalOps& local_ops)
        : card_(card),
          frame_(frame),
          far_(far),
          deadlines_(deadlines),
          paths_(paths),
          payload_(payload),
          send_queue_(send_queue),
          local_ops_(local_ops) {}

    /// Sends up to `burst` packets, counted in `used`; local operations count as packets.
    SendStop turn(QueuePair& qp, unsigned burst, unsigned& used);

  private:
    // --- requester.cpp
    SendStop start_wqe(QueuePair& qp);
    SendStop start_message(QueuePair& qp);
    /// Prefetches far payload of the following WQEs, as long as nothing before them may change it.
    void look_ahead(QueuePair& qp);
    /// Reloads the WQE of a record. Returns false if it has changed; the QP has failed then.
    bool reload_wqe(QueuePair& qp, const SendRecord& record);

    // --- request_packet.cpp
    SendStop send_packet(QueuePair& qp, const SendRecord& record);
    SendStop send_data_packet(QueuePair& qp, const SendRecord& record, std::uint32_t packet_index);
    /// Headers of a data packet, or of a train that begins with it.
    packet::TransportHeaders data_headers(const QueuePair& qp, const SendRecord& record,
                                          std::uint32_t packet_index, unsigned packets) const;
    SendStop send_read_request(QueuePair& qp, const SendRecord& record, std::uint32_t packet_index);
    /// Returns true if this READ or atomic is a repetition whose data would be dropped, because a
    /// region is paused. It is tried again after kPauseRetry.
    bool holds_back(QueuePair& qp);
    SendStop send_atomic_request(QueuePair& qp, const SendRecord& record);
    void request_sent(QueuePair& qp, std::uint32_t next_psn, bool ack_requested);

    CardContext& card_;
    FrameWriter& frame_;
    FarWork& far_;
    Deadlines& deadlines_;
    const Paths& paths_;
    Payload& payload_;
    SendQueue& send_queue_;
    LocalOps& local_ops_;
    SendWqe wqe_;  ///< the WQE of the current turn
};

}  // namespace dingo::model
