// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sched.h>

namespace dingo {

/// Returns true if there are at most 4 processors: cards and the programs that poll them then
/// compete for processors (measured), so a card spins only briefly and cards share a thread.
inline bool few_processors() {
    cpu_set_t set;
    return ::sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) <= 4;
}

}  // namespace dingo
