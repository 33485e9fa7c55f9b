// SPDX-License-Identifier: BSD-2-Clause
//
// The RoCE v2 transport of one card: everything between work queues and frames. Called by the host
// side (registers, admin commands, doorbells, Ethernet function); calls the tables. Its parts and
// their dependences: parts.h.
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

    // --- commands. They have validated all fields and stored them in the QP before they call.
    void qp_created(QueuePair& qp);
    /// Sends the owed acknowledgement and posted datagrams, then removes all references to the QP:
    /// timers, schedule. No CQE or DMA of it afterwards.
    void qp_destroyed(QueuePair& qp);
    /// Before MODIFY_QP to ERR: gives a sending QP a turn of up to `burst` packets. Programs post
    /// their last messages and disconnect; a card that fetches WQEs before it reads commands has
    /// sent them by then. Returns true if more can leave, in the next turn or when payload arrives
    /// from far memory.
    bool send_posted(QueuePair& qp, unsigned burst);
    /// Burst of a last turn: as many packets as a peer may have to acknowledge.
    static constexpr unsigned kWindowBurst = 256;
    /// Packets of an ordinary turn.
    static constexpr unsigned kTurnBurst = 16;
    /// After MODIFY_QP: qp.state and qp.attr are new; `mask`: enum qpm. Performs the entry actions
    /// of the state: sets start PSNs, flushes in ERR, raises the SQ drained event, resets all state
    /// and indexes in RESET.
    void qp_modified(QueuePair& qp, QpState old_state, std::uint32_t mask);
    /// Fills the dynamic part of struct qp_info: PSNs, indices, retries, draining.
    void fill_info(const QueuePair& qp, dingo_qp_info& info) const;

    // --- doorbells, decoded and checked for object and page. `producer` (SQ: in blocks) is free
    // running; one that goes backwards or beyond the ring is counted and dropped.
    void sq_doorbell(QueuePair& qp, std::uint32_t producer);
    void rq_doorbell(QueuePair& qp, std::uint32_t producer);
    void srq_doorbell(SharedReceiveQueue& srq, std::uint32_t producer);

    // --- frames for UDP port 4791 with a MAC of this card, well-formed; ICRC not checked yet
    void receive(const packet::Packet& packet, std::span<const std::byte> frame, bool has_icrc);

    // --- time and work
    /// Does up to `budget` units of work (packets) at card.now, fairly over all QPs. Fires timers
    /// that are due only if `timers` is true. Returns true if there is more to do at once.
    bool run(unsigned budget, bool timers);
    /// Returns true if a QP has something to do.
    [[nodiscard]] bool has_turns() const;
    /// Time at which run() has something to do without further input; kNever: none.
    [[nodiscard]] Nanoseconds next_deadline() const;

  private:
    struct Parts;

    struct Turn {
        unsigned used = 0;  ///< packets, and steps without packets
        std::int64_t cost = 0;
        bool sends = false;  ///< more is to be sent, at once or when it arrives from far memory
    };
    /// Gives a ready QP a turn of up to `burst` packets and accounts for its cost.
    Turn serve(QueuePair& qp, unsigned burst);
    Turn turn(QueuePair& qp, unsigned burst);
    /// Handles an expired deadline of the QP.
    void fire(QueuePair& qp);
    /// Resets all state of the QP, as after creation.
    void forget(QueuePair& qp);

    std::unique_ptr<Parts> parts_;
    Nanoseconds wire_retry_ = kNever;  ///< retry time while the wire is full
};

}  // namespace dingo::model
