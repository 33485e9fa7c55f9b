// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/driver/state.h"

namespace dingo::uverbs {

/// A share of the card's device memory, in whole pages.
struct DmBudget {
    DmBudget(Driver::State& d, std::uint64_t bytes);
    ~DmBudget();
    DmBudget(const DmBudget&) = delete;
    DmBudget& operator=(const DmBudget&) = delete;

    Driver::State& driver;
    std::uint64_t taken;
};

struct Dm::State {
    State(Driver::State& d, Context::State& c, std::uint64_t bytes);
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    DmBudget budget;
    Context::State& context;
    QueueMemory memory;
    std::uint64_t offset;  ///< of mmap()
    std::uint64_t length;
};

}  // namespace dingo::uverbs
