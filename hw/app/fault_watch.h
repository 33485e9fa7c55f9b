// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <thread>

#include "base/unique_fd.h"

namespace dingo {

/// Finds out who makes the data thread wait in page faults (base/offenders.h). A thread of its own
/// looks every few milliseconds while the data thread is awake; it takes no lock that is held while
/// one of the two waits for a client.
class FaultWatch {
  public:
    static constexpr std::uint64_t kPeriod = 3'000'000;

    /// Watches the calling thread, which may mark what it touches. `on_offence` is called in the
    /// watching one.
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

    // A visitor of the gate is in the watched thread's place: call both in it, with the gate held.
    void visitor_entered();
    void visitor_leaves();

    /// Time to the next look: about kPeriod, so that nobody can keep clear of the looks.
    template <typename Random>
    [[nodiscard]] static std::uint64_t next_period(Random& random) {
        return std::uniform_int_distribution<std::uint64_t>(kPeriod / 2,
                                                            kPeriod + kPeriod / 2)(random);
    }

  private:
    struct Mark {
        const std::byte* at;
        const std::byte* with;
        std::size_t bytes;
        bool operator==(const Mark&) const = default;
    };
    [[nodiscard]] static Mark mark();
    [[nodiscard]] bool is_awake() const {
        return awake_.load(std::memory_order_seq_cst) || visited_.load(std::memory_order_seq_cst);
    }
    /// The watched thread waits in a page fault until somebody has punched a hole.
    [[nodiscard]] bool waits_for_punch() const;
    void run();
    void look();
    void rouse();

    std::function<void()> on_offence_;
    pid_t own_;                   ///< the watched thread
    std::atomic<pid_t> watched_;  ///< that one, or a visitor
    pid_t opened_;                ///< whose wchan_ is
    UniqueFd wchan_;
    std::uint64_t looked_ = 0;     ///< when
    const void* found_ = nullptr;  ///< what it touched when it waited at the last look
    std::atomic<bool> awake_ = true;
    std::atomic<bool> visited_ = false;  ///< by a visitor that has not left
    std::atomic<bool> rests_ = false;    ///< the watching thread waits for woke()
    std::atomic<bool> ends_ = false;
    std::thread thread_;
};

}  // namespace dingo
