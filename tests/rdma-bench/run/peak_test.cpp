// SPDX-License-Identifier: BSD-2-Clause
#include "run/peak.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace rdma_bench {
namespace {

/// Reference implementation of the peak: compares every pair.
double slow_peak(const std::vector<std::uint64_t>& posted,
                 const std::vector<std::uint64_t>& completed) {
    double best = 0;
    for (std::size_t i = 0; i < posted.size(); ++i) {
        for (std::size_t j = i; j < completed.size(); ++j) {
            if (completed[j] > posted[i]) {
                best = std::max(best, static_cast<double>(j - i + 1) /
                                          static_cast<double>(completed[j] - posted[i]));
            }
        }
    }
    return best;
}

TEST(Peak, IsTheBestOfAllPairs) {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        const unsigned count = 1 + random() % 60, interval = 1 + random() % 5;
        std::vector<std::uint64_t> posted, completed;
        std::uint64_t tick = 1'000'000, done = tick;
        for (unsigned i = 0; i < count; ++i) {
            posted.push_back(tick += random() % 100);
            done = std::max(done, tick) + 1 + random() % 200;
            completed.push_back((i + 1) % interval == 0 || i + 1 == count ? done : 0);
        }
        ASSERT_NEAR(peak_rate(posted, completed), slow_peak(posted, completed), 1e-9) << round;
    }
}

TEST(Peak, WithoutCompletionsThereIsNone) {
    EXPECT_EQ(peak_rate({}, {}), 0);
    EXPECT_EQ(peak_rate(std::vector<std::uint64_t>{1, 2}, std::vector<std::uint64_t>{0, 0}), 0);
}

}  // namespace
}  // namespace rdma_bench
