// SPDX-License-Identifier: BSD-2-Clause
//
// A mark of the host memory that the thread of the cards touches next. Its owner can make it slow:
// another thread that finds this one waiting sees by the mark for whom (docs/reference/threads.md).
#pragma once

#include <atomic>
#include <cstddef>

namespace dingo {

/// Of a process. Only the thread that serves its cards waits for long, so others may write it, too.
struct Touch {
    std::atomic<const std::byte*> at = nullptr;
    std::atomic<std::size_t> bytes = 0;
    std::atomic<const std::byte*> with = nullptr;  ///< as many, the other side of a copy
    /// It has been held up there for too long, and would be again: what a round does in steps ends
    /// after this one.
    std::atomic<bool> leave = false;
};
inline constinit Touch last_touch;

/// Before each access to memory that a client has mapped, too: three stores, no order.
inline void touches(const std::byte* at, std::size_t bytes,
                    const std::byte* with = nullptr) noexcept {
    last_touch.at.store(at, std::memory_order_relaxed);
    last_touch.bytes.store(bytes, std::memory_order_relaxed);
    last_touch.with.store(with, std::memory_order_relaxed);
}

[[nodiscard]] inline bool should_leave() noexcept {
    return last_touch.leave.load(std::memory_order_relaxed);
}

}  // namespace dingo
