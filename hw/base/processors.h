// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sched.h>

namespace dingo {

/// So few that cards and the programs that poll them wait for each other's processor (measured): a
/// card spins shortly only, and cards share a thread.
inline bool few_processors() {
    cpu_set_t set;
    return ::sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) <= 4;
}

}  // namespace dingo
