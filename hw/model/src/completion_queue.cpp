// SPDX-License-Identifier: BSD-2-Clause
#include "completion_queue.h"

#include <span>
#include <utility>

namespace dingo::model {

RingMemory::Result CompletionQueue::attach(CardContext& card, const dingo_mem& mem,
                                           unsigned log_size) {
    RingMemory ring;
    const auto result = ring.attach(card, mem, std::uint64_t{DINGO_CQE_SIZE} << log_size);
    if (result == RingMemory::Result::kOk) {
        ring_ = std::move(ring);
        log_size_ = log_size;
        counted_from_ -= producer_;
        producer_ = 0;
        consumer_ = 0;
        last_solicited_ = 0;
        notified_ = 0;
    }
    return result;
}

bool CompletionQueue::post(CardContext& card, dingo_cqe entry) {
    if (error_) [[unlikely]] {
        return false;
    }
    if (producer_ - consumer_ == 1u << log_size_) [[unlikely]] {
        card.count(DINGO_CARD_CQ_OVERFLOW);
        fail(card);
        return false;
    }
    entry.ts_lo = static_cast<std::uint32_t>(card.now);
    entry.ts_hi = static_cast<std::uint16_t>(card.now >> 32);
    entry.owner = (producer_ >> log_size_ & 1) == 0 ? 1 : 0;
    const std::uint64_t slot = producer_ & ((1u << log_size_) - 1);
    if (!ring_.write(card, slot * DINGO_CQE_SIZE, std::as_bytes(std::span(&entry, 1))))
        [[unlikely]] {
        fail(card);
        return false;
    }
    ++producer_;
    const bool solicited =
        (entry.flags & DINGO_CQE_FLAGS_SOLICITED_MASK) != 0 || entry.status != DINGO_WCS_SUCCESS;
    if (solicited) {
        last_solicited_ = producer_;
    }
    const bool wanted = armed_ && (solicited || !armed_solicited_);
    if (period_ != 0) [[unlikely]] {
        post_moderated(card, wanted);
    } else if (wanted) {
        fire(card);
    }
    return true;
}

void CompletionQueue::post_moderated(CardContext& card, bool wanted) {
    if (waits_) {
        if (enough()) {
            fire(card);
        }
        return;
    }
    const bool first = producer_ - 1 == notified_;
    if (first) {
        first_at_ = card.now;
    }
    if (wanted) {
        tell(card, first);
    }
}

void CompletionQueue::tell(CardContext& card, bool first) {
    if (period_ == 0 || error_ || enough()) {
        fire(card);
        return;
    }
    waits_ = true;
    if (first) {
        moderation_.wait_from_now(*this);
    } else {
        moderation_.wait(*this, first_at_ + period_);
    }
}

void CompletionQueue::moderate(CardContext& card, std::uint32_t count, std::uint32_t period) {
    if (period_ == 0) {
        first_at_ = card.now;
    }
    count_ = count;
    period_ = period;
    if (!waits_) {
        return;
    }
    if (period_ == 0 || enough()) {
        fire(card);
        return;
    }
    moderation_.forget(*this);
    moderation_.wait(*this, first_at_ + period_);
}

void CompletionQueue::doorbell(CardContext& card, std::uint32_t word0, std::uint32_t consumer) {
    if (consumer - consumer_ > producer_ - consumer_) {
        card.count(DINGO_CARD_DB_DROPPED);
        return;
    }
    consumer_ = consumer;
    if (static_cast<std::int32_t>(notified_ - consumer) < 0) {
        notified_ = consumer;
    }
    if (static_cast<std::int32_t>(last_solicited_ - notified_) < 0) {
        last_solicited_ = notified_;  // keeps the distance within half of the number range
    }
    const auto arm_sn =
        static_cast<std::uint8_t>(DINGO_GET(DINGO_DOORBELL_WORD0_ARM_SN_MASK, word0));
    if (arm_sn == arm_sn_) {
        return;
    }
    arm_sn_ = arm_sn;
    const bool solicited = (word0 & DINGO_DOORBELL_WORD0_ARM_SOLICITED_MASK) != 0;
    armed_solicited_ = armed_ ? armed_solicited_ && solicited : solicited;
    if (!armed_) {
        counted_from_ = notified_;
    }
    armed_ = true;
    // An entry written while this doorbell was in flight must fire the event now. An entry that the
    // last event has already announced must not: programs that arm before they poll (perftest)
    // expect an event for a new one.
    if (!waits_ && (armed_solicited_ ? last_solicited_ != notified_ : producer_ != notified_)) {
        tell(card, false);
    }
}

void CompletionQueue::fail(CardContext& card) {
    error_ = true;
    if (waits_) {
        fire(card);
    }
    async->post(card, DINGO_EV_CQ_ERR, cqn);
}

void CompletionQueue::fire(CardContext& card) {
    armed_ = false;
    notified_ = producer_;
    counted_from_ = producer_;
    cancel();
    events->post(card, DINGO_EV_COMPLETION, cqn);
}

void CompletionQueue::cancel() {
    if (waits_) {
        waits_ = false;
        moderation_.forget(*this);
    }
}

}  // namespace dingo::model
