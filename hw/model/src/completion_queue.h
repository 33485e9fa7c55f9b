// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "cq_moderation.h"
#include "event_queue.h"
#include "ring_memory.h"

namespace dingo::model {

/// One CQ: a ring of struct cqe in host memory, armed for events by its doorbell.
class CompletionQueue {
  public:
    explicit CompletionQueue(CqModeration& moderation) : moderation_(moderation) {}
    ~CompletionQueue() { cancel(); }
    CompletionQueue(const CompletionQueue&) = delete;
    CompletionQueue& operator=(const CompletionQueue&) = delete;

    std::uint32_t cqn = 0;
    std::uint32_t db_page = 0;
    EventQueue* events = nullptr;        ///< completion events
    const AsyncEvents* async = nullptr;  ///< CQ_ERR
    std::uint32_t users = 0;             ///< QPs and Ethernet rings that complete here

    /// Starts with a new, empty ring (CREATE_CQ, RESIZE_CQ). On failure nothing has changed.
    RingMemory::Result attach(CardContext& card, const dingo_mem& mem, unsigned log_size);

    /// Writes `entry` (owner bit and time stamp are filled in here) and fires the event when armed
    /// for it. False: the CQ is in error, overflowed now (event CQ_ERR raised, once) or hit a bus
    /// error; the caller moves its QP to ERR.
    bool post(CardContext& card, dingo_cqe entry);

    /// MODIFY_CQ: an event that is due waits until `count` entries have come since the last one (0:
    /// for no number), or until `period` ns after the first of them (0: it does not wait).
    void moderate(CardContext& card, std::uint32_t count, std::uint32_t period);

    /// Doorbell DB_CQ: consumer index, arming (docs/reference/contract.md struct doorbell).
    void doorbell(CardContext& card, std::uint32_t word0, std::uint32_t consumer);

    [[nodiscard]] bool in_error() const noexcept { return error_; }
    [[nodiscard]] std::uint32_t producer() const noexcept { return producer_; }

    // Used by CqModeration.
    [[nodiscard]] Nanoseconds period() const noexcept { return period_; }
    /// The first entry of those that the event will tell of came at this time.
    void set_first_at(Nanoseconds time) noexcept { first_at_ = time; }
    /// Writes the event.
    void fire(CardContext& card);
    /// When an event that waits is due; kNever: it began to wait after the last run(), and the next
    /// one sets the time.
    Nanoseconds event_due = kNever;

  private:
    void fail(CardContext& card);
    void post_moderated(CardContext& card, bool wanted);
    /// An event is due; `first`: for an entry of this moment, with none before it to tell of.
    void tell(CardContext& card, bool first);
    [[nodiscard]] bool enough() const noexcept {
        return count_ != 0 && producer_ - counted_from_ >= count_;
    }
    void cancel();

    RingMemory ring_;
    unsigned log_size_ = 0;
    std::uint32_t producer_ = 0;
    std::uint32_t consumer_ = 0;
    std::uint32_t notified_ = 0;  // entries before it were consumed, or the last event told of them
    std::uint32_t last_solicited_ = 0;  // producer index behind the newest solicited or error entry
    std::uint8_t arm_sn_ = 0;
    bool armed_ = false;
    bool armed_solicited_ = false;
    bool error_ = false;

    // MODIFY_CQ. Entries that were consumed before the CQ was armed do not count: otherwise a
    // program that polls for long and then arms would get an event for the next entry.
    bool waits_ = false;        // an event is due, and in moderation_
    std::uint32_t period_ = 0;  // ns; 0: no event waits
    std::uint32_t count_ = 0;   // 0: only the period counts
    std::uint32_t counted_from_ = 0;
    Nanoseconds first_at_ = 0;  // when the entry at notified_ came, or before
    CqModeration& moderation_;
};

}  // namespace dingo::model
