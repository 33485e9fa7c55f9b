// SPDX-License-Identifier: BSD-2-Clause
#include "compare/read_output.h"

#include <gtest/gtest.h>

#include "report/json.h"
#include "report/samples.h"

namespace rdma_bench {
namespace {

constexpr double kMebibyte = 1048576;

TEST(ReadOutput, PerftestsTablesOfBandwidthAndLatency) {
    const Result bandwidth = read_output(
        "                    Send Bidirectional BW Test\n"
        " Number of qps   : 4\t\tTransport type : IB\n"
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        " 64         1000             1.50               1.00              1.953125\n"
        " 4096       1000             9.50               8.00              0.244141\n",
        "x");
    EXPECT_EQ(bandwidth.test, (rdma_bench::Test{Operation::kSend, Metric::kBandwidth}));
    ASSERT_EQ(bandwidth.entries.size(), 2U);
    EXPECT_EQ(bandwidth.entries[1].size, 4096U);
    EXPECT_EQ(bandwidth.entries[1].qps, 4U);
    EXPECT_DOUBLE_EQ(bandwidth.entries[1].bandwidth->average, 1e9);
    const Result latency = read_output(
        "                    RDMA_Read Latency Test\n"
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
        "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
        " 2       1000          1.80           75.97        2.04                54.19      416.57 "
        "  33.14                  75.97\n",
        "x");
    EXPECT_EQ(latency.test, (rdma_bench::Test{Operation::kRead, Metric::kLatency}));
    ASSERT_EQ(latency.entries.size(), 1U);
    EXPECT_DOUBLE_EQ(latency.entries[0].repeats.at(0).median, 2040);
    EXPECT_DOUBLE_EQ(latency.entries[0].repeats.at(0).tail, 33140);
}

TEST(ReadOutput, EachRowHasItsOwnNumberOfQps) {
    const Result result = read_output(
        "                    RDMA_Write BW Test\n"
        " Number of qps   : 8\t\tTransport type : IB\n"
        " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n"
        " 64         1000             1.50               1.00              0.016384\n"
        "\tQPs: 1\n"
        " 64         8000             4.50               4.00              0.065536\n"
        "\tQPs: 8\n",
        "x");
    ASSERT_EQ(result.entries.size(), 2U);
    EXPECT_EQ(result.entries[0].qps, 1U);
    EXPECT_EQ(result.entries[1].qps, 8U);
    EXPECT_DOUBLE_EQ(result.entries[1].bandwidth->average, 4 * kMebibyte);
}

/// The output of perftest 6.06, which is not valid JSON.
TEST(ReadOutput, PerftestsJsonWithoutQuotationMarks) {
    const Result result = read_output(
        "{\ntest_info: {\ntest: RDMA_Write_BW_Test,\nDevice: \"beta\",\n},\n"
        "results: {\nMsgSize: 65536,\nn_iterations: 500,\nBW_peak: 6439.89,\n"
        "BW_average: 3575.95,\nMsgRate: 0.057215,\n},\n}\n",
        "x");
    EXPECT_EQ(result.test, (rdma_bench::Test{Operation::kWrite, Metric::kBandwidth}));
    ASSERT_EQ(result.entries.size(), 1U);
    EXPECT_DOUBLE_EQ(result.entries[0].bandwidth->average, 3575.95 * kMebibyte);
    const Result gbits = read_output(
        "{\"test_info\": {\"test\": \"RDMA_Write_BW_Test\"}, \"results\": {\"MsgSize\": 65536, "
        "\"n_iterations\": 500, \"BW_average\": 29.99728, \"MsgRate\": 0.057215}}",
        "x");
    EXPECT_NEAR(gbits.entries[0].bandwidth->average, 3.74966e9, 1e5);
}

TEST(ReadOutput, OurJsonBehindATableAndWhatIsNeither) {
    const Result written = samples::latency();
    const Result read = read_output(" #bytes #iterations ...\n" + report::to_json(written), "x");
    EXPECT_EQ(read.entries.size(), written.entries.size());
    EXPECT_TRUE(read.entries[0].latency.has_value());
    EXPECT_THROW(read_output("", "x"), report::BadInput);
    EXPECT_THROW(read_output("hello\n", "x"), report::BadInput);
    EXPECT_THROW(read_output("{\"results\": 5}", "x"), report::BadInput);
    EXPECT_THROW(read_output("{\ntest_info: {\n", "x"), report::BadInput);
}

}  // namespace
}  // namespace rdma_bench
