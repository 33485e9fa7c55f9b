// SPDX-License-Identifier: BSD-2-Clause
#include "scheduler.h"

#include <algorithm>
#include <utility>

#include "transport_state.h"

namespace dingo::model {

Scheduler::Context& Scheduler::context_of(std::uint32_t share) {
    if (contexts_.size() <= share)
        contexts_.resize(share + 1);
    return contexts_[share];
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
    context_of(qp.share).ready.push_back(qp);
    queue_context(qp);
}

void Scheduler::add_first(QueuePair& qp) {
    if (!mark(qp))
        return;
    context_of(qp.share).ready.push_front(qp);
    queue_context(qp);  // needed if the QP's turn did not come from take(), as in send_posted()
}

void Scheduler::queue_context(const QueuePair& qp) {
    Context& context = contexts_[qp.share];
    if (!std::exchange(context.queued, true)) {
        // A new context gets its credit at once instead of waiting for the next round.
        visit(context);
        turns_.push_back(qp.share);
    }
}

void Scheduler::visit(Context& context) noexcept {
    const std::int64_t paid = std::min(context.received, kMostForReceived);
    context.received -= paid;
    context.credit += kQuantum - paid;
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
            context.credit = kQuantum;  // no competing context
            context.received = 0;
        } else if (context.credit <= 0) {
            visit(context);
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

// A context with nothing to send keeps no credit.
void Scheduler::drop_first() noexcept {
    Context& context = contexts_[turns_.front()];
    context.credit = std::min<std::int64_t>(context.credit, 0);
    context.queued = false;
    turns_.pop_front();
}

void Scheduler::spend(std::uint32_t share, std::int64_t cost) {
    context_of(share).credit -= cost;
}

void Scheduler::spend_received(std::uint32_t share, std::int64_t cost) {
    Context& context = context_of(share);
    context.received = std::min(context.received + cost, kMostOwed);
}

void Scheduler::charge(const QueuePair& qp, std::int64_t cost) {
    Context& context = context_of(qp.share);
    context.credit -= cost;
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
