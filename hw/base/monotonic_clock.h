// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <ctime>

namespace dingo {

/// The clock of a card's rounds: CLOCK_MONOTONIC in ns.
inline std::uint64_t clock_now() {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * kSecond + static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace dingo
