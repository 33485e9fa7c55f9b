// SPDX-License-Identifier: BSD-2-Clause
//
// Requester and responder of one QP. Kept compact: a card has thousands of them.
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

/// The sending half: from send WQEs to requests, from acknowledgements to completions.
/// Its PSNs run free over 32 bits, because READ responses may span half of the 24-bit number space;
/// the wire carries the low 24 bits.
struct RequesterState {
    RecordRing records;
    std::uint32_t cursor =
        0;  ///< record whose packets are being sent; records.tail(): a new WQE comes next
    std::uint32_t next_index = 0;  ///< SQ block of the WQE behind the records
    std::uint32_t oldest_psn = 0;  ///< oldest unacknowledged
    std::uint32_t send_psn = 0;    ///< next to send; before sent_psn while repeating
    std::uint32_t sent_psn = 0;    ///< behind the newest ever sent
    std::uint32_t new_psn = 0;     ///< of the next new message
    std::uint32_t begun = 0;       ///< messages that have PSNs
    std::uint32_t completed = 0;   ///< of them; the peer's MSN is between the two
    std::uint32_t read_psns =
        0;  ///< PSNs between oldest_psn and send_psn that belong to READ responses
    std::uint32_t ackreq_psn = 0;  ///< newest packet that asked for an acknowledgement
    std::uint16_t since_ackreq = 0;
    std::uint8_t outstanding_reads = 0;  ///< READs and atomics begun and not completed
    std::uint8_t retries_left = 0;
    std::uint8_t timeouts = 0;  ///< in a row, without progress
    std::uint8_t rnr_left = 0;
    bool halted = false;       ///< a WQE failed locally; it completes when those before it have
    bool implied_nak = false;  ///< went back already: a response that skips oldest_psn is no reason
                               ///< before progress
    bool response_paused =
        false;  ///< a response met a paused region: the repetition is not the peer's fault
    bool drained = false;  ///< SQD: everything begun has completed
    bool stale_ack =
        false;  ///< ack_deadline, wait_deadline were set outside run(): counted from the time of
    bool stale_wait = false;  ///< the run() before, to be corrected in the next
    Nanoseconds ack_deadline = kNever;
    Nanoseconds wait_deadline = kNever;  ///< RNR NAK or paused region: nothing is sent before
};

/// A READ or atomic request that the peer may ask for again, and the state of its response.
struct ReadResource {
    std::uint64_t va = 0;
    std::uint64_t original = 0;  ///< atomic: value before
    std::uint32_t rkey = 0;
    std::uint32_t length = 0;
    std::uint32_t first_psn = 0;
    std::uint32_t packets = 0;  ///< 0: slot never used
    std::uint32_t msn = 0;
    std::uint32_t start = 0;  ///< packet with which the present response begins
    std::uint32_t next = 0;   ///< packet to send next
    std::uint32_t stop = 0;   ///< behind the last to send
    std::uint32_t end = 0;    ///< bytes of the READ that the present response reaches to
    bool atomic = false;
    std::uint64_t after = 0;   ///< FarHalf::done from which on it may be answered
    bool answered = false;     ///< all of it left once: what is pending now is a repetition
    bool asked_again = false;  ///< the peer may have a part of what is pending

    [[nodiscard]] bool pending() const noexcept { return next != stop; }
};

/// The answering half: from requests to memory, receive completions and responses.
struct ResponderState {
    enum class Message : std::uint8_t { kNone, kSend, kWrite };

    std::uint32_t expected_psn = 0;
    std::uint32_t msn = 0;  ///< messages executed: their data may be on the way to far memory
    Message message = Message::kNone;  ///< begun and not ended
    bool nak_sent = false;      ///< sequence or RNR NAK: silent until the expected packet comes
    bool rnr_sent = false;      ///< it was an RNR NAK: packets behind it are no gap
    bool comm_est = false;      ///< event COMM_EST was raised
    bool failed = false;        ///< a fatal NAK waits to leave: no more requests
    bool receive_held = false;  ///< `receive` belongs to the message in progress

    bool reply_pending = false;  ///< one ACK or NAK, behind all READ responses
    std::uint8_t reply_syndrome = 0;
    std::uint32_t reply_psn = 0;
    std::uint32_t reply_msn = 0;  ///< messages complete in memory when it became due

    std::uint32_t write_rkey = 0;
    std::uint32_t remaining = 0;  ///< WRITE: bytes to come
    std::uint64_t write_va = 0;
    std::uint32_t receive_bytes = 0;  ///< SEND: bytes taken
    std::uint32_t resource_next = 0;  ///< slot for the next READ or atomic: the oldest one
    std::uint32_t resource_now = 0;   ///< slot that is being answered, when pending
    std::uint32_t pending = 0;        ///< resources with packets to send
    std::unique_ptr<ReceiveWqe> receive;
    std::vector<ReadResource> resources;  ///< max_dest_rd_atomic of them
    Nanoseconds wait_deadline = kNever;   ///< paused region: READ responses again
};

/// What tells the peer of a connected QP from others at its address, learnt from packets that only
/// the peer can have made: a request with the expected PSN, a response to what is outstanding.
struct PeerSigns {
    /// Whether the MSN of its responses counts our messages. The first response tells: a
    /// peer whose responder was not reset with our QP counts from elsewhere.
    enum class Msn : std::uint8_t { kUnseen, kCounts, kOther };

    // UDP source ports; 0: not learnt yet. Two, because a peer may have one for each kind.
    std::uint16_t requests = 0;
    std::uint16_t responses = 0;
    Msn msn = Msn::kUnseen;
};

struct TransportState {
    ReadyHook ready;
    ReadyHook room;             ///< it waits for room on the wire (room_waits.h)
    std::uint64_t room_at = 0;  ///< to this address
    TimerHook timer;
    RequesterState requester;
    ResponderState responder;
    packet::HeaderTemplate path;
    PeerSigns peer;
    std::unique_ptr<FarState> far;      ///< null: it has used no far memory
    std::uint32_t path_generation = 0;  ///< Port::gid_generation of `path`
    bool path_valid = false;
    bool last_wqe_reached = false;  ///< event QP_LAST_WQE was raised
};

}  // namespace dingo::model
