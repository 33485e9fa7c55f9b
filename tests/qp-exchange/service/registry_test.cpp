// SPDX-License-Identifier: BSD-2-Clause
// Tests of the registry: jobs, ranks, names, leaving, failures, events.
#include "harness.h"

namespace qpx::service {
namespace {

using Members = RegistryTest;

std::vector<Record> records_of(const Heard& heard) {
    return read_records(heard.message.records);
}

TEST_F(Members, RanksAreGivenFromZero) {
    for (uint32_t rank = 0; rank < 3; ++rank) {
        const ClientId id = open();
        ask(id, {.type = Type::Join, .size = 3, .job = "j"});
        const Heard joined = hear(id, Type::Joined);
        EXPECT_EQ(joined.message.rank, rank);
        EXPECT_EQ(joined.message.size, 3u);
    }
    const ClientId fourth = open();
    ask(fourth, {.type = Type::Join, .size = 3, .job = "j"});
    EXPECT_NE(hear_failure(fourth, ErrorCode::Limit).find("taken"), std::string::npos);
}

TEST_F(Members, ARankCanBeTakenOnce) {
    member("j", 1, 2);
    const ClientId second = open();
    ask(second, {.type = Type::Join, .rank = 1, .size = 2, .job = "j"});
    EXPECT_NE(hear_failure(second, ErrorCode::Refused).find("192.0.2.1"), std::string::npos);
}

TEST_F(Members, SizesMustAgree) {
    member("j", 0, 4);
    const ClientId other = open();
    ask(other, {.type = Type::Join, .rank = 1, .size = 5, .job = "j"});
    hear_failure(other, ErrorCode::Argument);
    ask(other, {.type = Type::Join, .rank = 4, .size = 4, .job = "j"});
    hear_failure(other, ErrorCode::Argument);
    ask(other, {.type = Type::Join, .rank = 1, .job = "j"});  // uses the job's size
    EXPECT_EQ(hear(other, Type::Joined).message.size, 4u);
}

TEST_F(Members, AJoinThatIsRefusedLeavesNoJob) {
    const ClientId id = open();
    ask(id, {.type = Type::Join, .rank = 9, .size = 4, .job = "j"});
    hear_failure(id, ErrorCode::Argument);
    EXPECT_EQ(registry().jobs(), 0u);
}

TEST_F(Members, NamesAreUniqueWhileTheirMemberIsThere) {
    const ClientId a = member("j", any_rank, 0, "store");
    const ClientId b = open();
    ask(b, {.type = Type::Join, .job = "j", .name = "store"});
    hear_failure(b, ErrorCode::Refused);
    member("j");  // keeps the job alive
    registry().close(a, "gone", now);
    ask(b, {.type = Type::Join, .job = "j", .name = "store"});
    EXPECT_EQ(hear(b, Type::Joined).message.rank, 0u);
}

TEST_F(Members, TheListHasRanksNamesAndStates) {
    const ClientId a = member("j", any_rank, 0, "one");
    const ClientId b = member("j", any_rank, 0, "two");
    const ClientId c = member("j");
    ask(b, {.type = Type::Leave});
    registry().close(c, "reset", now);
    skip_events(a);
    ask(a, {.type = Type::Members});
    const Heard list = hear(a, Type::MemberList);
    const auto members = records_of(list);
    ASSERT_EQ(members.size(), 3u);
    EXPECT_EQ(members[0].kind, EventKind::Joined);
    EXPECT_EQ(members[0].name, "one");
    EXPECT_EQ(members[1].kind, EventKind::Left);
    EXPECT_EQ(members[2].kind, EventKind::Failed);
}

TEST_F(Members, WhoAsksForTheSameListHasTheSameCopy) {
    std::vector<ClientId> all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(member("j", any_rank, 0, std::string(200, static_cast<char>('a' + i))));
        pull(all.back());
    }
    ask(all[0], {.type = Type::Members});
    const size_t one = registry().unread_bytes();
    EXPECT_GT(one, size_t{4000});
    for (size_t i = 1; i < all.size(); ++i) {
        ask(all[i], {.type = Type::Members});
    }
    EXPECT_LT(registry().unread_bytes(), 2 * one);
    // The next list contains a new member.
    const ClientId late = member("j", any_rank, 0, "late");
    ask(late, {.type = Type::Members});
    const Heard list = hear(late, Type::MemberList);
    EXPECT_EQ(records_of(list).size(), 21u);
}

TEST_F(Members, AFailureIsToldAtOnceWithItsReason) {
    const ClientId a = member("j", 0, 2);
    const ClientId b = member("j", 1, 2, "b");
    skip_events(a);
    now += std::chrono::milliseconds(1);
    registry().close(b, "connection reset", now);
    registry().tick(now);
    const Heard told = hear(a, Type::Events);
    const auto events = records_of(told);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, EventKind::Failed);
    EXPECT_EQ(events[0].rank, 1u);
    EXPECT_EQ(events[0].name, "b");
    EXPECT_EQ(events[0].text, "connection reset");
}

TEST_F(Members, AReasonOfAnyLengthIsTold) {
    const ClientId a = member("j", 0, 3), b = member("j", 1, 3), c = member("j", 2, 3);
    skip_events(b);
    skip_events(c);
    registry().close(a, std::string(70'000, 'a'), now);
    registry().tick(now + std::chrono::seconds(1));
    for (const ClientId id : {b, c}) {
        const Heard told = hear(id, Type::Events);
        const auto events = records_of(told);
        ASSERT_EQ(events.size(), 1u);
        EXPECT_EQ(events[0].kind, EventKind::Failed);
        EXPECT_EQ(events[0].rank, 0u);
        EXPECT_EQ(events[0].text, std::string(UINT16_MAX, 'a'));
        EXPECT_TRUE(silent(id));
    }
}

TEST_F(Members, ManyJoinsAreToldTogether) {
    const ClientId first = member("j");
    for (int i = 0; i < 100; ++i) {
        member("j");
    }
    registry().tick(now);
    EXPECT_TRUE(silent(first));
    now += Registry::event_delay;
    registry().tick(now);
    const Heard told = hear(first, Type::Events);
    EXPECT_EQ(records_of(told).size(), 100u);
    EXPECT_TRUE(silent(first));
    EXPECT_FALSE(registry().next_tick());
}

TEST_F(Members, ManyFailuresAreToldInFewRounds) {
    const ClientId first = member("j");
    std::vector<ClientId> others;
    for (int i = 0; i < 100; ++i) {
        others.push_back(member("j"));
    }
    skip_events(first);
    size_t rounds = 0, told = 0;
    for (const ClientId other : others) {
        now += std::chrono::microseconds(100);
        registry().close(other, "killed", now);
        registry().tick(now);
        if (!silent(first)) {
            ++rounds;
            told += records_of(hear(first, Type::Events)).size();
        }
    }
    EXPECT_GE(rounds, 1u);
    EXPECT_LE(rounds, 20u);
    now += std::chrono::seconds(1);
    registry().tick(now);
    if (!silent(first)) {
        told += records_of(hear(first, Type::Events)).size();
    }
    EXPECT_EQ(told, 100u);
}

TEST_F(Members, ALateJoinerHearsOnlyWhatFollows) {
    const ClientId a = member("j");
    now += Registry::event_delay;
    registry().tick(now);
    const ClientId b = member("j");
    now += Registry::event_delay;
    registry().tick(now);
    EXPECT_TRUE(silent(b));
    EXPECT_EQ(records_of(hear(a, Type::Events)).size(), 1u);
}

TEST_F(Members, WhoDoesNotReadLosesEventsAndIsToldSo) {
    limits.event_log = 1000;
    const ClientId slow = member("j");
    ask(slow, {.type = Type::Members});  // an answer that is not read
    for (int i = 0; i < 200; ++i) {
        const ClientId id = member("j");
        now += std::chrono::seconds(1);
        registry().tick(now);
        ask(id, {.type = Type::Leave});
    }
    now += std::chrono::seconds(1);
    registry().tick(now);
    hear(slow, Type::MemberList);
    EXPECT_NE(hear(slow, Type::Events).message.options & events_lost, 0u);
    EXPECT_EQ(registry().counters().events_lost, 1u);
}

TEST_F(Members, AFailedRankCanBeTakenAgain) {
    member("j", 0, 2);
    const ClientId old = member("j", 1, 2);
    registry().close(old, "killed", now);
    const ClientId again = open();
    ask(again, {.type = Type::Join, .size = 2, .job = "j"});
    const Heard joined = hear(again, Type::Joined);
    EXPECT_EQ(joined.message.rank, 1u);
    EXPECT_EQ(joined.message.incarnation, 2u);
}

TEST_F(Members, TheJobEndsWithItsLastMember) {
    const ClientId a = member("j", 0, 2), b = member("j", 1, 2);
    ask(a, {.type = Type::Put, .keys = {"k"}, .value = bytes_of("v")});
    ask(a, {.type = Type::Leave});
    EXPECT_EQ(registry().jobs(), 1u);
    registry().close(b, "killed", now);
    EXPECT_EQ(registry().jobs(), 0u);
    // A later member starts a new job.
    const ClientId c = member("j", 0, 7);
    ask(c, {.type = Type::Get, .options = no_wait, .keys = {"k"}});
    EXPECT_EQ(hear(c, Type::Value).message.options & exists, 0u);
}

TEST_F(Members, AConnectionMayJoinAnotherJobAfterItLeft) {
    const ClientId a = member("j");
    ask(a, {.type = Type::Leave});
    hear(a, Type::Done);
    ask(a, {.type = Type::Join, .job = "k"});
    hear(a, Type::Joined);
}

TEST_F(Members, WhoMayNotJoinIsRefused) {
    authorize = [](std::string_view identity, std::string_view job) {
        return identity == "alice" && job == "hers";
    };
    const ClientId bob = open("bob"), alice = open("alice");
    ask(bob, {.type = Type::Join, .job = "hers"});
    hear_failure(bob, ErrorCode::Auth);
    ask(alice, {.type = Type::Join, .job = "his"});
    hear_failure(alice, ErrorCode::Auth);
    ask(alice, {.type = Type::Join, .job = "hers"});
    hear(alice, Type::Joined);
    EXPECT_EQ(registry().counters().refused_auth, 2u);
}

TEST_F(Members, JobsOfOneServiceDoNotMeet) {
    const ClientId a = member("j", 0, 1), b = member("k", 0, 1);
    ask(a, {.type = Type::Put, .keys = {"x"}, .value = bytes_of("1")});
    ask(b, {.type = Type::Get, .options = no_wait, .keys = {"x"}});
    EXPECT_EQ(hear(b, Type::Value).message.options & exists, 0u);
}

TEST_F(Members, LimitsOfJobsRanksAndNames) {
    limits.max_jobs = 1;
    limits.max_ranks = 10;
    limits.max_key = 8;
    member("j");
    const ClientId id = open();
    ask(id, {.type = Type::Join, .job = "k"});
    hear_failure(id, ErrorCode::Limit);
    ask(id, {.type = Type::Join, .job = "123456789"});
    hear_failure(id, ErrorCode::Argument);
    ask(id, {.type = Type::Join, .job = "j", .name = std::string(256, 'n')});
    hear_failure(id, ErrorCode::Argument);
    ask(id, {.type = Type::Join, .rank = 10, .job = "j"});
    hear_failure(id, ErrorCode::Argument);
}

TEST_F(Members, RequestsMayNotComeTwice) {
    const ClientId id = member("j");
    EXPECT_THROW(say(id, {.type = Type::Members, .request = 1}), Error);
}

TEST_F(Members, NothingGoesBeforeJoin) {
    const ClientId id = open();
    EXPECT_THROW(ask(id, {.type = Type::Put, .keys = {"k"}, .value = bytes_of("v")}), Error);
    EXPECT_THROW(ask(id, {.type = Type::Leave}), Error);
    EXPECT_THROW(ask(id, {.type = Type::Exchange, .items = {}}), Error);
}

TEST_F(Members, AnswersAreNoRequests) {
    const ClientId id = member("j");
    EXPECT_THROW(ask(id, {.type = Type::Joined, .rank = 0}), Error);
}

TEST_F(Members, JoiningTwiceEndsTheConnection) {
    const ClientId id = member("j");
    EXPECT_THROW(ask(id, {.type = Type::Join, .job = "j"}), Error);
}

TEST_F(Members, StatusIsJsonOfJobsAndCounters) {
    const ClientId id = member("j", 0, 2);
    member("j", 1, 2);
    ask(id, {.type = Type::Status});
    const Heard heard = hear(id, Type::Gathered);
    const std::string text(text_of(heard.message.items));
    EXPECT_NE(text.find("\"job\": \"j\""), std::string::npos);
    EXPECT_NE(text.find("\"here\": 2"), std::string::npos);
    EXPECT_NE(text.find("\"joins\": 2"), std::string::npos);
}

}  // namespace
}  // namespace qpx::service
