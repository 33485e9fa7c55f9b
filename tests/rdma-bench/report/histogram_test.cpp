// SPDX-License-Identifier: BSD-2-Clause
#include "report/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

namespace rdma_bench {
namespace {

TEST(Histogram, EmptyHasOnlyZeros) {
    const Histogram h;
    EXPECT_EQ(h.count(), 0U);
    EXPECT_EQ(h.min(), 0);
    EXPECT_EQ(h.max(), 0);
    EXPECT_EQ(h.mean(), 0);
    EXPECT_EQ(h.stdev(), 0);
    EXPECT_EQ(h.percentile(99.999), 0);
    EXPECT_TRUE(h.buckets().empty());
}

TEST(Histogram, BucketsCoverTheRangeWithoutGapsAndStayNarrow) {
    for (std::size_t i = 0; i + 1 < Histogram::kBuckets; ++i) {
        const auto from = Histogram::lower(i), to = Histogram::lower(i + 1);
        ASSERT_LT(from, to);
        ASSERT_EQ(Histogram::index(from), i);
        ASSERT_EQ(Histogram::index(to - 1), i);
        ASSERT_LE(static_cast<double>(to - from - 1), 0.002 * static_cast<double>(from));
    }
    EXPECT_EQ(Histogram::index(UINT64_MAX), Histogram::kBuckets - 1);
}

TEST(Histogram, PercentilesAreThoseOfTheSortedSamplesWithinABucket) {
    std::mt19937_64 random(1);
    std::lognormal_distribution<double> values(9, 2);
    Histogram h;
    std::vector<std::uint64_t> samples;
    for (int i = 0; i < 200000; ++i) {
        samples.push_back(static_cast<std::uint64_t>(values(random)));
        h.record(samples.back());
    }
    std::sort(samples.begin(), samples.end());
    for (const double p : {0.001, 1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0}) {
        const auto rank = static_cast<std::size_t>(
            std::max(1.0, std::ceil(p / 100 * static_cast<double>(samples.size()) - 1e-6)));
        const auto exact = static_cast<double>(samples[rank - 1]);
        EXPECT_GE(h.percentile(p), exact) << p;
        EXPECT_LE(h.percentile(p), exact * 1.002) << p;
    }
    EXPECT_EQ(h.percentile(100), static_cast<double>(samples.back()));
    EXPECT_EQ(h.min(), static_cast<double>(samples.front()));
}

TEST(Histogram, MeanAndDeviationAreExact) {
    Histogram h(0.5);
    for (const std::uint64_t v : {20000U, 40000U, 60000U}) {
        h.record(v);
    }
    EXPECT_DOUBLE_EQ(h.mean(), 20000);
    EXPECT_NEAR(h.stdev(), 10000 * std::sqrt(2.0 / 3.0), 1e-6);
    EXPECT_DOUBLE_EQ(h.max(), 30000);
}

TEST(Histogram, MergeIsAsIfRecordedHere) {
    Histogram a, b, all;
    for (std::uint64_t i = 1; i < 5000; i += 7) {
        (i % 2 ? a : b).record(i * i);
        all.record(i * i);
    }
    a.merge(b);
    EXPECT_EQ(a.count(), all.count());
    EXPECT_EQ(a.percentile(99), all.percentile(99));
    EXPECT_EQ(a.min(), all.min());
    EXPECT_EQ(a.max(), all.max());
    EXPECT_DOUBLE_EQ(a.stdev(), all.stdev());
    const Histogram other(2.0);
    EXPECT_THROW(a.merge(other), std::invalid_argument);
}

TEST(Histogram, StateRestoresEveryFigure) {
    Histogram h(0.25);
    for (const std::uint64_t v : {3U, 1000U, 1000U, 123456789U}) {
        h.record(v);
    }
    h.record(UINT64_MAX);
    const auto copy = Histogram::from_state(h.state());
    EXPECT_EQ(copy.count(), h.count());
    EXPECT_EQ(copy.min(), h.min());
    EXPECT_EQ(copy.max(), h.max());
    EXPECT_EQ(copy.mean(), h.mean());
    EXPECT_EQ(copy.percentile(50), h.percentile(50));
    EXPECT_EQ(copy.percentile(99.9), h.percentile(99.9));
    Histogram::State wrong;
    wrong.counts = {{Histogram::kBuckets, 1}};
    EXPECT_THROW(Histogram::from_state(wrong), std::invalid_argument);
    EXPECT_THROW(Histogram::from_state({1, 5, 4, 9, 81, {{5, 2}}}), std::invalid_argument);
    EXPECT_THROW(Histogram::from_state({0, 4, 5, 9, 41, {{4, 1}, {5, 1}}}), std::invalid_argument);
}

}  // namespace
}  // namespace rdma_bench
