// SPDX-License-Identifier: BSD-2-Clause
// Time in ticks of the processor's own counter, which is read without a call.
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

/// Whether the counter of a processor with these words in /proc/cpuinfo goes at one speed, whatever
/// the frequency (constant_tsc) and however deep it sleeps (nonstop_tsc).
bool counter_is_steady(std::string_view cpuinfo);

/// Decided once, before main(): else ticks are nanoseconds of CLOCK_MONOTONIC.
extern const bool counter_used;
/// "TSC", or why it is another.
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

/// Nanoseconds in a tick, against CLOCK_MONOTONIC since the first call in this process; the longer
/// ago that is, the more exact. Waits until it is 10 ms ago.
double ns_per_tick();

}  // namespace rdma_bench
