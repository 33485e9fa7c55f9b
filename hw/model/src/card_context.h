// SPDX-License-Identifier: BSD-2-Clause
//
// What every part of one card shares: its ports, the time, its counters.
#pragma once

#include <array>
#include <cstdint>
#include <random>

#include "dingo/engine.h"
#include "dingo_hw.h"

namespace dingo::model {

struct CardContext {
    const EngineConfig& config;
    HostPort& host;
    WirePort& wire;
    Nanoseconds now = 0;
    std::array<std::uint64_t, DINGO_CARD_COUNTERS> counters{};
    std::mt19937_64 random;

    void count(dingo_card_counter counter, std::uint64_t by = 1) noexcept { counters[counter] += by; }
};

}  // namespace dingo::model
