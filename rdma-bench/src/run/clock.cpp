// SPDX-License-Identifier: BSD-2-Clause
#include "run/clock.h"

#include <fstream>
#include <iterator>

namespace rdma_bench {
namespace {

struct Instant {
    std::uint64_t tick, ns;
};

/// Reads both clocks at the same time: the closest of several pairs, as the thread may be
/// interrupted between the two.
Instant now() {
    Instant best{};
    std::uint64_t closest = UINT64_MAX;
    for (int i = 0; i < 8; ++i) {
        const auto before = ticks();
        const auto ns = monotonic_ns();
        const auto after = ticks();
        if (after - before < closest) {
            closest = after - before;
            best = {before + (after - before) / 2, ns};
        }
    }
    return best;
}

std::string cpuinfo() {
    std::ifstream file("/proc/cpuinfo");
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

bool counter_is_steady(std::string_view cpuinfo) {
    const auto at = cpuinfo.find("\nflags");
    if (at == cpuinfo.npos) {
        return false;
    }
    const auto end = cpuinfo.find('\n', at + 1);
    std::string flags(cpuinfo.substr(at + 1, end - at - 1));
    flags += ' ';
    return flags.find(" constant_tsc ") != flags.npos && flags.find(" nonstop_tsc ") != flags.npos;
}

#if defined(__x86_64__)
const bool counter_used = counter_is_steady(cpuinfo());
#else
// cntvct_el0 has constant speed by definition; elsewhere ticks() uses the kernel's clock anyway.
const bool counter_used = true;
#endif

std::string clock_text() {
#if defined(__x86_64__)
    return counter_used ? "TSC"
                        : "CLOCK_MONOTONIC (the processor has no constant_tsc and nonstop_tsc)";
#elif defined(__aarch64__)
    return "cntvct_el0";
#else
    return "CLOCK_MONOTONIC";
#endif
}

double ns_per_tick() {
    static const Instant start = now();
    while (monotonic_ns() - start.ns < 10'000'000) {
        const timespec millisecond{0, 1'000'000};
        nanosleep(&millisecond, nullptr);
    }
    const Instant end = now();
    return static_cast<double>(end.ns - start.ns) / static_cast<double>(end.tick - start.tick);
}

}  // namespace rdma_bench
