// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <ctime>

#include "dingo/engine.h"

namespace dingo {

/// The time that a card's rounds have: CLOCK_MONOTONIC.
inline Nanoseconds clock_now() {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<Nanoseconds>(t.tv_sec) * 1'000'000'000 + static_cast<Nanoseconds>(t.tv_nsec);
}

}  // namespace dingo
