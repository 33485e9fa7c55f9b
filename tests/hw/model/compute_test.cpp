// SPDX-License-Identifier: BSD-2-Clause
//
// The kernels themselves: error of the logarithm, remainders, independence of packet boundaries.
#include "compute/kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "compute/modulus.h"

namespace dingo::model::compute {
namespace {

/// Returns the error of the logarithm of value + 1, in units in the last place of a single.
double log_error(std::int32_t value) {
    const double exact = std::log1p(static_cast<double>(value));
    const auto nearest = static_cast<float>(exact);
    const double unit = std::nextafter(nearest, INFINITY) - nearest;
    return std::abs(std::bit_cast<float>(log_plus_one(value)) - exact) / unit;
}

TEST(Compute, LogarithmIsWithinTheStatedError) {
    constexpr double kStated = 0.52;
    double worst = 0;
    for (std::int32_t value = 1; value < 1 << 24; ++value)
        worst = std::max(worst, log_error(value));
    for (int power = 24; power < 31; ++power) {
        for (int near = -1000; near <= 1000; ++near)
            worst = std::max(worst, log_error((1 << power) + near));
    }
    for (std::int32_t back = 0; back < 1000; ++back)
        worst = std::max(worst, log_error(INT32_MAX - back));
    std::mt19937 random(1);
    for (int i = 0; i < 1'000'000; ++i)
        worst = std::max(worst, log_error(static_cast<std::int32_t>(random() >> 1 | 1)));
    EXPECT_LT(worst, kStated);
}

TEST(Compute, LogarithmOfNothingAndOfNegativesIsZero) {
    for (const std::int32_t value : {0, -1, -2, INT32_MIN, INT32_MIN + 1})
        EXPECT_EQ(log_plus_one(value), 0u) << value;
}

TEST(Compute, RemainderIsRightForEveryKindOfModulus) {
    std::mt19937 random(2);
    std::vector<std::uint32_t> moduli = {1, 2, 3, 5, 7, 10, 1000, 8191, 8192, UINT32_MAX};
    for (int power = 1; power < 32; ++power) {
        moduli.insert(moduli.end(), {1u << power, (1u << power) - 1, (1u << power) + 1});
        moduli.push_back(random() >> power | 1);
    }
    for (const std::uint32_t modulus : moduli) {
        const std::uint32_t reciprocal = reciprocal_of(modulus);
        const auto right = [&](std::uint32_t value) {
            ASSERT_EQ(remainder(value, modulus, reciprocal), value % modulus)
                << value << " mod " << modulus;
        };
        for (std::uint32_t near = 0; near < 300; ++near) {
            for (const std::uint32_t value :
                 {near, UINT32_MAX - near, modulus * near, modulus * near - 1, 0x80000000u + near})
                right(value);
        }
        for (int i = 0; i < 20'000; ++i)
            right(random());
    }
}

TEST(Compute, CutsAtPacketsChangeNothing) {
    std::mt19937 random(3);
    std::vector<std::byte> message(10'007);
    for (std::byte& byte : message)
        byte = static_cast<std::byte>(random());
    for (std::uint32_t kernel = 0; kernel < kernels().size(); ++kernel) {
        const Config config = configure(kernel, kernel == DINGO_KERNEL_DLRM ? 1000 : 0);
        std::vector<std::byte> whole = message;
        transform(config, 0, whole);
        for (const std::uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
            std::vector<std::byte> cut = message;
            for (std::uint32_t at = 0; at < cut.size(); at += mtu)
                transform(config, at,
                          std::span(cut).subspan(at, std::min<std::size_t>(mtu, cut.size() - at)));
            EXPECT_EQ(cut, whole) << "kernel " << kernel << ", PMTU " << mtu;
        }
    }
}

TEST(Compute, OnlyWholeWordsChange) {
    const Config config = configure(DINGO_KERNEL_ADD_ONE, 0);
    for (std::size_t size = 0; size < 12; ++size) {
        std::vector<std::byte> bytes(size, std::byte{0x10});
        transform(config, 0, bytes);
        for (std::size_t at = 0; at < size; ++at)
            EXPECT_EQ(bytes[at], std::byte(at % 4 == 0 && at + 4 <= size ? 0x11 : 0x10)) << at;
    }
}

}  // namespace
}  // namespace dingo::model::compute
