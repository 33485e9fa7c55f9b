// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/clock.h"

#include <algorithm>
#include <ctime>

namespace dingo::uverbs {
namespace {

constexpr unsigned kTries = 8;

std::uint64_t read_clock(clockid_t id) {
    timespec t{};
    ::clock_gettime(id, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace

// Register CLOCK is the time that the engine is run with, which the card's loop takes from
// CLOCK_MONOTONIC. One clock is read between two readings of the other; of several tries the
// closest pair counts.
void Clock::measure() {
    std::uint64_t best = UINT32_MAX;
    std::uint64_t card = 0;
    std::uint64_t real = 0;
    for (unsigned i = 0; i < kTries; ++i) {
        const std::uint64_t before = read_clock(CLOCK_MONOTONIC);
        const std::uint64_t between = read_clock(CLOCK_REALTIME);
        const std::uint64_t window = read_clock(CLOCK_MONOTONIC) - before;
        if (window / 2 < best) {
            best = window / 2;
            card = before + window / 2;
            real = between;
        }
    }
    page_.set_clock(card, real, static_cast<std::uint32_t>(best + 1));
}

}  // namespace dingo::uverbs
