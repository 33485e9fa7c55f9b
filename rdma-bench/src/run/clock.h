// SPDX-License-Identifier: BSD-2-Clause
// Time in ticks of the processor's counter, which is read without a system call.
#pragma once
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace rdma_bench {

inline std::uint64_t clock_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t monotonic_ns() {
    return clock_ns(CLOCK_MONOTONIC);
}

/// Returns true if /proc/cpuinfo says that the counter runs at constant speed at all frequencies
/// (constant_tsc) and in all sleep states (nonstop_tsc).
bool counter_is_steady(std::string_view cpuinfo);

/// True if ticks() reads the counter; otherwise ticks are ns of CLOCK_MONOTONIC. Set before main().
extern const bool counter_used;
/// Returns "TSC", or which other clock is used and why.
std::string clock_text();

inline std::uint64_t ticks() {
#if defined(__x86_64__)
    if (counter_used) [[likely]] {
        return __rdtsc();
    }
    return monotonic_ns();
#elif defined(__aarch64__)
    std::uint64_t value;
    asm volatile("isb; mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return monotonic_ns();
#endif
}

/// Returns the nanoseconds per tick, measured against CLOCK_MONOTONIC since the first call in this
/// process; the longer ago, the more accurate. Waits until that was at least 10 ms ago.
double ns_per_tick();

}  // namespace rdma_bench
