// SPDX-License-Identifier: BSD-2-Clause
#include "compare/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "compare/table.h"
#include "report/samples.h"

namespace rdma_bench {
namespace {

Verdict verdict_of(const Comparison& comparison, const std::string& name) {
    const auto found = std::find_if(comparison.figures.begin(), comparison.figures.end(),
                                    [&](const Figure& f) { return f.name == name; });
    return found == comparison.figures.end() ? Verdict::kNotJudged : found->verdict;
}

TEST(Compare, TheSameRunIsTheSame) {
    for (const Result& result : {samples::bandwidth(), samples::latency()}) {
        const Comparison comparison = compare(result, result, {});
        EXPECT_FALSE(comparison.worse());
        EXPECT_TRUE(comparison.remarks.empty());
        for (const Figure& figure : comparison.figures) {
            EXPECT_DOUBLE_EQ(figure.ratio(), 1);
        }
    }
}

TEST(Compare, MoreBandwidthIsBetterAndMoreLatencyIsWorse) {
    EXPECT_EQ(verdict_of(compare(samples::bandwidth(), samples::bandwidth(1.2), {}), "bandwidth"),
              Verdict::kBetter);
    EXPECT_TRUE(compare(samples::bandwidth(), samples::bandwidth(0.8), {}).worse());
    EXPECT_EQ(verdict_of(compare(samples::latency(), samples::latency(0.8), {}), "median latency"),
              Verdict::kBetter);
    EXPECT_TRUE(compare(samples::latency(), samples::latency(1.2), {}).worse());
}

TEST(Compare, WhatIsWithinTheThresholdIsTheSame) {
    EXPECT_FALSE(compare(samples::bandwidth(), samples::bandwidth(0.98), {0.03, false}).worse());
    EXPECT_TRUE(compare(samples::bandwidth(), samples::bandwidth(0.96), {0.03, false}).worse());
    EXPECT_FALSE(compare(samples::bandwidth(), samples::bandwidth(0.96), {0.05, false}).worse());
    EXPECT_FALSE(compare(samples::latency(), samples::latency(1.02), {0.03, false}).worse());
    EXPECT_TRUE(compare(samples::latency(), samples::latency(1.04), {0.03, false}).worse());
}

TEST(Compare, TheTailIsJudgedOnlyWhenAskedFor) {
    Result slower = samples::latency();
    for (Entry& entry : slower.entries) {
        Histogram histogram(0.5);
        for (unsigned i = 0; i < 1000; ++i) {
            histogram.record((entry.size == 2 ? 4000 : 8000) * (i % 50 == 49 ? 20U : 1U) +
                             (i % 50 == 49 ? 0 : i % 50));
        }
        entry.latency = histogram;
    }
    EXPECT_FALSE(compare(samples::latency(), slower, {0.03, false}).worse());
    EXPECT_EQ(verdict_of(compare(samples::latency(), slower, {0.03, true}), "99th percentile"),
              Verdict::kWorse);
}

TEST(Compare, WrongDataAndAnEarlyEndAreWorseWhateverTheSpeed) {
    Result wrong = samples::bandwidth(2);
    wrong.entries[0].verification->wrong = 1;
    EXPECT_TRUE(compare(samples::bandwidth(), wrong, {}).worse());
    Result ended = samples::bandwidth(2);
    ended.error = "the peer vanished";
    EXPECT_TRUE(compare(samples::bandwidth(), ended, {}).worse());
}

TEST(Compare, SaysWhatElseDiffers) {
    Result other = samples::bandwidth();
    other.parameters[1].value = "256";
    other.local.device.name = "rxe0";
    other.entries.erase(other.entries.begin());
    const auto remarks = compare(samples::bandwidth(), other, {}).remarks;
    ASSERT_EQ(remarks.size(), 3U);
    EXPECT_EQ(remarks[0], "tx_depth: 128 and 256");
    EXPECT_EQ(remarks[1], "client: dingo0 on node-a, and rxe0 on node-a");
    EXPECT_EQ(remarks[2], "64 B with 1 QP(s): only in the first");
}

TEST(Compare, WhatCannotBeComparedIsRefused) {
    EXPECT_THROW(compare(samples::bandwidth(), samples::latency(), {}), std::invalid_argument);
    Result other = samples::bandwidth();
    other.entries.clear();
    EXPECT_THROW(compare(samples::bandwidth(), other, {}), std::invalid_argument);
    Result standing = samples::bandwidth(0);
    EXPECT_THROW(compare(samples::bandwidth(), standing, {}), std::invalid_argument)
        << "a ratio of nothing";
}

TEST(Compare, ThresholdsAreReadAsPercentOrAsAPart) {
    EXPECT_DOUBLE_EQ(parse_threshold("3%"), 0.03);
    EXPECT_DOUBLE_EQ(parse_threshold("0.03"), 0.03);
    EXPECT_DOUBLE_EQ(parse_threshold("0"), 0);
    for (const char* bad : {"", "x", "3%%", "3 %", "-1%", "100%", "1", "nan", "inf", "0.03x"}) {
        EXPECT_THROW(parse_threshold(bad), std::invalid_argument) << bad;
    }
}

TEST(Compare, TheTableNamesEachFigureAndEndsWithTheVerdict) {
    const CompareOptions options{0.03, false};
    Comparison comparison = compare(samples::latency(), samples::latency(1.2), options);
    comparison.remarks.emplace_back("host: \x1B[2J");
    const std::string table = to_table(comparison, options);
    EXPECT_NE(table.find("median latency"), std::string::npos);
    EXPECT_NE(table.find("+20."), std::string::npos);
    EXPECT_NE(table.find("worse: 2 worse, 0 better, threshold 3%\n"), std::string::npos);
    EXPECT_EQ(table.find('\x1B'), std::string::npos)
        << "text of a file must not steer the terminal";
}

}  // namespace
}  // namespace rdma_bench
