// SPDX-License-Identifier: BSD-2-Clause
//
// Event queues: a ring of struct eqe in host memory with one MSI-X vector.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_set>

#include "ring_memory.h"

namespace dingo::model {

/// An EQ. Events that find the ring full are queued in the card, each (kind, id) at most once, so
/// that a host that never consumes cannot make the card's memory grow.
class EventQueue {
  public:
    std::uint32_t users = 0;  ///< number of CQs with completion events here

    RingMemory::Result attach(CardContext& card, const dingo_cmd_create_eq& command);

    void post(CardContext& card, std::uint8_t kind, std::uint32_t id, std::uint32_t data = 0);

    /// Doorbell DB_EQ: consumer index, arming. Returns false, and changes nothing, if the consumer
    /// index is invalid.
    bool doorbell(CardContext& card, bool arm, std::uint32_t consumer);

    /// The object was destroyed: drops a queued event about it.
    void forget(std::uint8_t kind, std::uint32_t id);

  private:
    struct Event {
        std::uint8_t kind;
        std::uint32_t id;
        std::uint32_t data;
        [[nodiscard]] std::uint64_t name() const noexcept { return std::uint64_t{kind} << 32 | id; }
    };
    [[nodiscard]] bool full() const noexcept { return producer_ - consumer_ == 1u << log_size_; }
    void write(CardContext& card, const Event& event);
    void interrupt(CardContext& card);

    RingMemory ring_;
    unsigned log_size_ = 0;
    unsigned vector_ = 0;
    std::uint32_t producer_ = 0;
    std::uint32_t consumer_ = 0;
    bool armed_ = false;
    bool error_ = false;  // the ring could not be written: further events are lost
    std::deque<Event> waiting_;
    std::unordered_set<std::uint64_t> waiting_names_;
};

/// Destination of asynchronous events: the EQ created with flag ASYNC, or none.
struct AsyncEvents {
    EventQueue* queue = nullptr;

    void post(CardContext& card, std::uint8_t kind, std::uint32_t id,
              std::uint32_t data = 0) const {
        if (queue != nullptr) {
            queue->post(card, kind, id, data);
        }
    }
    void forget(std::uint8_t kind, std::uint32_t id) const {
        if (queue != nullptr) {
            queue->forget(kind, id);
        }
    }
};

}  // namespace dingo::model
