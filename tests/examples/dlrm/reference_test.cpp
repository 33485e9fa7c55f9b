// SPDX-License-Identifier: BSD-2-Clause
//
// The CPU's preprocessing against the model's compute kernel, and against libm.
#include "dlrm/reference.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <span>

#include "compute/kernels.h"
#include "dlrm/generate.h"

namespace dlrm {
namespace {

TEST(Reference, EveryBitIsTheModels) {
    std::mt19937 random(1);
    for (const std::int32_t x : {INT32_MIN, -1, 0, 1, 2, 3, INT32_MAX - 1, INT32_MAX})
        EXPECT_EQ(log_bits(x), dingo::model::compute::log_plus_one(x)) << x;
    for (int i = 0; i < 3'000'000; ++i) {
        const auto x = static_cast<std::int32_t>(random() >> random() % 32);
        ASSERT_EQ(log_bits(x), dingo::model::compute::log_plus_one(x)) << x;
    }
    for (const std::uint32_t modulus : {1u, 10u, 8192u, 1000003u, UINT32_MAX}) {
        const auto config = dingo::model::compute::configure(DINGO_KERNEL_DLRM, modulus);
        Generator generator(modulus);
        for (int i = 0; i < 2000; ++i) {
            Record record = generator.next();
            Record card = record;
            preprocess(record, modulus);
            dingo::model::compute::transform(config, 0, std::as_writable_bytes(std::span(card)));
            ASSERT_EQ(record, card);
        }
    }
}

TEST(Reference, IsALogarithm) {
    for (std::int32_t x = 0; x < 2'000'000; ++x)
        ASSERT_NEAR(std::bit_cast<float>(log_bits(x)), std::log1p(static_cast<double>(x)), 1e-6);
}

}  // namespace
}  // namespace dlrm
