// SPDX-License-Identifier: BSD-2-Clause
#include "run/layout.h"

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

#include "options/parse.h"

namespace rdma_bench {
namespace {

Options parse(std::string_view test, const std::string& line) {
    std::istringstream words(line);
    const std::vector<std::string> arguments{std::istream_iterator<std::string>(words), {}};
    return parse_options(*parse_test(test), arguments);
}

TEST(Layout, AreasHoldAllSlotsOfAllSizesAndDoNotOverlap) {
    for (const auto* line :
         {"-s 1,64,100,65536 -q 3", "--verify -s 64,65536 -q 2 -t 16", "-s 8M"}) {
        const auto o = parse("write-bw", line);
        const auto layout = make_layout(o);
        for (const auto size : o.sizes) {
            EXPECT_LE(out_slots(o, size).bytes(), layout.out_area);
            EXPECT_LE(in_slots(o, size).bytes(), layout.in_area);
            EXPECT_GE(out_slots(o, size).stride, size);
        }
        EXPECT_EQ(layout.out(0), 0U);
        EXPECT_EQ(layout.in(0), layout.out_area);
        EXPECT_EQ(layout.out(1), layout.in(0) + layout.in_area);
        EXPECT_EQ(layout.total(), layout.out(layout.qps));
    }
}

TEST(Layout, ReceivesAreLongEnoughForTheLargestSizeFromTheStart) {
    const auto o = parse("send-bw", "-s 64,5000");
    EXPECT_GE(in_slots(o, 64).stride, 5000U);
}

TEST(Layout, DatagramsHaveRoomForTheNetworkHeader) {
    EXPECT_GE(in_slots(parse("send-bw", "-c UD -s 4096"), 4096).stride, 4096 + kGrhSize);
}

TEST(Layout, CompletionIntervalsAreThoseOfPerftest) {
    EXPECT_EQ(completion_interval(parse("write-bw", "-s 64"), 64), 100U);
    EXPECT_EQ(completion_interval(parse("write-bw", "-s 65536"), 65536), 1U);
    EXPECT_EQ(completion_interval(parse("write-bw", "-s 65536 -Q 7"), 65536), 7U);
    EXPECT_EQ(completion_interval(parse("write-bw", "-a"), 65536), 100U);
    EXPECT_EQ(completion_interval(parse("write-bw", "-s 64 -t 8"), 64), 8U);
    EXPECT_EQ(completion_interval(parse("write-lat", ""), 2), 1U);
    EXPECT_EQ(completion_interval(parse("write-bw", "-s 64 --rate 5k"), 64), 1U);
}

TEST(Layout, WholePostListsFitIntoTheQueue) {
    for (const auto* line :
         {"-s 64 -l 16", "-s 64 -l 48 -t 100", "-s 64 -l 128", "-s 64 -l 3 -t 4 -Q 4"}) {
        const auto o = parse("write-bw", line);
        const auto interval = completion_interval(o, 64);
        EXPECT_EQ(interval % o.post_list, 0U) << line;
        EXPECT_LE(interval, send_depth(o, 64)) << line;
    }
}

TEST(Layout, AVerifiedRoundNeedsNoMoreReceivesThanTheSharedQueueHas) {
    EXPECT_EQ(receive_depth(parse("send-bw", "--verify -s 64 -q 4"), 64), 128U);
    EXPECT_EQ(receive_depth(parse("send-bw", "--verify -s 64 -q 4 --use-srq"), 64), 128U);
    EXPECT_EQ(receive_depth(parse("send-bw", "--verify -s 64 -q 4 --use-srq -r 100"), 64), 25U);
    EXPECT_EQ(
        receive_depth(parse("send-bw", "--verify -s 64 -q 7 --threads 2 --use-srq -r 100"), 64),
        25U)
        << "the busiest thread has four QPs";
    EXPECT_EQ(receive_depth(parse("send-bw", "--verify -s 64 -q 9 --use-srq -r 4"), 64), 1U);
    EXPECT_EQ(receive_depth(parse("send-bw", "-s 64 -q 9 --use-srq -r 4"), 64), 4U);
}

TEST(Layout, TheQueueIsNoDeeperThanThereAreMessages) {
    EXPECT_EQ(send_depth(parse("write-bw", "-n 20"), 64), 20U);
    EXPECT_EQ(send_depth(parse("write-bw", "-D 5"), 64), 128U);
    EXPECT_EQ(send_depth(parse("write-bw", "--verify -s 8M"), 8388608), 2U);
}

}  // namespace
}  // namespace rdma_bench
