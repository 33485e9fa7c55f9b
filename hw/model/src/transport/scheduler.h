// SPDX-License-Identifier: BSD-2-Clause
//
// Chooses the next QP: deficit round robin over the contexts with QPs to serve, then FIFO over the
// QPs of a context. So a client with one QP gets as much of the card as one with hundreds, and none
// waits for all the work of another. A context is a share of CREATE_QP: a doorbell page unless the
// driver sets another one. Costs: cost.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "ready_ring.h"

namespace dingo::model {

/// The hook of a QP in a scheduler.
struct ReadyHook {
    bool queued = false;
};
struct TransportState;

class Scheduler {
  public:
    /// Credit of a context per visit: enough for 16 small messages to a QP of the same card, or for
    /// about one and a half messages of 64 KiB.
    static constexpr std::int64_t kQuantum = 262'144;
    /// Most of a visit's credit that received work may consume, so that a flooded context still
    /// sends.
    static constexpr std::int64_t kMostForReceived = kQuantum / 4 * 3;
    /// Limit of unpaid received work of a context; more is charged to nobody.
    static constexpr std::int64_t kMostOwed = 4 * kQuantum;

    Scheduler();  ///< QPs are linked by TransportState::ready
    explicit Scheduler(ReadyHook TransportState::*hook) : hook_(hook) {}
    /// Queues `qp` unless it is queued.
    void add(QueuePair& qp);
    /// The same for a QP that was taken and could not use its turn: it stays first.
    void add_first(QueuePair& qp);
    /// Removes `qp` from any position.
    void remove(QueuePair& qp) noexcept;
    /// Removes and returns the QP whose turn it is; nullptr if none is ready.
    QueuePair* take() noexcept;
    /// Ends the turn of the taken QP and charges its cost.
    void charge(const QueuePair& qp, std::int64_t cost);
    /// Charges work that a context caused outside of a turn.
    void spend(std::uint32_t share, std::int64_t cost);
    /// Charges work that others caused for a context.
    void spend_received(std::uint32_t share, std::int64_t cost);
    [[nodiscard]] bool empty() const noexcept { return turns_.empty(); }
    /// Returns a QP that will be taken soon, for prefetching: `places` behind the first in the same
    /// context, or the first of a later context. nullptr if unknown.
    [[nodiscard]] const QueuePair* peek(std::size_t places) const noexcept;

  private:
    struct Context {
        ReadyRing ready;
        std::int64_t credit = 0;    ///< exhausted at 0
        std::int64_t received = 0;  ///< received work not paid for yet
        bool queued = false;        ///< in turns_
    };
    Context& context_of(std::uint32_t share);
    static void visit(Context& context) noexcept;
    void drop_first() noexcept;
    /// Marks `qp` as queued; returns false if it was already.
    void queue_context(const QueuePair& qp);
    [[nodiscard]] bool mark(QueuePair& qp) const;
    [[nodiscard]] ReadyHook& hook(QueuePair& qp) const;

    ReadyHook TransportState::*hook_;
    std::vector<Context> contexts_;    ///< by share
    std::deque<std::uint32_t> turns_;  ///< contexts with queued QPs
};

}  // namespace dingo::model
