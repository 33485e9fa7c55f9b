// SPDX-License-Identifier: BSD-2-Clause
//
// The RoCE v2 transport of one card: everything between work queues and frames. The host side
// (registers, admin commands, doorbell decoding, Ethernet function) calls it; it calls the tables.
// Its parts, and which of them know each other: parts.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "../card_context.h"
#include "../memory_region.h"
#include "../port.h"
#include "../queue_pair.h"
#include "dingo/packet/parse.h"
#include "transport_host.h"

namespace dingo::model {

class Transport {
  public:
    Transport(CardContext& card, TransportHost& host, MemoryTable& memory, Port& port);
    ~Transport();

    // --- commands. They have validated everything and stored it in the QP before they call.
    void qp_created(QueuePair& qp);
    /// Sends the answers that it owes, then forgets the QP: timers, schedule, references. No CQE or
    /// DMA of it afterwards.
    void qp_destroyed(QueuePair& qp);
    /// Before MODIFY_QP to ERR: gives a QP that sends a turn of up to `burst` packets. Programs
    /// post their last messages and disconnect; a card that fetches WQEs before it reads commands
    /// has sent them by then. True: more would leave, in a next turn or when their payload has come
    /// from far memory.
    bool send_posted(QueuePair& qp, unsigned burst);
    /// For what does not wait between its turns: as many as a peer may have to acknowledge.
    static constexpr unsigned kWindowBurst = 256;
    /// Packets of an ordinary turn.
    static constexpr unsigned kTurnBurst = 16;
    /// After MODIFY_QP: qp.state and qp.attr are new; `mask` = enum qpm; does the entry actions of
    /// the state (start PSNs, flush in ERR, SQ drained event, forgetting everything in RESET:
    /// producers and consumers 0).
    void qp_modified(QueuePair& qp, QpState old_state, std::uint32_t mask);
    /// The live part of struct qp_info: PSNs, indices, retries, draining.
    void fill_info(const QueuePair& qp, dingo_qp_info& info) const;

    // --- doorbells, decoded and checked for object and page. `producer` (SQ: in blocks) runs free;
    // one that goes backwards or beyond the ring is counted and dropped.
    void sq_doorbell(QueuePair& qp, std::uint32_t producer);
    void rq_doorbell(QueuePair& qp, std::uint32_t producer);
    void srq_doorbell(SharedReceiveQueue& srq, std::uint32_t producer);

    // --- frames for UDP port 4791 with a MAC of ours, parsed well; ICRC not yet checked
    void receive(const packet::Packet& packet, std::span<const std::byte> frame, bool has_icrc);

    // --- time and work
    /// Up to `budget` units of work (packets) at card.now, all QPs fairly. True: more to do at
    /// once.
    /// `timers`: fires those that are due.
    bool run(unsigned budget, bool timers);
    /// QPs have something to do.
    [[nodiscard]] bool has_turns() const;
    /// When run() has something to do, if nothing comes before; kNever: nothing.
    [[nodiscard]] Nanoseconds next_deadline() const;

  private:
    struct Parts;

    struct Turn {
        unsigned used = 0;  ///< packets, and steps that make none
        std::int64_t cost = 0;
        bool sends = false;  ///< more is to be sent, at once or when it has come from far memory
    };
    /// Gives a ready QP its turn of up to `burst` packets.
    Turn serve(QueuePair& qp, unsigned burst);
    Turn turn(QueuePair& qp, unsigned burst);
    /// A deadline of the QP is over.
    void fire(QueuePair& qp);
    /// Makes it as a QP in RESET that was never used.
    void forget(QueuePair& qp);

    std::unique_ptr<Parts> parts_;
    Nanoseconds wire_retry_ = kNever;  ///< the wire was busy: try again then
};

}  // namespace dingo::model
