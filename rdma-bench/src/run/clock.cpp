// SPDX-License-Identifier: BSD-2-Clause
#include "run/clock.h"

namespace rdma_bench {
namespace {

struct Instant {
    std::uint64_t tick, ns;
};

/// Both clocks at one moment: the closest of some pairs, since a thread may be interrupted between
/// the two.
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

}  // namespace

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
