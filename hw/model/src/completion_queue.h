// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "event_queue.h"
#include "ring_memory.h"

namespace dingo::model {

/// One CQ: a ring of struct cqe in host memory, armed for events by its doorbell.
class CompletionQueue {
  public:
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

    /// Doorbell DB_CQ: consumer index, arming (docs/reference/contract.md struct doorbell).
    void doorbell(CardContext& card, std::uint32_t word0, std::uint32_t consumer);

    [[nodiscard]] bool in_error() const noexcept { return error_; }
    [[nodiscard]] std::uint32_t producer() const noexcept { return producer_; }

  private:
    void fail(CardContext& card);
    void fire(CardContext& card);

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
};

}  // namespace dingo::model
