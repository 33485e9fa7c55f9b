// SPDX-License-Identifier: BSD-2-Clause
#include "scheduler.h"

#include "transport_state.h"

namespace dingo::model {

void Scheduler::grow() {
    std::vector<Qp*> larger(ring_.size() * 2);
    for (std::size_t i = head_; i != tail_; ++i)
        larger[i & (larger.size() - 1)] = ring_[i & mask()];
    ring_.swap(larger);
}

void Scheduler::add(Qp& qp) {
    ReadyHook& hook = qp.transport->ready;
    if (hook.queued)
        return;
    if (tail_ - head_ == ring_.size())
        grow();
    hook.queued = true;
    ring_[tail_++ & mask()] = &qp;
}

void Scheduler::add_first(Qp& qp) {
    ReadyHook& hook = qp.transport->ready;
    if (hook.queued)
        return;
    if (tail_ - head_ == ring_.size())
        grow();
    hook.queued = true;
    ring_[--head_ & mask()] = &qp;
}

void Scheduler::remove(Qp& qp) noexcept {
    ReadyHook& hook = qp.transport->ready;
    if (!hook.queued)
        return;
    hook.queued = false;
    for (std::size_t i = head_; i != tail_; ++i)
        if (ring_[i & mask()] == &qp)
            ring_[i & mask()] = nullptr;
}

Qp* Scheduler::take() noexcept {
    while (head_ != tail_) {
        Qp* const qp = ring_[head_++ & mask()];
        if (!qp)
            continue;
        qp->transport->ready.queued = false;
        return qp;
    }
    return nullptr;
}

}  // namespace dingo::model
