// SPDX-License-Identifier: BSD-2-Clause
#include "fault_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/monotonic_clock.h"
#include "base/offenders.h"
#include "dingo/touch.h"

namespace dingo {
namespace {

/// A data thread that was asleep at so many looks is left alone until it wakes.
constexpr unsigned kRestsAfter = 50;

using Text = std::array<char, 64>;

std::string_view text_of(const UniqueFd& file, Text& room) {
    const ssize_t n = ::pread(file.get(), room.data(), room.size(), 0);
    return {room.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
}

UniqueFd wchan_of(pid_t thread) {
    return UniqueFd(
        ::open(fmt::format("/proc/self/task/{}/wchan", thread).c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

FaultWatch::FaultWatch(std::function<void()> on_offence)
    : on_offence_(std::move(on_offence)),
      own_(::gettid()),
      watched_(own_),
      opened_(own_),
      wchan_(wchan_of(own_)) {
    if (!wchan_) {
        log::debug("the kernel does not tell what threads wait for: nobody watches page faults");
        return;
    }
    try {
        thread_ = std::thread([this, log = current_log()] {
            ::pthread_setname_np(::pthread_self(), "dingo-watch");
            set_log(log);
            run();
        });
        may_mark = true;
    } catch (const std::system_error& error) {
        log::warn("page faults are not watched: {}", error.what());
    }
}

FaultWatch::~FaultWatch() {
    if (thread_.joinable()) {
        ends_ = true;
        rouse();
        thread_.join();
        may_mark = false;
    }
}

void FaultWatch::rouse() {
    rests_ = false;
    rests_.notify_one();
}

void FaultWatch::visitor_entered() {
    if (!thread_.joinable()) {
        return;
    }
    may_mark = true;
    touches(nullptr, 0);  // what the watched thread touched last
    watched_.store(::gettid(), std::memory_order_relaxed);
    visited_.store(true, std::memory_order_seq_cst);
    if (rests_.load(std::memory_order_seq_cst)) {
        rouse();
    }
}

void FaultWatch::visitor_leaves() {
    if (!may_mark) {
        return;
    }
    touches(nullptr, 0);
    may_mark = false;
    watched_.store(own_, std::memory_order_relaxed);
    visited_.store(false, std::memory_order_relaxed);
}

void FaultWatch::run() {
    unsigned asleep = 0;
    std::minstd_rand random(std::random_device{}());
    while (!ends_) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(next_period(random)));
        if (is_awake()) {
            asleep = 0;
            look();
            continue;
        }
        found_ = nullptr;
        if (++asleep < kRestsAfter) {
            continue;
        }
        asleep = 0;
        rests_.store(true, std::memory_order_seq_cst);
        if (!is_awake() && !ends_) {
            rests_.wait(true);
        }
        rests_ = false;
    }
}

// The symbol where it waits is that of the file's fault handler, whether a load or store, or a
// system call that copies, has led there. What else a fault may wait for, as for the disk or for
// memory, is the machine's.
bool FaultWatch::waits_for_punch() const {
    Text room{};
    return text_of(wchan_, room).starts_with("shmem_");
}

FaultWatch::Mark FaultWatch::mark() {
    return {last_touch.at.load(std::memory_order_relaxed),
            last_touch.with.load(std::memory_order_relaxed),
            last_touch.bytes.load(std::memory_order_relaxed)};
}

void FaultWatch::look() {
    const std::uint64_t now = clock_now();
    const std::uint64_t since = now - std::exchange(looked_, now);
    if (const pid_t thread = watched_.load(std::memory_order_relaxed); thread != opened_) {
        wchan_ = wchan_of(thread);
        opened_ = thread;
        found_ = nullptr;
    }
    const Mark seen = mark();
    const auto still = [&] { return waits_for_punch() && mark() == seen; };
    if (!still()) {
        found_ = nullptr;
        return;
    }
    // It may have begun to wait just now, or this thread had no processor.
    const bool again = std::exchange(found_, seen.at) == seen.at;
    const std::uint64_t waited = again ? since : std::min(since, kPeriod);
    const Offenders::Verdict verdict =
        offenders().held(seen.at, seen.with, seen.bytes, waited, now, still);
    if (verdict == Offenders::Verdict::kMay) {
        return;
    }
    if (verdict == Offenders::Verdict::kOffence) {
        last_touch.offence.store(true, std::memory_order_relaxed);
    }
    last_touch.leave.store(true, std::memory_order_relaxed);
    if (verdict == Offenders::Verdict::kOffence) {
        on_offence_();
    }
}

}  // namespace dingo
