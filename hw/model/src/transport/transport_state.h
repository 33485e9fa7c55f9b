// SPDX-License-Identifier: BSD-2-Clause
//
// Requester and responder state of one QP. Compact, as a card has thousands of them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../queue_pair.h"
#include "dingo/packet/build.h"
#include "far_state.h"
#include "scheduler.h"
#include "send_record.h"
#include "timers.h"

namespace dingo::model {

/// The sending half: from send WQEs to requests, from acknowledgements to completions. Its PSNs are
/// free running over 32 bits, because READ responses may span half of the 24-bit number space; the
/// wire carries the low 24 bits.
struct RequesterState {
    RecordRing records;
    /// record whose packets are being sent; records.tail(): a new WQE is next
    std::uint32_t cursor = 0;
    std::uint32_t next_index = 0;  ///< SQ block of the WQE after the records
    std::uint32_t oldest_psn = 0;  ///< oldest unacknowledged
    std::uint32_t send_psn = 0;    ///< next to send; less than sent_psn while repeating
    std::uint32_t sent_psn = 0;    ///< one after the newest ever sent
    std::uint32_t new_psn = 0;     ///< first PSN of the next new message
    std::uint32_t begun = 0;       ///< number of messages that have PSNs
    std::uint32_t completed = 0;   ///< of those; the peer's MSN is between the two
    /// PSNs between oldest_psn and send_psn that belong to READ responses
    std::uint32_t read_psns = 0;
    std::uint32_t ackreq_psn = 0;  ///< newest packet that requested an acknowledgement
    std::uint16_t since_ackreq = 0;
    std::uint8_t outstanding_reads = 0;  ///< READs and atomics begun and not completed
    std::uint8_t retries_left = 0;
    std::uint8_t timeouts = 0;  ///< consecutive ones, without progress
    std::uint8_t rnr_left = 0;
    bool halted = false;  ///< a WQE failed locally; it completes after those before it
    /// went back already: until progress, responses that skip oldest_psn are ignored
    bool implied_nak = false;
    /// far memory had no room for response data: the retransmission is not the peer's fault
    bool no_room = false;
    bool drained = false;  ///< SQD: everything begun has completed
    /// ack_deadline was set outside run(), from the time of the run() before: corrected in the
    /// next
    bool stale_ack = false;
    bool stale_wait = false;  ///< the same for wait_deadline
    Nanoseconds ack_deadline = kNever;
    Nanoseconds wait_deadline = kNever;  ///< RNR NAK or paused region: nothing is sent before

    /// Returns the SQ block of the oldest WQE that has not completed.
    [[nodiscard]] std::uint32_t consumer() const noexcept {
        return records.empty() ? next_index : records.front().index;
    }
};

/// A READ or atomic request that the peer may repeat, and the state of its response.
struct ReadResource {
    std::uint64_t va = 0;
    std::uint64_t original = 0;  ///< atomic: old value
    std::uint32_t rkey = 0;
    std::uint32_t length = 0;
    std::uint32_t first_psn = 0;
    std::uint32_t packets = 0;  ///< 0: slot never used
    std::uint32_t msn = 0;
    std::uint32_t start = 0;  ///< first packet of the current response
    std::uint32_t next = 0;   ///< packet to send next
    std::uint32_t stop = 0;   ///< one after the last to send
    std::uint32_t end = 0;    ///< byte offset in the READ at which the current response ends
    bool atomic = false;
    std::uint64_t after = 0;   ///< FarHalf::done at which it may be answered
    bool answered = false;     ///< completely sent once: a pending response is a repetition
    bool asked_again = false;  ///< the peer may already have a part of the pending response
    /// a region is paused: an RNR NAK was sent since the request or its last repetition
    bool refused = false;

    [[nodiscard]] bool pending() const noexcept { return next != stop; }
};

/// The answering half: from requests to memory, receive completions and responses.
struct ResponderState {
    enum class Message : std::uint8_t { kNone, kSend, kWrite };

    std::uint32_t expected_psn = 0;
    std::uint32_t msn = 0;  ///< messages executed; their data may be in flight to far memory
    Message message = Message::kNone;  ///< the message in progress
    /// sequence or RNR NAK sent: silent until the expected packet arrives
    bool nak_sent = false;
    bool rnr_sent = false;      ///< it was an RNR NAK: packets after it are no gap
    bool had_gap = false;       ///< UC: a PSN was not the expected one
    bool comm_est = false;      ///< event COMM_EST was raised
    bool failed = false;        ///< a fatal NAK is owed: no more requests are accepted
    bool receive_held = false;  ///< `receive` belongs to the message in progress

    bool reply_pending = false;  ///< one ACK or NAK, after all READ responses
    std::uint8_t reply_syndrome = 0;
    std::uint32_t reply_psn = 0;
    std::uint32_t reply_msn = 0;  ///< number of messages complete in memory when it became due

    std::uint32_t write_rkey = 0;
    std::uint32_t remaining = 0;  ///< WRITE: remaining bytes
    std::uint64_t write_va = 0;
    std::uint32_t receive_bytes = 0;  ///< SEND: bytes received; WRITE: length of the message
    std::uint32_t resource_next = 0;  ///< slot for the next READ or atomic, the oldest one
    std::uint32_t resource_now = 0;   ///< slot being answered, if `pending` is not 0
    std::uint32_t pending = 0;        ///< number of slots with packets to send
    std::unique_ptr<ReceiveWqe> receive;
    std::vector<ReadResource> resources;  ///< max_dest_rd_atomic of them
    Nanoseconds wait_deadline = kNever;   ///< paused region: retry READ responses
};

/// Distinguishes the peer of a connected QP from others at its address. Learnt from packets that
/// only the peer can have sent: a request with the expected PSN, a response to an outstanding
/// request.
struct PeerSigns {
    /// Whether the MSN in its responses counts our messages. Decided by the first response: a peer
    /// whose responder was not reset with our QP started counting elsewhere.
    enum class Msn : std::uint8_t { kUnseen, kCounts, kOther };

    // UDP source ports; 0: not learnt yet. Two, as a peer may use one for each kind.
    std::uint16_t requests = 0;
    std::uint16_t responses = 0;
    Msn msn = Msn::kUnseen;
};

struct TransportState {
    ReadyHook ready;
    ReadyHook room;             ///< queued while it waits for room on the wire (room_waits.h)
    std::uint64_t room_at = 0;  ///< destination address for which it waits
    TimerHook timer;
    RequesterState requester;
    ResponderState responder;
    packet::HeaderTemplate path;
    PeerSigns peer;
    std::unique_ptr<FarState> far;      ///< null: no far memory used so far
    std::uint32_t path_generation = 0;  ///< Port::gid_generation of `path`
    bool path_valid = false;
    bool last_wqe_reached = false;  ///< event QP_LAST_WQE was raised
};

}  // namespace dingo::model
