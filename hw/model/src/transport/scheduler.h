// SPDX-License-Identifier: BSD-2-Clause
//
// Chooses the next QP: deficit round robin over the contexts that have QPs to serve, then first in,
// first out over the QPs of a context. So a client with one QP gets as much of the card as one with
// hundreds, and none waits for all the work of another. A context is a share of CREATE_QP, which is
// a doorbell page where the driver does not say more. What counts is in cost.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "ready_ring.h"

namespace dingo::model {

/// The hook that a QP carries.
struct ReadyHook {
    bool queued = false;
};
struct TransportState;

class Scheduler {
  public:
    /// What a context may use before others have their turns: 16 small messages to a QP of the same
    /// card, or 64 KiB and a half.
    static constexpr std::int64_t kQuantum = 262'144;
    /// Part of a visit that received work may use up: a context that is flooded still sends.
    static constexpr std::int64_t kMostForReceived = kQuantum / 4 * 3;
    /// Most received work that a context can owe; more is not charged to anybody.
    static constexpr std::int64_t kMostOwed = 4 * kQuantum;

    Scheduler();  ///< QPs are linked by TransportState::ready
    explicit Scheduler(ReadyHook TransportState::*hook) : hook_(hook) {}
    /// Queues `qp` unless it is queued.
    void add(QueuePair& qp);
    /// The same of one that was taken and had no use of its turn: it is the next again.
    void add_first(QueuePair& qp);
    /// Takes `qp` out, wherever it stands.
    void remove(QueuePair& qp) noexcept;
    /// The QP whose turn it is, taken out; nullptr when none is ready.
    QueuePair* take() noexcept;
    /// Ends the turn of the QP that was taken, at this cost.
    void charge(const QueuePair& qp, std::int64_t cost);
    /// Work that a context caused outside of a turn.
    void spend(std::uint32_t share, std::int64_t cost);
    /// Work that others caused for a context.
    void spend_received(std::uint32_t share, std::int64_t cost);
    [[nodiscard]] bool empty() const noexcept { return turns_.empty(); }
    /// A QP that has its turn soon: `places` behind the first in the same context, or that of a
    /// later context. nullptr: not known.
    [[nodiscard]] const QueuePair* peek(std::size_t places) const noexcept;

  private:
    struct Context {
        ReadyRing ready;
        std::int64_t credit = 0;    ///< used up at 0
        std::int64_t received = 0;  ///< not paid for yet
        bool queued = false;        ///< in turns_
    };
    Context& context_of(std::uint32_t share);
    static void visit(Context& context) noexcept;
    void drop_first() noexcept;
    /// Marks `qp`; false: it was queued.
    void queue_context(const QueuePair& qp);
    [[nodiscard]] bool mark(QueuePair& qp) const;
    [[nodiscard]] ReadyHook& hook(QueuePair& qp) const;

    ReadyHook TransportState::*hook_;
    std::vector<Context> contexts_;    ///< indexed by share
    std::deque<std::uint32_t> turns_;  ///< contexts that have something queued
};

}  // namespace dingo::model
