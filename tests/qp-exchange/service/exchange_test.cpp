// SPDX-License-Identifier: BSD-2-Clause
// Tests of the all-to-all exchange in the registry.
#include "harness.h"

namespace qpx::service {
namespace {

using Exchange = RegistryTest;
using All = std::map<uint32_t, std::string>;

TEST_F(Exchange, EachGetsWhatEachSentToIt) {
    constexpr uint32_t size = 70;
    std::vector<ClientId> ids;
    for (uint32_t rank = 0; rank < size; ++rank) {
        ids.push_back(member("j", rank, size));
    }
    for (uint32_t rank = 0; rank < size; ++rank) {
        std::vector<uint32_t> to;
        for (uint32_t peer = 0; peer < size; ++peer) {
            if (peer != rank) {
                to.push_back(peer);
            }
        }
        exchange(ids[rank], rank, to);
    }
    for (uint32_t rank = 0; rank < size; ++rank) {
        std::vector<uint32_t> gone;
        const All all = hear_items(ids[rank], Type::Exchanged, &gone);
        EXPECT_TRUE(gone.empty());
        ASSERT_EQ(all.size(), size - 1);
        for (const auto& [from, item] : all) {
            EXPECT_EQ(item, std::to_string(from) + ">" + std::to_string(rank));
        }
    }
    EXPECT_EQ(registry().counters().endpoints, uint64_t{size} * (size - 1));
    EXPECT_EQ(registry().status_json().find("\"exchange_bytes\": 0") == std::string::npos, false);
}

TEST_F(Exchange, ItWaitsForThoseWhoHaveNotJoined) {
    const ClientId a = member("j", 0, 2);
    exchange(a, 0, {1});
    EXPECT_TRUE(silent(a));
    const ClientId b = member("j", 1, 2);
    exchange(b, 1, {0});
    EXPECT_EQ(hear_items(b, Type::Exchanged), (All{{0, "0>1"}}));
    EXPECT_EQ(hear_items(a, Type::Exchanged), (All{{1, "1>0"}}));
}

TEST_F(Exchange, OneMemberMayBeOneExchangeAhead) {
    const ClientId a = member("j", 0, 3), b = member("j", 1, 3), c = member("j", 2, 3);
    exchange(a, 0, {1, 2});
    exchange(b, 1, {0});  // complete for b, a still waits for c
    EXPECT_EQ(hear_items(b, Type::Exchanged), (All{{0, "0>1"}}));
    exchange(b, 1, {0});
    EXPECT_TRUE(silent(a));
    exchange(c, 2, {0});
    EXPECT_EQ(hear_items(a, Type::Exchanged), (All{{1, "1>0"}, {2, "2>0"}}));
    EXPECT_TRUE(silent(b));
    exchange(a, 0, {1});
    EXPECT_EQ(hear_items(a, Type::Exchanged), (All{{1, "1>0"}}));
    EXPECT_EQ(hear_items(b, Type::Exchanged), (All{{0, "0>1"}}));
}

TEST_F(Exchange, ItMayComeInParts) {
    const ClientId a = member("j", 0, 3), b = member("j", 1, 3), c = member("j", 2, 3);
    exchange(b, 1, {0});
    exchange(c, 2, {0});
    Bytes first, second;
    append_item(first, 1, view_of("to b"));
    append_item(second, 2, view_of("to c"));
    say(a, {.type = Type::Exchange, .request = 7, .items = first});
    EXPECT_EQ(hear_items(b, Type::Exchanged), (All{{0, "to b"}}));
    EXPECT_TRUE(silent(a));
    say(a, {.type = Type::Exchange, .request = 7, .options = last_part, .items = second});
    EXPECT_EQ(hear_items(a, Type::Exchanged), (All{{1, "1>0"}, {2, "2>0"}}));
}

TEST_F(Exchange, OneThatLacksItsLastPartIsNotContinuedByTheNext) {
    const ClientId a = member("j", 0, 3), b = member("j", 1, 3), c = member("j", 2, 3);
    Bytes first, other;
    append_item(first, 1, view_of("first"));
    append_item(other, 2, view_of("other"));
    say(a, {.type = Type::Exchange, .request = 7, .items = first});
    say(a, {.type = Type::Exchange, .request = 8, .options = last_part, .items = other});
    hear_failure(a, ErrorCode::Argument);
    say(a, {.type = Type::Cancel, .request = 9, .rank = 7});
    hear(a, Type::Done);
    exchange(c, 2, {0});
    EXPECT_TRUE(silent(c));
    exchange(b, 1, {0});
    EXPECT_TRUE(silent(b));
    append_item(other, 1, view_of("again"));
    say(a, {.type = Type::Exchange, .request = 10, .options = last_part, .items = other});
    EXPECT_EQ(hear_items(a, Type::Exchanged), (All{{1, "1>0"}, {2, "2>0"}}));
    EXPECT_EQ(hear_items(b, Type::Exchanged), (All{{0, "again"}}));
    EXPECT_EQ(hear_items(c, Type::Exchanged), (All{{0, "other"}}));
}

TEST_F(Exchange, WhoFailsIsReportedAndTheOthersArrive) {
    const ClientId a = member("j", 0, 4), b = member("j", 1, 4), c = member("j", 2, 4);
    const ClientId d = member("j", 3, 4);
    exchange(a, 0, {1, 2, 3});
    exchange(b, 1, {0, 2, 3});
    exchange(d, 3, {0, 1, 2});
    registry().close(c, "killed", now);  // sent nothing
    for (ClientId id : {a, b, d}) {
        std::vector<uint32_t> gone;
        EXPECT_EQ(hear_items(id, Type::Exchanged, &gone).size(), 2u);
        EXPECT_EQ(gone, (std::vector<uint32_t>{2}));
    }
}

TEST_F(Exchange, WhatAFailedMemberSentIsNotDelivered) {
    const ClientId a = member("j", 0, 3), b = member("j", 1, 3), c = member("j", 2, 3);
    exchange(c, 2, {0, 1});
    exchange(a, 0, {1, 2});
    registry().close(c, "killed", now);
    exchange(b, 1, {0, 2});
    for (ClientId id : {a, b}) {
        skip_events(id);
        std::vector<uint32_t> gone;
        EXPECT_EQ(hear_items(id, Type::Exchanged, &gone).size(), 1u);
        EXPECT_EQ(gone, (std::vector<uint32_t>{2}));
    }
}

TEST_F(Exchange, WhatALeaverSentIsDelivered) {
    const ClientId a = member("j", 0, 2), b = member("j", 1, 2);
    exchange(a, 0, {1});
    exchange(b, 1, {0});
    hear_items(b, Type::Exchanged);
    exchange(b, 1, {0});
    ask(b, {.type = Type::Leave});
    std::vector<uint32_t> gone;
    EXPECT_EQ(hear_items(a, Type::Exchanged, &gone), (All{{1, "1>0"}}));
    skip_events(a);
    exchange(a, 0, {1});
    EXPECT_EQ(hear_items(a, Type::Exchanged, &gone), (All{{1, "1>0"}}));
    EXPECT_TRUE(gone.empty());
    exchange(a, 0, {1});
    EXPECT_TRUE(hear_items(a, Type::Exchanged, &gone).empty());
    EXPECT_EQ(gone, (std::vector<uint32_t>{1}));
}

TEST_F(Exchange, WhoTakesAFailedRankMeetsTheOthersAfresh) {
    const ClientId a = member("j", 0, 2), old = member("j", 1, 2);
    exchange(old, 1, {0});
    registry().close(old, "killed", now);
    const ClientId fresh = member("j", 1, 2);
    skip_events(a);
    exchange(a, 0, {1});
    EXPECT_TRUE(silent(a));
    exchange(fresh, 1, {0});
    std::vector<uint32_t> gone;
    EXPECT_EQ(hear_items(a, Type::Exchanged, &gone), (All{{1, "1>0"}}));
    EXPECT_EQ(hear_items(fresh, Type::Exchanged, &gone), (All{{0, "0>1"}}));
    EXPECT_TRUE(gone.empty());
}

TEST_F(Exchange, FailureBetweenTwoPartsIsReported) {
    const ClientId a = member("j", 0, 3), b = member("j", 1, 3), c = member("j", 2, 3);
    exchange(b, 1, {0});
    exchange(c, 2, {0});
    Bytes first, second;
    append_item(first, 1, view_of("x"));
    append_item(second, 2, view_of("y"));
    say(a, {.type = Type::Exchange, .request = 7, .items = first});
    registry().close(b, "killed", now);
    registry().close(c, "killed", now);
    skip_events(a);
    say(a, {.type = Type::Exchange, .request = 7, .options = last_part, .items = second});
    std::vector<uint32_t> gone;
    EXPECT_TRUE(hear_items(a, Type::Exchanged, &gone).empty());
    EXPECT_EQ(gone, (std::vector<uint32_t>{1, 2}));
}

TEST_F(Exchange, ALateJoinerExchangesWithThoseItNames) {
    const ClientId a = member("j"), b = member("j");
    exchange(a, 0, {1});
    exchange(b, 1, {0});
    hear_items(a, Type::Exchanged);
    hear_items(b, Type::Exchanged);
    const ClientId late = member("j");
    exchange(late, 2, {0, 1});
    exchange(a, 0, {2});
    exchange(b, 1, {2});
    EXPECT_EQ(hear_items(late, Type::Exchanged), (All{{0, "0>2"}, {1, "1>2"}}));
}

TEST_F(Exchange, WithItself) {
    const ClientId a = member("j", 0, 1);
    exchange(a, 0, {0});
    EXPECT_EQ(hear_items(a, Type::Exchanged), (All{{0, "0>0"}}));
}

TEST_F(Exchange, WithNobodyIsDoneAtOnce) {
    const ClientId a = member("j", 0, 1);
    exchange(a, 0, {});
    EXPECT_TRUE(hear_items(a, Type::Exchanged).empty());
}

TEST_F(Exchange, BadRanksAreRefusedWhole) {
    const ClientId a = member("j", 0, 3), b = member("j", 1, 3);
    exchange(a, 0, {1, 3});
    hear_failure(a, ErrorCode::Argument);
    exchange(a, 0, {1, 1});
    hear_failure(a, ErrorCode::Argument);
    exchange(b, 1, {0});
    EXPECT_TRUE(silent(b));  // no item of the refused exchanges has arrived
    exchange(a, 0, {1});
    EXPECT_EQ(hear_items(b, Type::Exchanged), (All{{0, "0>1"}}));
    const ClientId open_member = member("k");
    exchange(open_member, 0, {1});
    hear_failure(open_member, ErrorCode::Argument);
}

TEST_F(Exchange, ARefusedPartTakesTheOthersWithIt) {
    const ClientId a = member("j", 0, 2), b = member("j", 1, 2);
    Bytes good, bad;
    append_item(good, 1, view_of("x"));
    append_item(bad, 9, view_of("x"));
    say(a, {.type = Type::Exchange, .request = 7, .items = good});
    say(a, {.type = Type::Exchange, .request = 7, .items = bad});
    hear_failure(a, ErrorCode::Argument);
    say(a, {.type = Type::Exchange, .request = 7, .options = last_part, .items = {}});
    EXPECT_TRUE(silent(a));
    exchange(b, 1, {0});
    EXPECT_TRUE(silent(b));
}

TEST_F(Exchange, BrokenPackingEndsTheConnection) {
    const ClientId a = member("j", 0, 2), b = member("j", 1, 2);
    Bytes items;
    append_item(items, 1, view_of("abcdef"));
    items.pop_back();
    EXPECT_THROW(ask(a, {.type = Type::Exchange, .options = last_part, .items = items}), Error);
    items.resize(5);
    EXPECT_THROW(ask(b, {.type = Type::Exchange, .options = last_part, .items = items}), Error);
}

TEST_F(Exchange, LimitsOfMemberAndJob) {
    limits.client_exchange = 100;
    limits.job_exchange = 150;
    limits.max_value = 90;
    const ClientId a = member("j", 0, 3), b = member("j", 1, 3);
    const auto send = [&](ClientId id, size_t bytes) {
        Bytes items;
        append_item(items, 2, Bytes(bytes));
        ask(id, {.type = Type::Exchange, .options = last_part, .items = items});
    };
    send(a, 91);
    hear_failure(a, ErrorCode::Limit);
    send(a, 90);
    EXPECT_TRUE(silent(a));
    send(b, 90);
    hear_failure(b, ErrorCode::Limit);
    registry().close(a, "killed", now);
    skip_events(b);
    send(b, 90);  // the memory of the failed member's items is free
    EXPECT_TRUE(silent(b));
}

TEST_F(Exchange, CancelNamesWhoIsMissing) {
    const ClientId a = member("j", 0, 4), b = member("j", 1, 4), c = member("j", 2, 4);
    exchange(b, 1, {0});
    const uint32_t request = exchange(a, 0, {1, 2, 3});
    ask(a, {.type = Type::Cancel, .rank = request});
    EXPECT_EQ(hear(a, Type::Done).message.text,
              "not joined: rank 3; no endpoint for this member from rank 2");
    // c is told that a gave up, instead of getting an endpoint that is not served.
    exchange(c, 2, {0});
    EXPECT_TRUE(silent(c));
}

/// An exchange whose items contain the number of the attempt: "FROM>TO#TRY".
void try_exchange(RegistryTest& test, ClientId id, uint32_t from, const std::vector<uint32_t>& to,
                  int attempt, uint32_t* request = nullptr) {
    Bytes items;
    for (uint32_t rank : to) {
        append_item(items, rank,
                    view_of(std::to_string(from) + ">" + std::to_string(rank) + "#" +
                            std::to_string(attempt)));
    }
    const uint32_t number =
        test.ask(id, {.type = Type::Exchange, .options = last_part, .items = items});
    if (request != nullptr) {
        *request = number;
    }
}

TEST_F(Exchange, ACancelledExchangeThatIsCompleteIsDeliveredFirst) {
    const ClientId a = member("j", 0, 2), b = member("j", 1, 2);
    uint32_t request = 0;
    try_exchange(*this, a, 0, {1}, 1, &request);
    try_exchange(*this, b, 1, {0}, 1);
    ask(a, {.type = Type::Cancel, .rank = request});
    EXPECT_EQ(hear_items(a, Type::Exchanged), (All{{1, "1>0#1"}}));
    const Heard done = hear(a, Type::Done);
    EXPECT_EQ(done.message.request, request + 1);
    EXPECT_EQ(done.message.text, "");
    EXPECT_TRUE(silent(a));
    EXPECT_EQ(hear_items(b, Type::Exchanged), (All{{0, "0>1#1"}}));
    try_exchange(*this, a, 0, {1}, 2);
    try_exchange(*this, b, 1, {0}, 2);
    EXPECT_EQ(hear_items(a, Type::Exchanged), (All{{1, "1>0#2"}}));
    EXPECT_EQ(hear_items(b, Type::Exchanged), (All{{0, "0>1#2"}}));
}

TEST_F(Exchange, ACancelBetweenTwoPartsIsAnsweredAfterTheLast) {
    const ClientId a = open("", 70'000), b = member("j", 1, 3), c = member("j", 2, 3);
    ask(a, {.type = Type::Join, .rank = 0, .size = 3, .job = "j"});
    hear(a, Type::Joined);
    skip_events(a);
    Bytes large, mine;
    append_item(large, 0, Bytes(60'000));
    append_item(mine, 1, {});
    append_item(mine, 2, {});
    ask(b, {.type = Type::Exchange, .options = last_part, .items = large});
    ask(c, {.type = Type::Exchange, .options = last_part, .items = large});
    const uint32_t request = ask(a, {.type = Type::Exchange, .options = last_part, .items = mine});
    pull(a, 1);  // the first part
    ask(a, {.type = Type::Cancel, .rank = request});
    ask(a, {.type = Type::Cancel, .rank = request});
    EXPECT_EQ(hear(a, Type::Exchanged).message.options & last_part, 0u);
    EXPECT_EQ(hear(a, Type::Done).message.request, request + 2);
    EXPECT_EQ(hear(a, Type::Exchanged).message.options & last_part, uint32_t{last_part});
    EXPECT_EQ(hear(a, Type::Done).message.request, request + 1);
    EXPECT_TRUE(silent(a));
}

TEST_F(Exchange, AfterATimeoutNewItemsMeetNewItems) {
    const ClientId a = member("j", 0, 3), b = member("j", 1, 3);
    member("j", 2, 3);  // c never answers
    uint32_t first = 0;
    try_exchange(*this, a, 0, {1, 2}, 1, &first);
    try_exchange(*this, b, 1, {0}, 1);
    EXPECT_EQ(hear_items(b, Type::Exchanged), (All{{0, "0>1#1"}}));
    ask(a, {.type = Type::Cancel, .rank = first});
    EXPECT_NE(std::string(hear(a, Type::Done).message.text).find("rank 2"), std::string::npos);
    // Both start again, as after a timeout on both sides.
    for (int attempt = 2; attempt < 4; ++attempt) {
        const std::string tag = "#" + std::to_string(attempt);
        try_exchange(*this, a, 0, {1}, attempt);
        EXPECT_TRUE(silent(a)) << "what b gave for the first try met try " << attempt;
        try_exchange(*this, b, 1, {0}, attempt);
        EXPECT_EQ(hear_items(a, Type::Exchanged), (All{{1, "1>0" + tag}}));
        EXPECT_EQ(hear_items(b, Type::Exchanged), (All{{0, "0>1" + tag}}));
    }
}

TEST_F(Exchange, AfterATimeoutThePeerMayBeginFirst) {
    const ClientId a = member("j", 0, 3), b = member("j", 1, 3);
    member("j", 2, 3);
    uint32_t first = 0;
    try_exchange(*this, a, 0, {1, 2}, 1, &first);
    try_exchange(*this, b, 1, {0}, 1);
    hear_items(b, Type::Exchanged);
    ask(a, {.type = Type::Cancel, .rank = first});
    hear(a, Type::Done);
    try_exchange(*this, b, 1, {0}, 2);
    EXPECT_TRUE(silent(b));
    try_exchange(*this, a, 0, {1}, 1);  // the same item, but b has begun another pair
    EXPECT_EQ(hear_items(a, Type::Exchanged), (All{{1, "1>0#2"}}));
    EXPECT_EQ(hear_items(b, Type::Exchanged), (All{{0, "0>1#1"}}));
}

TEST_F(Exchange, TheSameItemsAgainGoOnWithThePairsThatWereDone) {
    const ClientId a = member("j", 0, 3), b = member("j", 1, 3), c = member("j", 2, 3);
    uint32_t request = 0;
    try_exchange(*this, a, 0, {1, 2}, 1, &request);
    try_exchange(*this, b, 1, {0}, 1);
    EXPECT_EQ(hear_items(b, Type::Exchanged), (All{{0, "0>1#1"}}));
    for (int i = 0; i < 2; ++i) {
        ask(a, {.type = Type::Cancel, .rank = request});
        hear(a, Type::Done);
        try_exchange(*this, a, 0, {1, 2}, 1, &request);
        EXPECT_TRUE(silent(a));
    }
    try_exchange(*this, c, 2, {0}, 1);
    EXPECT_EQ(hear_items(a, Type::Exchanged), (All{{1, "1>0#1"}, {2, "2>0#1"}}));
    EXPECT_TRUE(silent(b)) << "b has had this item";
    try_exchange(*this, b, 1, {0}, 2);
    try_exchange(*this, a, 0, {1}, 2);
    EXPECT_EQ(hear_items(a, Type::Exchanged), (All{{1, "1>0#2"}}));
    EXPECT_EQ(hear_items(b, Type::Exchanged), (All{{0, "0>1#2"}}));
}

TEST_F(Exchange, WhoWasToldThatThePeerGaveUpIsNotMetLater) {
    const ClientId a = member("j", 0, 4), b = member("j", 1, 4);
    member("j", 2, 4);
    const ClientId d = member("j", 3, 4);
    uint32_t request = 0;
    try_exchange(*this, a, 0, {1, 2}, 1, &request);
    try_exchange(*this, b, 1, {0, 3}, 1);
    ask(a, {.type = Type::Cancel, .rank = request});
    hear(a, Type::Done);
    try_exchange(*this, d, 3, {1}, 1);
    std::vector<uint32_t> gone;
    EXPECT_EQ(hear_items(b, Type::Exchanged, &gone), (All{{3, "3>1#1"}}));
    EXPECT_EQ(gone, (std::vector<uint32_t>{0}));
    try_exchange(*this, a, 0, {1}, 2);
    EXPECT_TRUE(silent(a)) << "b's exchange ended without a";
    try_exchange(*this, b, 1, {0}, 2);
    EXPECT_EQ(hear_items(a, Type::Exchanged), (All{{1, "1>0#2"}}));
    EXPECT_EQ(hear_items(b, Type::Exchanged), (All{{0, "0>1#2"}}));
}

TEST_F(Exchange, WhoTakesARankDoesNotMeetItemsForTheOneBefore) {
    const ClientId a = member("j", 0, 3), b = member("j", 1, 3), c = member("j", 2, 3);
    try_exchange(*this, b, 1, {0, 2}, 1);
    registry().close(a, "killed", now);
    const ClientId again = member("j", 0, 3);
    try_exchange(*this, again, 0, {1}, 7);
    try_exchange(*this, c, 2, {1}, 1);
    skip_events(b);
    std::vector<uint32_t> gone;
    EXPECT_EQ(hear_items(b, Type::Exchanged, &gone), (All{{2, "2>1#1"}}));
    EXPECT_EQ(gone, (std::vector<uint32_t>{0}));
    skip_events(again);
    EXPECT_TRUE(silent(again));
    try_exchange(*this, b, 1, {0}, 2);
    EXPECT_EQ(hear_items(b, Type::Exchanged), (All{{0, "0>1#7"}}));
    EXPECT_EQ(hear_items(again, Type::Exchanged), (All{{1, "1>0#2"}}));
}

TEST_F(Exchange, WhatWasGivenUpHoldsNoBytesForLong) {
    const ClientId a = member("j", 0, 3), b = member("j", 1, 3);
    member("j", 2, 3);
    uint32_t request = 0;
    for (int i = 0; i < 5; ++i) {
        try_exchange(*this, a, 0, {1, 2}, i, &request);
        try_exchange(*this, b, 1, {0}, i);
        hear_items(b, Type::Exchanged);
        ask(a, {.type = Type::Cancel, .rank = request});
        hear(a, Type::Done);
    }
    const size_t before = registry().bytes();
    ask(a, {.type = Type::Leave});
    EXPECT_LT(registry().bytes(), before);
    EXPECT_NE(registry().status_json().find("\"exchange_bytes\": 0"), std::string::npos);
}

TEST_F(Exchange, OneAtATime) {
    const ClientId a = member("j", 0, 2);
    exchange(a, 0, {1});
    exchange(a, 0, {1});
    hear_failure(a, ErrorCode::Argument);
}

TEST_F(Exchange, LargeDeliveriesComeInParts) {
    const ClientId a = open("", 70000);
    ask(a, {.type = Type::Join, .rank = 0, .size = 9, .job = "j"});
    hear(a, Type::Joined);
    Bytes mine;
    for (uint32_t rank = 1; rank < 9; ++rank) {
        const ClientId b = member("j", rank, 9);
        Bytes items;
        append_item(items, 0, Bytes(30000, static_cast<std::byte>('A' + rank)));
        ask(b, {.type = Type::Exchange, .options = last_part, .items = items});
        append_item(mine, rank, {});
    }
    ask(a, {.type = Type::Exchange, .options = last_part, .items = mine});
    const All all = hear_items(a, Type::Exchanged);
    ASSERT_EQ(all.size(), 8u);
    for (const auto& [rank, item] : all) {
        EXPECT_EQ(item, std::string(30000, static_cast<char>('A' + rank)));
    }
}

}  // namespace
}  // namespace qpx::service
