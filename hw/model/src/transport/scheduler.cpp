// SPDX-License-Identifier: BSD-2-Clause
#include "scheduler.h"

#include <algorithm>
#include <utility>

#include "transport_state.h"

namespace dingo::model {

Scheduler::Context& Scheduler::context_of(const QueuePair& qp) {
    if (contexts_.size() <= qp.share)
        contexts_.resize(qp.share + 1);
    return contexts_[qp.share];
}

Scheduler::Scheduler() : hook_(&TransportState::ready) {}

ReadyHook& Scheduler::hook(QueuePair& qp) const {
    return (*qp.transport).*hook_;
}

bool Scheduler::mark(QueuePair& qp) const {
    return !std::exchange(hook(qp).queued, true);
}

void Scheduler::add(QueuePair& qp) {
    if (!mark(qp))
        return;
    context_of(qp).ready.push_back(qp);
    queue_context(qp);
}

void Scheduler::add_first(QueuePair& qp) {
    if (!mark(qp))
        return;
    context_of(qp).ready.push_front(qp);
    queue_context(qp);  // it is not where the QP's turn was none of take()
}

void Scheduler::queue_context(const QueuePair& qp) {
    Context& context = contexts_[qp.share];
    if (!std::exchange(context.queued, true)) {
        // A visit of its own: it does not wait for another round of all.
        context.credit += kQuantum;
        turns_.push_back(qp.share);
    }
}

void Scheduler::remove(QueuePair& qp) noexcept {
    if (std::exchange(hook(qp).queued, false))
        contexts_[qp.share].ready.remove(qp);
}

QueuePair* Scheduler::take() noexcept {
    while (!turns_.empty()) {
        const std::uint32_t share = turns_.front();
        Context& context = contexts_[share];
        if (turns_.size() == 1) {
            context.credit = kQuantum;  // nobody else wants anything
        } else if (context.credit <= 0) {
            context.credit += kQuantum;
            turns_.pop_front();
            turns_.push_back(share);
            continue;
        }
        if (QueuePair* const qp = context.ready.pop_front()) {
            hook(*qp).queued = false;
            return qp;
        }
        if (context.ready.empty())
            drop_first();
    }
    return nullptr;
}

// Who has nothing to send saves nothing up.
void Scheduler::drop_first() noexcept {
    Context& context = contexts_[turns_.front()];
    context.credit = std::min<std::int64_t>(context.credit, 0);
    context.queued = false;
    turns_.pop_front();
}

void Scheduler::charge(const QueuePair& qp, std::uint64_t packets, std::uint64_t bytes) {
    Context& context = context_of(qp);
    context.credit -=
        static_cast<std::int64_t>(bytes) + static_cast<std::int64_t>(packets) * kPacketCost;
    if (context.ready.empty() && !turns_.empty() && turns_.front() == qp.share)
        drop_first();
}

const QueuePair* Scheduler::peek(std::size_t places) const noexcept {
    if (turns_.empty())
        return nullptr;
    const ReadyRing& first = contexts_[turns_.front()].ready;
    if (places < first.size())
        return first.peek(places);
    const std::size_t turn = places - first.size() + 1;
    return turn < turns_.size() ? contexts_[turns_[turn]].ready.peek(0) : nullptr;
}

}  // namespace dingo::model
