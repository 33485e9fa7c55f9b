// SPDX-License-Identifier: BSD-2-Clause
// Tests of barriers and gathers in the registry.
#include "harness.h"
#include "service/job.h"

namespace qpx::service {
namespace {

class Collectives : public RegistryTest {
  public:
    uint32_t enter(ClientId id, std::string_view value = "", std::string_view label = "") {
        const Bytes bytes = bytes_of(value);
        return ask(id, {.type = Type::Gather, .name = label, .value = bytes});
    }
    uint32_t enter_barrier(ClientId id) {
        return ask(id, {.type = Type::Gather, .options = barrier, .name = ""});
    }
};

TEST_F(Collectives, ABarrierHoldsUntilAllHaveJoinedAndEntered) {
    const ClientId a = member("j", 0, 3), b = member("j", 1, 3);
    enter_barrier(a);
    enter_barrier(b);
    EXPECT_TRUE(silent(a));
    const ClientId c = member("j", 2, 3);
    EXPECT_TRUE(silent(a));
    enter_barrier(c);
    for (ClientId id : {a, b, c}) {
        hear(id, Type::Gathered);
    }
}

TEST_F(Collectives, AGatheringGivesAllToAll) {
    const ClientId a = member("j", 0, 2), b = member("j", 1, 2);
    enter(b, "from b");
    enter(a, "");
    for (ClientId id : {a, b}) {
        const auto all = hear_items(id, Type::Gathered);
        EXPECT_EQ(all, (std::map<uint32_t, std::string>{{0, ""}, {1, "from b"}}));
    }
}

TEST_F(Collectives, LargeGatheringsComeInParts) {
    std::vector<ClientId> ids;
    for (uint32_t rank = 0; rank < 8; ++rank) {
        ids.push_back(member("j", rank, 8));
    }
    for (uint32_t rank = 0; rank < 8; ++rank) {
        enter(ids[rank], std::string(40000, static_cast<char>('a' + rank)));
    }
    const auto all = hear_items(ids[5], Type::Gathered);
    ASSERT_EQ(all.size(), 8u);
    for (const auto& [rank, value] : all) {
        EXPECT_EQ(value, std::string(40000, static_cast<char>('a' + rank)));
    }
}

TEST_F(Collectives, LabelsDoNotMeet) {
    const ClientId a = member("j", 0, 2), b = member("j", 1, 2);
    enter(a, "1", "x");
    enter(b, "2", "y");
    EXPECT_TRUE(silent(a));
    enter(b, "3", "x");
    EXPECT_EQ(hear_items(a, Type::Gathered).at(1), "3");
}

TEST_F(Collectives, AFailureEndsThemForAllAndForThoseWhoComeLater) {
    const ClientId a = member("j", 0, 3), b = member("j", 1, 3), c = member("j", 2, 3);
    enter_barrier(a);
    registry().close(c, "killed", now);
    EXPECT_NE(hear_failure(a, ErrorCode::PeerGone).find("rank 2 failed"), std::string::npos);
    enter_barrier(b);
    hear_failure(b, ErrorCode::PeerGone);
    // A new member takes its place, and the next barrier works.
    const ClientId again = member("j", 2, 3);
    for (ClientId id : {a, b, again}) {
        skip_events(id);
        enter_barrier(id);
    }
    for (ClientId id : {a, b, again}) {
        hear(id, Type::Gathered);
    }
}

TEST_F(Collectives, AJobThatShrinksGoesOnWithoutTheFailed) {
    const ClientId a = member("j", 0, 3, "", shrink), b = member("j", 1, 3), c = member("j", 2, 3);
    enter(a, "a");
    enter(b, "b");
    registry().close(c, "killed", now);
    EXPECT_EQ(hear_items(a, Type::Gathered).size(), 2u);
    EXPECT_EQ(hear_items(b, Type::Gathered).size(), 2u);
}

TEST_F(Collectives, WhoLeavesIsNotWaitedFor) {
    const ClientId a = member("j", 0, 2), b = member("j", 1, 2);
    enter_barrier(a);
    ask(b, {.type = Type::Leave});
    hear(a, Type::Gathered);
}

TEST_F(Collectives, OpenJobsCountWhoIsThere) {
    const ClientId a = member("j"), b = member("j");
    enter(a, "a");
    const ClientId c = member("j");
    enter(b, "b");
    EXPECT_TRUE(silent(a));
    enter(c, "c");
    EXPECT_EQ(hear_items(a, Type::Gathered).size(), 3u);
}

TEST_F(Collectives, BarriersAndGatheringsDoNotMix) {
    const ClientId a = member("j", 0, 2), b = member("j", 1, 2);
    enter_barrier(a);
    enter(b, "x");
    hear_failure(b, ErrorCode::Argument);
    EXPECT_TRUE(silent(a));
    enter_barrier(b);
    hear(a, Type::Gathered);
}

TEST_F(Collectives, EnteringTwiceIsRefused) {
    const ClientId a = member("j", 0, 2);
    enter_barrier(a);
    enter_barrier(a);
    hear_failure(a, ErrorCode::Argument);
}

TEST_F(Collectives, CancelNamesWhoIsMissing) {
    const ClientId a = member("j", 0, 8);
    for (uint32_t rank : {1u, 2u, 3u, 6u}) {
        member("j", rank, 8);
    }
    const uint32_t request = enter_barrier(a);
    ask(a, {.type = Type::Cancel, .rank = request});
    EXPECT_EQ(hear(a, Type::Done).message.text,
              "not in it: rank 1 to 3, 6; not joined: rank 4, 5, 7");
    enter_barrier(a);  // a may enter again
    EXPECT_TRUE(silent(a));
}

TEST_F(Collectives, WhatIsGatheredCountsAgainstTheStore) {
    limits.job_store = 1600;
    const ClientId a = member("j", 0, 2), b = member("j", 1, 2);
    enter(a, std::string(600, 'a'));
    enter(b, std::string(600, 'b'));
    hear_failure(b, ErrorCode::Limit);
    enter(b, std::string(400, 'b'));
    EXPECT_EQ(hear_items(a, Type::Gathered).size(), 2u);
    hear_items(b, Type::Gathered);
    enter(a, std::string(1000, 'a'));  // all the memory is free again
    EXPECT_TRUE(silent(a));
}

// Barriers have no values, but they store labels and one bit per rank.
TEST_F(Collectives, BarriersThatWaitCountAgainstTheStore) {
    limits.job_store = 40'000;
    const ClientId a = member("j", 0, 2);
    const auto barrier_of = [&](int n) {
        return ask(a, {.type = Type::Gather,
                       .options = barrier,
                       .name = std::string(1000, 'l') + std::to_string(n)});
    };
    int entered = 0;
    uint32_t last = 0;
    for (; entered < 60; ++entered) {
        last = barrier_of(entered);
        if (!silent(a)) {
            break;
        }
    }
    EXPECT_LT(entered, 40) << "of 1,000 bytes and more";
    hear_failure(a, ErrorCode::Limit);
    const size_t held = registry().bytes();
    EXPECT_GT(held, size_t{30'000});
    ask(a, {.type = Type::Cancel, .rank = last - 1});
    hear(a, Type::Done);
    EXPECT_LT(registry().bytes(), held - 1000);
    ask(a, {.type = Type::Leave});
    hear(a, Type::Done);
    EXPECT_EQ(registry().bytes(), 0u);
}

TEST_F(Collectives, WhoLeavesCompletesThoseThatAllOthersAreIn) {
    const ClientId a = member("j"), b = member("j"), c = member("j");
    const auto enter_as = [&](ClientId id, const std::string& label) {
        return ask(id, {.type = Type::Gather, .options = barrier, .name = label});
    };
    const uint32_t one = enter_as(a, "1"), two = enter_as(a, "2");
    enter_as(b, "1");
    enter_as(b, "3");
    ask(c, {.type = Type::Leave});
    EXPECT_EQ(hear(a, Type::Gathered).message.request, one);
    EXPECT_TRUE(silent(a)) << "2 waits for b";
    ask(b, {.type = Type::Leave});
    EXPECT_EQ(hear(a, Type::Gathered).message.request, two);
}

TEST(RankSets, AreListedInRuns) {
    RankSet ranks;
    EXPECT_EQ(rank_list(ranks), "");
    for (uint32_t rank : {0U, 1U, 5U, 63U, 64U, 65U, 127U}) {
        ranks.add(rank);
    }
    EXPECT_EQ(rank_list(ranks), "0, 1, 5, 63 to 65, 127");
    EXPECT_EQ(ranks.count(), 7u);
    for (uint32_t rank = 200; rank < 300; rank += 2) {
        ranks.add(rank);
    }
    EXPECT_EQ(rank_list(ranks), "0, 1, 5, 63 to 65, 127, 200, 202, 204, 206 and 46 more");
    const RankSet few = RankSet::below(66);
    EXPECT_EQ(rank_list(few.without(ranks)), "2 to 4, 6 to 62");
    EXPECT_EQ(rank_list(few.both(ranks)), "0, 1, 5, 63 to 65");
    EXPECT_TRUE(few.without(few).empty());
    EXPECT_EQ(rank_list(RankSet::below(64)), "0 to 63");
}

}  // namespace
}  // namespace qpx::service
