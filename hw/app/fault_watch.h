// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "base/unique_fd.h"

namespace dingo {

/// Finds out who makes the data thread wait in page faults (base/offenders.h). A thread of its own
/// looks every few milliseconds while the data thread is awake; it takes no lock that is held while
/// one of the two waits for a client.
class FaultWatch {
  public:
    static constexpr std::uint64_t kPeriod = 3'000'000;

    /// Watches the calling thread. `on_offence` is called in the watching one.
    explicit FaultWatch(std::function<void()> on_offence);
    ~FaultWatch();
    FaultWatch(const FaultWatch&) = delete;
    FaultWatch& operator=(const FaultWatch&) = delete;

    // The watched thread is about to wait for events, and is back.
    void sleeps() { awake_.store(false, std::memory_order_relaxed); }
    void woke() {
        awake_.store(true, std::memory_order_seq_cst);
        if (rests_.load(std::memory_order_seq_cst)) {
            rouse();
        }
    }

  private:
    /// The watched thread waits in a page fault until somebody has punched a hole.
    [[nodiscard]] bool waits_for_punch() const;
    void run();
    void look();
    void rouse();

    std::function<void()> on_offence_;
    UniqueFd wchan_;
    std::uint64_t looked_ = 0;     ///< when
    const void* found_ = nullptr;  ///< what it touched when it waited at the last look
    std::atomic<bool> awake_ = true;
    std::atomic<bool> rests_ = false;  ///< the watching thread waits for woke()
    std::atomic<bool> ends_ = false;
    std::thread thread_;
};

}  // namespace dingo
