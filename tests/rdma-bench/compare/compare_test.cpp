// SPDX-License-Identifier: BSD-2-Clause
#include "compare/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
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

TEST(Compare, RowsThatAreAlikeMatchInTheirOrder) {
    Result first = samples::bandwidth();
    first.entries.resize(1);
    first.entries.push_back(first.entries[0]);
    Result second = first;
    second.entries[1].bandwidth->average *= 0.5;
    const Comparison comparison = compare(first, second, {});
    ASSERT_EQ(comparison.figures.size(), 2U);
    EXPECT_DOUBLE_EQ(comparison.figures[0].ratio(), 1);
    EXPECT_DOUBLE_EQ(comparison.figures[1].ratio(), 0.5);
    EXPECT_TRUE(comparison.remarks.empty());
    second.entries.pop_back();
    EXPECT_EQ(compare(first, second, {}).remarks.size(), 1U) << "the second row of the first run";
}

TEST(Compare, WrongDataAndAnEarlyEndAreWorseWhateverTheSpeed) {
    Result wrong = samples::bandwidth(2);
    wrong.entries[0].verification->wrong = 1;
    EXPECT_TRUE(compare(samples::bandwidth(), wrong, {}).worse());
    Result ended = samples::bandwidth(2);
    ended.error = "the peer vanished";
    EXPECT_TRUE(compare(samples::bandwidth(), ended, {}).worse());
}

/// Returns a run of one entry whose repeats have these speeds.
Result repeated(const std::vector<double>& speeds) {
    Result result = samples::bandwidth();
    result.entries.resize(1);
    std::vector<double> sorted = speeds;
    std::sort(sorted.begin(), sorted.end());
    result.entries[0].bandwidth->average = sorted[sorted.size() / 2];
    for (const double speed : speeds) {
        Repeat repeat;
        repeat.bandwidth = speed;
        result.entries[0].repeats.push_back(repeat);
    }
    return result;
}

TEST(Compare, IntervalsDecideWhereThereAreRepeats) {
    const std::vector<double> noisy{100, 90, 110, 95, 105, 85, 115};
    const std::vector<double> moved{94, 84, 104, 89, 99, 79, 109};
    EXPECT_EQ(verdict_of(compare(repeated(noisy), repeated(moved), {}), "bandwidth"),
              Verdict::kUnclear)
        << "6 % less is within the scatter of both";
    EXPECT_FALSE(compare(repeated(noisy), repeated(moved), {}).worse());
    const std::vector<double> steady{100, 100.1, 99.9, 100.2, 99.8, 100};
    const std::vector<double> slower{94, 94.1, 93.9, 94.2, 93.8, 94};
    EXPECT_EQ(verdict_of(compare(repeated(steady), repeated(slower), {}), "bandwidth"),
              Verdict::kWorse);
    EXPECT_EQ(verdict_of(compare(repeated(slower), repeated(steady), {}), "bandwidth"),
              Verdict::kBetter);
    EXPECT_EQ(verdict_of(compare(repeated(steady), repeated(steady), {}), "bandwidth"),
              Verdict::kSame);
    const std::vector<double> little{99, 99.1, 98.9, 99.2, 98.8, 99};
    EXPECT_EQ(verdict_of(compare(repeated(steady), repeated(little), {}), "bandwidth"),
              Verdict::kSame)
        << "a difference that is sure, and smaller than the threshold";
}

TEST(Compare, TooFewRepeatsDecideNothing) {
    const Comparison few = compare(repeated({100, 100, 100}), repeated({50, 50, 50}), {});
    EXPECT_EQ(verdict_of(few, "bandwidth"), Verdict::kUnclear);
    EXPECT_NE(few.ground.find("3 repeats are too few"), std::string::npos) << few.ground;
}

TEST(Compare, PairsTakeOutWhatTheMachineDidMeanwhile) {
    // The machine slows down to half its speed meanwhile; each pair differs by 5 %.
    const std::vector<double> first{100, 92, 84, 76, 68, 60, 52};
    std::vector<double> second;
    for (const double value : first) {
        second.push_back(value * 0.95);
    }
    CompareOptions options;
    EXPECT_EQ(verdict_of(compare(repeated(first), repeated(second), options), "bandwidth"),
              Verdict::kUnclear);
    options.paired = true;
    EXPECT_EQ(verdict_of(compare(repeated(first), repeated(second), options), "bandwidth"),
              Verdict::kWorse);
}

/// Compares successive runs of one distribution; with a threshold of 3 %, many would count as
/// worse.
TEST(Compare, RunsOfTheSameAreNotCalledWorse) {
    std::mt19937 random(7);
    std::normal_distribution<double> scatter(100, 5);
    std::vector<Result> runs;
    for (unsigned run = 0; run < 25; ++run) {
        std::vector<double> speeds;
        for (unsigned i = 0; i < 6; ++i) {
            speeds.push_back(scatter(random));
        }
        runs.push_back(repeated(speeds));
    }
    unsigned worse = 0;
    for (unsigned run = 1; run < 25; ++run) {
        worse += compare(runs[run - 1], runs[run], {}).worse() ? 1 : 0;
    }
    EXPECT_EQ(worse, 0U);
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
