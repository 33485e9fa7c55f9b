// SPDX-License-Identifier: BSD-2-Clause
// Tests of an entry's threads on the loop device: which messages they move, and that they end if
// one of them fails, the peer disconnects or the user presses Ctrl-C.
#include "run/entry_run.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "two_sides.h"

namespace rdma_bench::test {
namespace {

class EntryOf : public EachCase {};

TEST_P(EntryOf, MovesEachMessageOfEachQp) {
    Options options = options_of(GetParam().test);
    GetParam().change(options);
    Measured at_server, at_client, told;
    std::uint64_t samples = 0;
    {
        TwoSides sides(options);
        sides.both(
            [&](Side& side) {
                EntryRun run(side.traffic, side.options, side.link, side.sink);
                at_server = run.run(side.where());
                EXPECT_EQ(run.ended(), nullptr);
                run.exchange(at_server);
            },
            [&](Side& side) {
                EntryRun run(side.traffic, side.options, side.link, side.sink);
                at_client = run.run(side.where());
                EXPECT_EQ(run.ended(), nullptr);
                samples = run.latency.count();
                told = run.exchange(at_client);
            });
    }
    const Role client = role_of(Side::as(options, true)),
               server = role_of(Side::as(options, false));
    const std::uint64_t all = options.iterations * options.qps.front();
    EXPECT_EQ(at_client.messages, client.sends ? all : 0);
    EXPECT_EQ(at_server.messages, server.sends ? all : 0);
    if (client.receives && options.connection == Connection::kRc) {
        EXPECT_EQ(at_client.received, all);
    }
    if (server.receives && options.connection == Connection::kRc) {
        EXPECT_EQ(at_server.received, all);
    }
    if (options.connection != Connection::kRc) {
        EXPECT_EQ(at_server.received + at_server.lost, all);
    }
    EXPECT_EQ(told.messages, at_server.messages);
    if (options.test.latency() || options.rate > 0) {
        EXPECT_EQ(samples, all);
    }
    EXPECT_EQ(at_client.verification.wrong + at_server.verification.wrong, 0U);
    EXPECT_EQ(at_client.verification.messages + at_server.verification.messages,
              options.verify ? (options.test.ping_pong() ? 2 * all : all) : 0);
    EXPECT_EQ(loop_verbs::live_objects(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    , EntryOf,
    ::testing::Values(
        Case{"Write", "write-bw", kPlain}, Case{"Read", "read-bw", kPlain},
        Case{"WriteImmediate", "write-imm-bw", kPlain},
        Case{"WriteImmediateBothWays", "write-imm-bw", [](Options& o) { o.bidirectional = true; }},
        Case{"WriteImmediateToSrq", "write-imm-bw", [](Options& o) { o.srq = true; }},
        Case{"WriteImmediateWithEvents", "write-imm-bw", [](Options& o) { o.events = true; }},
        Case{"WriteImmediateLatency", "write-imm-lat", kPlain},
        Case{"WriteImmediateLatencyVerified", "write-imm-lat", [](Options& o) { o.verify = true; }},
        Case{"Send", "send-bw", kPlain}, Case{"Atomic", "atomic-bw", kPlain},
        Case{"SendBothWays", "send-bw", [](Options& o) { o.bidirectional = true; }},
        Case{"WriteBothWays", "write-bw", [](Options& o) { o.bidirectional = true; }},
        Case{"SendReversed", "send-bw", [](Options& o) { o.reversed = true; }},
        Case{"SendWithEvents", "send-bw", [](Options& o) { o.events = true; }},
        Case{"SendBothWaysWithEvents", "send-bw",
             [](Options& o) { o.events = o.bidirectional = true; }},
        Case{"SendToSrq", "send-bw", [](Options& o) { o.srq = true; }},
        Case{"SendWithOneReceive", "send-bw", [](Options& o) { o.rx_depth = 1; }},
        Case{"Datagrams", "send-bw", [](Options& o) { o.connection = Connection::kUd; }},
        Case{"Unreliable", "send-bw", [](Options& o) { o.connection = Connection::kUc; }},
        Case{"MoreThreadsThanProcessors", "write-bw",
             [](Options& o) {
                 o.qps = {16};
                 o.threads = 8;
                 o.report.cpu = true;
             }},
        Case{"Paced", "write-bw", [](Options& o) { o.rate = 20000; }},
        Case{"WriteLatency", "write-lat", kPlain}, Case{"ReadLatency", "read-lat", kPlain},
        Case{"SendLatency", "send-lat", kPlain}, Case{"AtomicLatency", "atomic-lat", kPlain},
        Case{"SendLatencyWithEvents", "send-lat", [](Options& o) { o.events = true; }},
        Case{"SendLatencyVerified", "send-lat", [](Options& o) { o.verify = true; }}),
    name_of);

/// The number of messages is no multiple of the receives that are posted together.
TEST(EntryRun, NoReceiveOfAnSrqIsLostBetweenEntries) {
    loop_verbs::set_faults({});
    Options options = options_of("send-bw");
    options.srq = true;
    options.qps = {1};
    options.threads = 1;
    options.rx_depth = 16;
    options.iterations = 303;
    TwoSides sides(options);
    const auto run_it = [](Side& side) {
        for (unsigned entry = 0; entry < 8; ++entry) {
            EntryRun run(side.traffic, side.options, side.link, side.sink);
            const Measured mine = run.run(side.where());
            if (run.ended() != nullptr) {
                ADD_FAILURE() << "entry " << entry << ": " << run.ended()->what();
                side.link.give_up(run.ended()->what(), false);
                return;
            }
            run.exchange(mine);
        }
    };
    sides.both(run_it, run_it);
}

TEST(EntryRun, DurationEndsAllThreads) {
    loop_verbs::set_faults({});
    Options options = options_of("send-bw");
    options.duration = 1;
    // So that the main threads count sent messages while the others still receive.
    options.bidirectional = true;
    TwoSides sides(options);
    const auto run_it = [](Side& side) {
        EntryRun run(side.traffic, side.options, side.link, side.sink);
        const Measured mine = run.run(side.where());
        EXPECT_EQ(run.ended(), nullptr);
        const Measured theirs = run.exchange(mine);
        EXPECT_GT(mine.messages + theirs.messages, 0U);
        EXPECT_EQ(mine.lost + theirs.lost, 0U);
    };
    sides.both(run_it, run_it);
}

class Intervals : public ::testing::TestWithParam<bool> {};

TEST_P(Intervals, AreReportedByTheInitiatorOnly) {
    loop_verbs::set_faults({});
    Options options = options_of("write-bw");
    options.run_infinitely = true;
    options.duration = 1;
    options.bidirectional = GetParam();
    TwoSides sides(options);
    unsigned at_server = 0;
    std::vector<Measured> own, peers;
    sides.both(
        [&](Side& side) {
            EntryRun run(side.traffic, side.options, side.link, side.sink);
            run.interval = [&](const Measured&, const Measured&) { ++at_server; };
            run.run(side.where());
            EXPECT_NE(run.ended(), nullptr);
        },
        [&](Side& side) {
            EntryRun run(side.traffic, side.options, side.link, side.sink);
            run.interval = [&](const Measured& mine, const Measured& theirs) {
                own.push_back(mine);
                peers.push_back(theirs);
                if (own.size() == 2) {
                    throw RunError(Exit::kFailed, "that is enough");
                }
            };
            try {
                run.run(side.where());
                EXPECT_NE(run.ended(), nullptr);
            } catch (const RunError& error) {
                EXPECT_STREQ(error.what(), "that is enough");
            }
            side.link.give_up("that is enough", false);
        });
    EXPECT_EQ(at_server, 0U);
    ASSERT_EQ(own.size(), 2U);
    for (std::size_t i = 0; i < own.size(); ++i) {
        EXPECT_GT(own[i].messages, 0U);
        EXPECT_EQ(peers[i].messages > 0, options.bidirectional);
        EXPECT_EQ(peers[i].rate > 0, options.bidirectional);
    }
}

INSTANTIATE_TEST_SUITE_P(, Intervals, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "BothWays" : "OneWay"; });

TEST(EntryRun, OneThreadsErrorEndsTheOthersAndThePeer) {
    loop_verbs::set_faults({.fail = 500});
    Options options = options_of("write-bw");
    options.iterations = std::uint64_t{1} << 40;
    TwoSides sides(options);
    sides.both(
        [](Side& side) {
            EntryRun run(side.traffic, side.options, side.link, side.sink);
            run.run(side.where());
            ASSERT_NE(run.ended(), nullptr);
            EXPECT_EQ(run.ended()->status(), Exit::kPeer);
        },
        [](Side& side) {
            EntryRun run(side.traffic, side.options, side.link, side.sink);
            try {
                run.run(side.where());
                ADD_FAILURE() << "nothing was thrown";
            } catch (const RunError& error) {
                EXPECT_EQ(error.status(), Exit::kFailed);
                EXPECT_NE(std::string(error.what()).find("remote operation error"),
                          std::string::npos)
                    << error.what();
                side.link.give_up(error.what(), false);
            }
        });
}

TEST(EntryRun, APeerThatVanishesEndsAllThreads) {
    loop_verbs::set_faults({});
    Options options = options_of("send-bw");
    options.iterations = std::uint64_t{1} << 40;
    TwoSides sides(options);
    sides.both(
        [](Side& side) {
            side.link.send("ready", nlohmann::json::object());
            side.link.expect("ready");
            side.link.connection().close();
        },
        [](Side& side) {
            EntryRun run(side.traffic, side.options, side.link, side.sink);
            run.run(side.where());
            ASSERT_NE(run.ended(), nullptr);
            EXPECT_EQ(run.ended()->status(), Exit::kPeer);
        });
}

TEST(EntryRun, AMessageThatCannotBeReadEndsTheEntry) {
    loop_verbs::set_faults({});
    Options options = options_of("send-lat");
    options.iterations = std::uint64_t{1} << 40;
    for (const auto& message :
         {nlohmann::json{{"nothing", 1}}, nlohmann::json{{"posted", "all"}}}) {
        TwoSides sides(options);
        sides.both(
            [&](Side& side) {
                side.link.send("ready", nlohmann::json::object());
                side.link.expect("ready");
                side.link.send("done", message);
            },
            [](Side& side) {
                EntryRun run(side.traffic, side.options, side.link, side.sink);
                run.run(side.where());
                ASSERT_NE(run.ended(), nullptr);
                EXPECT_EQ(run.ended()->status(), Exit::kPeer);
            });
    }
}

/// An interrupt cannot be reset, so this must run in its own process.
void interrupt_while_messages_move() {
    loop_verbs::set_faults({});
    Options options = options_of("send-bw");
    options.bidirectional = true;
    options.iterations = std::uint64_t{1} << 40;
    TwoSides sides(options);
    std::atomic<int> marked{0};
    const auto run_it = [&](Side& side) {
        EntryRun run(side.traffic, side.options, side.link, side.sink);
        run.run(side.where());
        if (run.ended() != nullptr && run.ended()->status() == Exit::kInterrupted) {
            ++marked;
        }
    };
    auto user = std::async(std::launch::async, [] {
        std::this_thread::sleep_for(300ms);
        kill(getpid(), SIGINT);
    });
    sides.both(run_it, run_it);
    _exit(marked == 2 ? 130 : 1);
}

TEST(EntryRunDeathTest, InterruptEndsBothSides) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(interrupt_while_messages_move(), ::testing::ExitedWithCode(130), "");
}

}  // namespace
}  // namespace rdma_bench::test
