// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Stands for MORI's header of this name: what Dingo's provider uses of it, for threads that are
// wavefronts of one lane.
#pragma once

#include <cstdint>

#define MORI_PRINTF(...) ((void)0)

namespace mori::core {

inline bool IsFirstActiveLane() {
    return true;
}
inline void AcquireLock(std::uint32_t* lock) {
    while (atomicCAS(lock, 0, 1) != 0)
        sched_yield();
}
inline void ReleaseLock(std::uint32_t* lock) {
    atomicExch(lock, 0);
}

}  // namespace mori::core
