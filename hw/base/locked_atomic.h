// SPDX-License-Identifier: BSD-2-Clause
//
// Atomics of cards on memory that others change at the same time: processors, other cards.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dingo {

/// FETCH_ADD of `operand`, or with `swap` CMP_SWAP of `compare` to `operand`, on the 8 bytes at
/// `at`, in one locked instruction; `before` = what they were. False: nothing was done, as they are
/// not aligned.
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
