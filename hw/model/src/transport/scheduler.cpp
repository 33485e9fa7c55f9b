// SPDX-License-Identifier: BSD-2-Clause
#include "scheduler.h"

#include "transport_state.h"

namespace dingo::model {

void Scheduler::add(Qp& qp) noexcept {
    ReadyHook& hook = qp.transport->ready;
    if (hook.queued)
        return;
    hook = {tail_, nullptr, true};
    (tail_ ? tail_->transport->ready.next : head_) = &qp;
    tail_ = &qp;
}

void Scheduler::remove(Qp& qp) noexcept {
    ReadyHook& hook = qp.transport->ready;
    if (!hook.queued)
        return;
    (hook.previous ? hook.previous->transport->ready.next : head_) = hook.next;
    (hook.next ? hook.next->transport->ready.previous : tail_) = hook.previous;
    hook = {};
}

Qp* Scheduler::take() noexcept {
    Qp* const qp = head_;
    if (qp)
        remove(*qp);
    return qp;
}

}  // namespace dingo::model
