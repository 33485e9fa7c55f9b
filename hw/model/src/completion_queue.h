// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "cq_moderation.h"
#include "event_queue.h"
#include "ring_memory.h"

namespace dingo::model {

/// A CQ: a ring of struct cqe in host memory, armed for events by its doorbell.
class CompletionQueue {
  public:
    explicit CompletionQueue(CqModeration& moderation) : moderation_(moderation) {}
    ~CompletionQueue() { cancel(); }
    CompletionQueue(const CompletionQueue&) = delete;
    CompletionQueue& operator=(const CompletionQueue&) = delete;

    std::uint32_t cqn = 0;
    std::uint32_t db_page = 0;
    EventQueue* events = nullptr;        ///< EQ for completion events
    const AsyncEvents* async = nullptr;  ///< CQ_ERR
    std::uint32_t users = 0;             ///< number of QPs and Ethernet rings that complete here

    /// Switches to a new, empty ring (CREATE_CQ, RESIZE_CQ). Changes nothing on failure.
    RingMemory::Result attach(CardContext& card, const dingo_mem& mem, unsigned log_size);

    /// Writes `entry`, with owner bit and time stamp, and fires the event if armed for it. Returns
    /// false if the CQ is in error, or fails now (overflow or bus error; raises event CQ_ERR once);
    /// the caller moves its QP to ERR.
    bool post(CardContext& card, dingo_cqe entry);

    /// MODIFY_CQ: an event is delayed until `count` entries were written since the last event (0:
    /// no such limit), or until `period` ns after the first of them (0: no delay).
    void moderate(CardContext& card, std::uint32_t count, std::uint32_t period);

    /// Doorbell DB_CQ: consumer index, arming (docs/reference/contract.md struct doorbell).
    void doorbell(CardContext& card, std::uint32_t word0, std::uint32_t consumer);

    [[nodiscard]] bool in_error() const noexcept { return error_; }
    [[nodiscard]] std::uint32_t producer() const noexcept { return producer_; }

    // Used by CqModeration.
    [[nodiscard]] Nanoseconds period() const noexcept { return period_; }
    /// Sets the time of the first entry that the event will announce.
    void set_first_at(Nanoseconds time) noexcept { first_at_ = time; }
    /// Writes the event.
    void fire(CardContext& card);
    /// Time at which a delayed event is due; kNever: the delay began after the last run(), and the
    /// next run() sets the time.
    Nanoseconds event_due = kNever;

  private:
    void fail(CardContext& card);
    void post_moderated(CardContext& card, bool wanted);
    /// An event is due; `first`: the entry just written is the only one to announce.
    void tell(CardContext& card, bool first);
    [[nodiscard]] bool enough() const noexcept {
        return count_ != 0 && producer_ - counted_from_ >= count_;
    }
    void cancel();

    RingMemory ring_;
    unsigned log_size_ = 0;
    std::uint32_t producer_ = 0;
    std::uint32_t consumer_ = 0;
    std::uint32_t notified_ = 0;        // entries before this index were consumed or announced
    std::uint32_t last_solicited_ = 0;  // producer index after the newest solicited or error entry
    std::uint8_t arm_sn_ = 0;
    bool armed_ = false;
    bool armed_solicited_ = false;
    bool error_ = false;

    // MODIFY_CQ. Entries consumed before the CQ was armed do not count: otherwise a program that
    // polls for long and then arms would get an event for the next entry.
    bool waits_ = false;        // an event is delayed: the CQ is in moderation_
    std::uint32_t period_ = 0;  // ns; 0: no delay
    std::uint32_t count_ = 0;   // 0: only the period counts
    std::uint32_t counted_from_ = 0;
    Nanoseconds first_at_ = 0;  // at or before the time of the entry at notified_
    CqModeration& moderation_;
};

}  // namespace dingo::model
