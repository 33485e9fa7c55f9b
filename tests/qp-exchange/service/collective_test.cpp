// SPDX-License-Identifier: BSD-2-Clause
// Barriers and gatherings.
#include "harness.h"

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
    enter_barrier(a);  // may enter again
    EXPECT_TRUE(silent(a));
}

TEST_F(Collectives, WhatIsGatheredCountsAgainstTheStore) {
    limits.job_store = 100;
    const ClientId a = member("j", 0, 2), b = member("j", 1, 2);
    enter(a, std::string(60, 'a'));
    enter(b, std::string(60, 'b'));
    hear_failure(b, ErrorCode::Limit);
    enter(b, std::string(40, 'b'));
    EXPECT_EQ(hear_items(a, Type::Gathered).size(), 2u);
    hear_items(b, Type::Gathered);
    enter(a, std::string(100, 'a'));  // all of it is free again
    EXPECT_TRUE(silent(a));
}

}  // namespace
}  // namespace qpx::service
