// SPDX-License-Identifier: BSD-2-Clause
// Tests of verified rounds with threads on the loop device: every message of every QP is compared,
// a wrong byte and a lost message are found, and an error in one thread ends the others.
#include "run/round_transfer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "two_sides.h"

namespace rdma_bench::test {
namespace {

VerifiedRun run_of(Side& side) {
    return {side.traffic, side.options, side.link, side.where().size, side.where().qps, false};
}

/// Runs both sides and returns the leader's outcome.
VerifiedOutcome verified(const Options& options) {
    VerifiedOutcome out;
    TwoSides sides(options);
    sides.both([&](Side& side) { follow_rounds(run_of(side)); },
               [&](Side& side) { out = lead_rounds(run_of(side), [](const auto&) {}); });
    return out;
}

Options options_for(const char* test) {
    Options options = options_of(test, 200);
    options.verify = true;
    return options;
}

class RoundsOf : public EachCase {};

TEST_P(RoundsOf, CompareEachMessageOfEachQp) {
    Options options = options_for(GetParam().test);
    GetParam().change(options);
    const auto out = verified(options);
    const std::uint64_t all = options.iterations * options.qps.front();
    EXPECT_EQ(out.messages, all);
    EXPECT_EQ(out.verification.messages + out.verification.lost,
              options.bidirectional ? 2 * all : all);
    EXPECT_EQ(out.verification.wrong, 0U) << out.verification.first;
    EXPECT_EQ(out.verification.lost, 0U);
    EXPECT_EQ(loop_verbs::live_objects(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    , RoundsOf,
    ::testing::Values(Case{"Write", "write-bw", kPlain}, Case{"Read", "read-bw", kPlain},
                      Case{"Send", "send-bw", kPlain}, Case{"Atomic", "atomic-bw", kPlain},
                      Case{"SendBothWays", "send-bw", [](Options& o) { o.bidirectional = true; }},
                      Case{"WriteBothWays", "write-bw", [](Options& o) { o.bidirectional = true; }},
                      Case{"SendToSrq", "send-bw", [](Options& o) { o.srq = true; }},
                      Case{"SendToSrqWithFewReceives", "send-bw",
                           [](Options& o) {
                               o.srq = true;
                               o.rx_depth = 2;
                           }},
                      Case{"Datagrams", "send-bw",
                           [](Options& o) { o.connection = Connection::kUd; }},
                      Case{"UnreliableBothWays", "send-bw",
                           [](Options& o) {
                               o.connection = Connection::kUc;
                               o.bidirectional = true;
                           }},
                      Case{"MoreThreadsThanProcessors", "send-bw",
                           [](Options& o) {
                               o.qps = {16};
                               o.threads = 8;
                               o.iterations = 60;
                           }}),
    name_of);

TEST(RoundTransfer, AWrongByteIsFound) {
    for (const char* test : {"write-bw", "read-bw", "send-bw"}) {
        loop_verbs::set_faults({.corrupt = 333});
        const auto found = verified(options_for(test)).verification;
        EXPECT_EQ(found.wrong, 1U) << test;
        EXPECT_EQ(found.messages, 1200U) << test;
        EXPECT_NE(found.first.find("QP "), std::string::npos) << found.first;
    }
}

TEST(RoundTransfer, ALostDatagramIsCountedAndNothingWaitsForIt) {
    loop_verbs::set_faults({.lose = 77});
    Options options = options_for("send-bw");
    options.connection = Connection::kUd;
    options.iterations = 32;
    const auto found = verified(options).verification;
    EXPECT_EQ(found.lost, 1U);
    EXPECT_EQ(found.messages, 32U * 4 - 1);
    EXPECT_EQ(found.wrong, 0U);
}

TEST(RoundTransfer, OneThreadsErrorEndsTheOthersAndThePeer) {
    loop_verbs::set_faults({.fail = 50});
    TwoSides sides(options_for("send-bw"));
    sides.both(
        [&](Side& side) {
            try {
                follow_rounds(run_of(side));
                ADD_FAILURE() << "nothing was thrown";
            } catch (const RunError& error) {
                EXPECT_EQ(error.status(), Exit::kPeer);
            }
        },
        [&](Side& side) {
            try {
                lead_rounds(run_of(side), [](const auto&) {});
                ADD_FAILURE() << "nothing was thrown";
            } catch (const RunError& error) {
                EXPECT_EQ(error.status(), Exit::kFailed);
                side.link.give_up(error.what(), false);
            }
        });
}

}  // namespace
}  // namespace rdma_bench::test
