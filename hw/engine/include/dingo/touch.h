// SPDX-License-Identifier: BSD-2-Clause
//
// A mark of the host memory that the thread of the cards touches next. Its owner can make it slow:
// another thread that finds this one waiting sees by the mark for whom (docs/reference/threads.md).
#pragma once

#include <atomic>
#include <cstddef>

namespace dingo {

/// The mark of a process. Written only by the thread that serves its cards (may_mark).
struct Touch {
    std::atomic<const std::byte*> at = nullptr;
    std::atomic<std::size_t> bytes = 0;
    std::atomic<const std::byte*> with = nullptr;  ///< as many, the other side of a copy
    /// It has been held up there for too long, and would be again: what a round does in steps ends
    /// after this one.
    std::atomic<bool> leave = false;
    /// That is an offence, and the control thread has been told.
    std::atomic<bool> offence = false;
};
inline constinit Touch last_touch;

/// Whether the calling thread is watched. Movers and others that touch memory of clients are not,
/// and must not change the mark of the thread that is.
inline constinit thread_local bool may_mark = false;

/// Call before each access to memory that a client has mapped, too: three stores, no order.
inline void touches(const std::byte* at, std::size_t bytes,
                    const std::byte* with = nullptr) noexcept {
    if (!may_mark) {
        return;
    }
    last_touch.at.store(at, std::memory_order_relaxed);
    last_touch.bytes.store(bytes, std::memory_order_relaxed);
    last_touch.with.store(with, std::memory_order_relaxed);
}

/// Keeps the mark: what is looked up while this lives is not accessed.
class KeepsMark {
  public:
    KeepsMark() = default;
    ~KeepsMark() { touches(at_, bytes_, with_); }
    KeepsMark(const KeepsMark&) = delete;
    KeepsMark& operator=(const KeepsMark&) = delete;

  private:
    const std::byte* at_ = last_touch.at.load(std::memory_order_relaxed);
    std::size_t bytes_ = last_touch.bytes.load(std::memory_order_relaxed);
    const std::byte* with_ = last_touch.with.load(std::memory_order_relaxed);
};

[[nodiscard]] inline bool should_leave() noexcept {
    return last_touch.leave.load(std::memory_order_relaxed);
}

}  // namespace dingo
