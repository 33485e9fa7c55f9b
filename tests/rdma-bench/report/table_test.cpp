// SPDX-License-Identifier: BSD-2-Clause
// Tests that the lines that scripts parse are printed as by perftest 4.5.
#include <gtest/gtest.h>

#include "options/parse.h"
#include "report/sinks.h"

namespace rdma_bench {
namespace {

std::string printed(const Options& options, const Entry& entry) {
    Result result;
    result.test = options.test;
    result.client = true;
    result.local_qps.resize(1);
    result.entries = {entry};
    testing::internal::CaptureStdout();
    const auto sink = make_table_sink(options);
    sink->start(result);
    sink->entry(result, entry);
    sink->done(result);
    return testing::internal::GetCapturedStdout();
}

Options options_of(std::string_view test, std::vector<std::string> arguments = {}) {
    return parse_options(*parse_test(test), arguments);
}

TEST(Table, BandwidthRowHasPerftestsColumns) {
    Entry entry;
    entry.size = 65536;
    entry.iterations = 5000;
    entry.bandwidth = Bandwidth{3216.69 * 1048576, 3846.26 * 1048576, 51467};
    const auto text = printed(options_of("write-bw"), entry);
    EXPECT_NE(
        text.find(
            " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n"),
        std::string::npos)
        << text;
    EXPECT_NE(
        text.find("\n 65536      5000             3846.26            3216.69\t\t   0.051467\n"),
        std::string::npos)
        << text;
}

TEST(Table, AnInterruptedRowSaysWhatItHas) {
    Entry entry;
    entry.bandwidth = Bandwidth{1048576, 0, 16};
    entry.partial = true;
    const std::string all = "\tinterrupted: the row has what was measured until then\n";
    EXPECT_NE(printed(options_of("write-bw"), entry).find(all), std::string::npos);
    const auto one_way = printed(options_of("write-bw", {"-b"}), entry);
    EXPECT_NE(one_way.find("until then, in this side's direction\n"), std::string::npos) << one_way;
}

TEST(Table, SeveralClientsFollowTheRowOfAll) {
    Entry entry;
    entry.size = 65536;
    entry.bandwidth = Bandwidth{400 * 1048576.0, 0, 6400};
    entry.clients = {{1, 1, 300 * 1048576.0, 4800}, {1, 1, 100 * 1048576.0, 1600}};
    const auto text = printed(options_of("write-bw", {"--clients", "2", "-D", "5"}), entry);
    EXPECT_NE(text.find("\tclient 1: 300.00 MiB/sec, 0.004800 Mpps, 75.0 %\n"), std::string::npos)
        << text;
    EXPECT_NE(text.find("\tclient 2: 100.00 MiB/sec, 0.001600 Mpps, 25.0 %\n"), std::string::npos);
    EXPECT_NE(
        text.find("\tfairness: 0.8000 (Jain's index; 1: all the same), the slowest has 33.3 % "
                  "of the fastest\n"),
        std::string::npos);
}

TEST(Table, GigabitsAreDecimal) {
    Entry entry;
    entry.size = 65536;
    entry.iterations = 43503;
    entry.bandwidth = Bandwidth{7.6e9 / 8, 0, 14501};
    const auto text = printed(options_of("write-bw", {"--report_gbits"}), entry);
    EXPECT_NE(text.find("BW peak[Gb/sec]    BW average[Gb/sec]"), std::string::npos);
    EXPECT_NE(text.find(" 65536      43503            0.00               7.60   \t\t   0.014501\n"),
              std::string::npos)
        << text;
}

TEST(Table, LatencyRowHasPerftestsColumns) {
    Entry entry;
    entry.size = 2;
    entry.iterations = 3;
    entry.latency = Histogram(1.0);
    for (const unsigned ns : {16410U, 53480U, 100000U}) {
        entry.latency->record(ns);
    }
    const auto text = printed(options_of("write-lat"), entry);
    EXPECT_NE(text.find(" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    "
                        "t_avg[usec]    t_stdev[usec]   99% percentile[usec]   "
                        "99.9% percentile[usec] \n"),
              std::string::npos);
    EXPECT_NE(text.find("\n 2       3             16.41          100.00       53.5"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("\t\t100.00  \t\t100.00 \n"), std::string::npos) << text;
}

TEST(Table, APercentileThatTheSamplesCannotTellSaysHowManyItNeeds) {
    Entry entry;
    entry.latency = Histogram(1.0);
    for (unsigned i = 0; i < 5000; ++i) {
        entry.latency->record(1000 + i);
    }
    auto text = printed(options_of("write-lat"), entry);
    EXPECT_NE(text.find("\t99.99% needs 10000 samples, 99.999% needs 100000 samples\n"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("the slowest message"), std::string::npos) << "99.9% is told by 5000";
    text = printed(options_of("write-lat", {"-D", "1"}), entry);
    EXPECT_NE(text.find("99.9% 6.00"), std::string::npos) << text;
    EXPECT_NE(text.find("99.99% needs 10000 samples, 99.999% needs 100000 samples, max"),
              std::string::npos)
        << text;
    entry.latency->clear();
    entry.latency->record(1000);
    text = printed(options_of("write-lat"), entry);
    EXPECT_NE(text.find("the column 99.9% is the slowest message: 99.9% needs 1000 samples"),
              std::string::npos)
        << text;
}

TEST(Table, RepeatsShowTheIntervalOfTheMedian) {
    Entry entry;
    entry.bandwidth = Bandwidth{103 * 1048576.0, 0, 1};
    for (unsigned i = 0; i < 7; ++i) {
        Repeat repeat;
        repeat.bandwidth = (100 + i) * 1048576.0;
        entry.repeats.push_back(repeat);
    }
    auto text = printed(options_of("write-bw"), entry);
    EXPECT_NE(text.find("\t7 repeats: median 103.00 MiB/sec, in 100.00 to 106.00 with 98.4 %\n"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("so few"), std::string::npos);
    entry.repeats.resize(3);
    text = printed(options_of("write-bw"), entry);
    EXPECT_NE(text.find("too few repeats for a confidence interval: --repeat 6 or more gives 95 %"),
              std::string::npos)
        << text;
}

TEST(Table, AMeanFarFromTheMedianIsSaid) {
    Entry entry;
    entry.latency = Histogram(1.0);
    for (unsigned i = 0; i < 100; ++i) {
        entry.latency->record(i < 99 ? 1000 : 2601000);
    }
    EXPECT_NE(printed(options_of("write-lat"), entry).find("the mean is 27.0 times the median"),
              std::string::npos);
    entry.latency->clear();
    entry.latency->record(1000);
    EXPECT_EQ(printed(options_of("write-lat"), entry).find("warning"), std::string::npos);
}

TEST(Table, CountersStandOnceWithAColumnForEachSize) {
    Result result;
    result.test = *parse_test("write-bw");
    result.local_qps.resize(1);
    for (const std::uint64_t size : {64, 4096}) {
        Entry entry;
        entry.size = size;
        entry.bandwidth = Bandwidth{};
        entry.counters = {{"counters/moves", 10, 10 + size}, {"counters/rests", 5, 5}};
        result.entries.push_back(entry);
    }
    const auto text_of = [&](const char* which) {
        const auto options = options_of("write-bw", {"-W", which});
        testing::internal::CaptureStdout();
        const auto sink = make_table_sink(options);
        sink->entry(result, result.entries[0]);
        sink->entry(result, result.entries[1]);
        sink->done(result);
        return testing::internal::GetCapturedStdout();
    };
    const auto all = text_of("all");
    EXPECT_NE(all.find("\tcounter                  64 B          4 KiB\n"
                       "\tcounters/moves             64           4096\n"
                       "\t1 counter did not change\n"),
              std::string::npos)
        << all;
    EXPECT_EQ(all.find("counters/rests"), std::string::npos);
    EXPECT_NE(text_of("counters/moves,counters/rests").find("\tcounters/rests"), std::string::npos)
        << "one that was asked for by name is shown";
}

TEST(Table, OneNumberMeansNothingElse) {
    Entry entry;
    entry.size = 1;
    entry.bandwidth = Bandwidth{2.5 * 1048576, 0, 3e6};
    EXPECT_EQ(printed(options_of("write-bw", {"--output=bandwidth"}), entry), "2.500000\n");
    EXPECT_EQ(printed(options_of("write-bw", {"--output=message_rate"}), entry), "3.000000\n");
}

TEST(Table, WrongAndLostMessagesAreShown) {
    Entry entry;
    entry.bandwidth = Bandwidth{};
    entry.lost = 4;
    entry.verification = Verification{10, 640, 2, 0, "x"};
    const auto text = printed(options_of("send-bw", {"-c", "UD"}), entry);
    EXPECT_NE(text.find("\tlost: 4 messages"), std::string::npos);
    EXPECT_NE(text.find("\tverified: 10 messages, 640 bytes, 2 wrong\n"), std::string::npos);
}

}  // namespace
}  // namespace rdma_bench
