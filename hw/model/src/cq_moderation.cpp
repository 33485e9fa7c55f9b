// SPDX-License-Identifier: BSD-2-Clause
#include "cq_moderation.h"

#include "completion_queue.h"

namespace dingo::model {

void CqModeration::wait(CompletionQueue& cq, Nanoseconds due) {
    cq.event_due = due;
    waiting_.emplace(std::pair(due, cq.cqn), &cq);
}

void CqModeration::wait_from_now(CompletionQueue& cq) {
    if (running_) {
        wait(cq, card_.now + cq.period());
    } else {
        cq.event_due = kNever;
        begun_.push_back(&cq);
    }
}

void CqModeration::forget(CompletionQueue& cq) {
    if (cq.event_due == kNever) {
        std::erase(begun_, &cq);
    } else {
        waiting_.erase(std::pair(cq.event_due, cq.cqn));
    }
}

void CqModeration::begin_run() {
    running_ = true;
    for (CompletionQueue* const cq : begun_) {
        cq->set_first_at(card_.now);
        wait(*cq, card_.now + cq->period());
    }
    begun_.clear();
}

bool CqModeration::end_run(unsigned budget) {
    running_ = false;
    while (!waiting_.empty() && waiting_.begin()->first.first <= card_.now) {
        if (budget-- == 0) {
            return true;
        }
        waiting_.begin()->second->fire(card_);
    }
    return false;
}

Nanoseconds CqModeration::next_deadline() const noexcept {
    if (!begun_.empty()) {
        return card_.now;
    }
    return waiting_.empty() ? kNever : waiting_.begin()->first.first;
}

}  // namespace dingo::model
