// SPDX-License-Identifier: BSD-2-Clause
#include "timers.h"

#include "transport_state.h"

namespace dingo::model {

void Timers::place(std::uint32_t position, Entry entry) {
    heap_[position] = entry;
    entry.qp->transport->timer.position = position;
}

void Timers::sift_up(std::uint32_t position, Entry entry) {
    while (position > 0) {
        const std::uint32_t parent = (position - 1) / 2;
        if (heap_[parent].key <= entry.key)
            break;
        place(position, heap_[parent]);
        position = parent;
    }
    place(position, entry);
}

void Timers::sift_down(std::uint32_t position, Entry entry) {
    const auto size = static_cast<std::uint32_t>(heap_.size());
    for (;;) {
        std::uint32_t child = 2 * position + 1;
        if (child >= size)
            break;
        if (child + 1 < size && heap_[child + 1].key < heap_[child].key)
            ++child;
        if (entry.key <= heap_[child].key)
            break;
        place(position, heap_[child]);
        position = child;
    }
    place(position, entry);
}

void Timers::erase(std::uint32_t position) {
    heap_[position].qp->transport->timer.position = TimerHook::kOut;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (position == heap_.size())
        return;
    if (position > 0 && last.key < heap_[(position - 1) / 2].key)
        sift_up(position, last);
    else
        sift_down(position, last);
}

void Timers::set(QueuePair& qp, Nanoseconds deadline) {
    TimerHook& hook = qp.transport->timer;
    hook.deadline = deadline;
    if (deadline == kNever)
        return;  // a stale key stays until settle()
    if (hook.position == TimerHook::kOut) {
        heap_.push_back({deadline, &qp});
        sift_up(static_cast<std::uint32_t>(heap_.size() - 1), {deadline, &qp});
    } else if (deadline < heap_[hook.position].key) {
        sift_up(hook.position, {deadline, &qp});
    }
}

void Timers::remove(QueuePair& qp) {
    const TimerHook& hook = qp.transport->timer;
    if (hook.position != TimerHook::kOut)
        erase(hook.position);
}

void Timers::settle() {
    while (!heap_.empty()) {
        QueuePair* const qp = heap_[0].qp;
        const Nanoseconds deadline = qp->transport->timer.deadline;
        if (deadline == heap_[0].key)
            return;
        if (deadline == kNever)
            erase(0);
        else
            sift_down(0, {deadline, qp});
    }
}

QueuePair* Timers::take_due(Nanoseconds now) {
    if (heap_.empty() || heap_[0].key > now)
        return nullptr;
    settle();
    if (heap_.empty() || heap_[0].key > now)
        return nullptr;
    QueuePair* const qp = heap_[0].qp;
    erase(0);
    return qp;
}

}  // namespace dingo::model
