// SPDX-License-Identifier: BSD-2-Clause
#include "run/measured.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace rdma_bench::test {
namespace {

Measured measured() {
    Measured m;
    m.messages = 3;
    m.rate = 1.5;
    m.latency = Histogram(0.3);
    for (const std::uint64_t ticks : {7U, 5000U, 123456789U}) {
        m.latency->record(ticks);
    }
    return m;
}

TEST(Measured, LatenciesReachThePeerAsTheyAre) {
    const Measured sent = measured();
    const Measured told = measured_from(nlohmann::json::parse(to_json(sent).dump()));
    EXPECT_EQ(told.messages, sent.messages);
    ASSERT_TRUE(told.latency.has_value());
    EXPECT_EQ(told.latency->count(), 3U);
    for (const double percent : {0.0, 50.0, 100.0}) {
        EXPECT_EQ(told.latency->percentile(percent), sent.latency->percentile(percent));
    }
    EXPECT_EQ(told.latency->mean(), sent.latency->mean());
    EXPECT_EQ(told.latency->stdev(), sent.latency->stdev());
}

TEST(Measured, WithoutLatenciesThereAreNone) {
    EXPECT_FALSE(measured_from(to_json(Measured{})).latency.has_value());
}

TEST(Measured, LatenciesThatCannotBeAreRefused) {
    nlohmann::json wrong = to_json(measured());
    wrong["latency"]["counts"] = {{Histogram::kBuckets, 1}};
    EXPECT_THROW(measured_from(wrong), std::invalid_argument);
    wrong["latency"] = "none";
    EXPECT_THROW(measured_from(wrong), nlohmann::json::exception);
}

}  // namespace
}  // namespace rdma_bench::test
