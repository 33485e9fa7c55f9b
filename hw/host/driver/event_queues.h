// SPDX-License-Identifier: BSD-2-Clause
//
// Event queues: one for asynchronous events (vector 0), one for each completion vector.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "dingo_hw.h"
#include "host/driver/admin_queue.h"
#include "host/driver/queue_memory.h"

namespace dingo::uverbs {

class EventQueues {
  public:
    /// Creates the queues on the card and arms them. Throws ErrnoError.
    EventQueues(LocalCard& card, AdminQueue& admin, BusMap& bus, const dingo_limits& limits);

    [[nodiscard]] unsigned comp_vectors() const { return static_cast<unsigned>(eqs_.size() - 1); }
    [[nodiscard]] std::uint32_t eqn(unsigned comp_vector) const {
        return eqs_[comp_vector + 1].number;
    }

    /// Processes the events of the queues whose bit is set in `vectors`. Returns true if there was
    /// one.
    bool poll(std::uint64_t vectors, const std::function<void(const dingo_eqe&)>& dispatch);

  private:
    struct Queue {
        std::unique_ptr<QueueMemory> memory;
        std::uint32_t number;
        unsigned log_size;
        std::uint32_t consumer = 0;
    };
    void create(AdminQueue& admin, BusMap& bus, std::uint32_t number, unsigned log_size);
    bool poll(Queue& eq, const std::function<void(const dingo_eqe&)>& dispatch);
    void ring(const Queue& eq, bool arm);

    LocalCard& card_;
    std::vector<Queue> eqs_;  ///< indexed by number, which equals the vector
};

}  // namespace dingo::uverbs
