// SPDX-License-Identifier: BSD-2-Clause
// The lines that scripts cut, as perftest 4.5 prints them.
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
