// SPDX-License-Identifier: BSD-2-Clause
//
// RDMA atomics on memory that processors and other cards may change at the same time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dingo {

/// Fetch-and-add of `operand`, or with `swap` compare-and-swap of `compare` to `operand`, on the 8
/// bytes at `at`, by one locked instruction; `before` receives the old value. Returns false, and
/// does nothing, if `at` is not aligned.
inline bool locked_atomic(std::byte* at, bool swap, std::uint64_t compare, std::uint64_t operand,
                          std::uint64_t& before) {
    if (reinterpret_cast<std::uintptr_t>(at) % sizeof before != 0) {
        return false;
    }
    auto* word = reinterpret_cast<std::uint64_t*>(at);
    if (swap) {
        before = compare;
        __atomic_compare_exchange_n(word, &before, operand, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
    } else {
        before = __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST);
    }
    return true;
}

}  // namespace dingo
