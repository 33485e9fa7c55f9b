// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_lane_log equals the model's logarithm bit for bit.
#include <gtest/gtest.h>

#include "Vdingo_lane_log.h"
#include "compute/kernels.h"
#include "lane_bench.h"

namespace dingo::rtl {
namespace {

class LaneLog : public testing::TestWithParam<unsigned> {};

TEST_P(LaneLog, EqualsTheModelBitForBit) {
    LaneBench<Vdingo_lane_log> bench(GetParam());
    std::mt19937 random(GetParam());
    std::uint32_t at = 0;
    const auto next = [&]() -> std::uint32_t {
        const std::uint32_t n = at++;
        if (n < 100'000)
            return n;
        if (n < 104'000)  // within 32 of each power of two; wraps below 0
            return (1U << n % 32) + n / 32 % 64 - 32;
        return random() >> random() % 31;
    };
    for (unsigned cycle = 0; cycle < 600'000; ++cycle)
        bench.cycle(next, [](std::uint32_t x, std::uint32_t y) {
            ASSERT_EQ(y, model::compute::log_plus_one(static_cast<std::int32_t>(x))) << x;
        });
    EXPECT_GT(at, 100'000u);
}

INSTANTIATE_TEST_SUITE_P(Gaps, LaneLog, testing::Values(0, 1, 3));

}  // namespace
}  // namespace dingo::rtl
