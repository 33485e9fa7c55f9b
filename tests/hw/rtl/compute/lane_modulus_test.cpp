// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_lane_modulus, which multiplies with a reciprocal, equals x % modulus.
#include <gtest/gtest.h>

#include "Vdingo_lane_modulus.h"
#include "compute/modulus.h"
#include "lane_bench.h"

namespace dingo::rtl {
namespace {

class LaneModulus : public testing::TestWithParam<std::uint32_t> {};

TEST_P(LaneModulus, EqualsTheRemainder) {
    const std::uint32_t modulus = GetParam();
    LaneBench<Vdingo_lane_modulus> bench(1);
    bench.lane.reciprocal1_i = model::compute::reciprocal_of(modulus);
    bench.lane.m4_i = bench.lane.m8_i = modulus;
    std::mt19937 random(modulus);
    std::uint32_t at = 0;
    const auto next = [&]() -> std::uint32_t {
        const std::uint32_t n = at++;
        if (n < 1000)
            return n;
        if (n < 2000)
            return 999 - n;  // the 1,000 largest words
        return n % 2 == 0 ? random() : modulus * (random() % 1000) + n % 3 - 1;
    };
    for (unsigned cycle = 0; cycle < 40'000; ++cycle)
        bench.cycle(next, [&](std::uint32_t x, std::uint32_t y) {
            ASSERT_EQ(y, x % modulus) << x << " mod " << modulus;
        });
}

INSTANTIATE_TEST_SUITE_P(Moduli, LaneModulus,
                         testing::Values(1, 2, 3, 7, 1000, 1024, 8191, 8192, 65537, 0x7fffffff,
                                         0x80000000, 0x80000001, 0xfffffffe, 0xffffffff));

}  // namespace
}  // namespace dingo::rtl
