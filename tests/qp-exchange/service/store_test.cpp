// SPDX-License-Identifier: BSD-2-Clause
// Tests of the store: put, get, wait, add, erase.
#include "harness.h"

namespace qpx::service {
namespace {

class Store : public RegistryTest {
  public:
    void put(ClientId id, std::string_view key, std::string_view value, uint32_t options = 0) {
        const Bytes bytes = bytes_of(value);
        ask(id, {.type = Type::Put, .options = options, .keys = {key}, .value = bytes});
    }
    std::string value(ClientId id, std::string_view key) {
        ask(id, {.type = Type::Get, .options = no_wait, .keys = {key}});
        const Heard heard = hear(id, Type::Value);
        return heard.message.options & exists ? std::string(text_of(heard.message.value))
                                              : "(none)";
    }
};

TEST_F(Store, AValueIsThereForAllMembers) {
    const ClientId a = member("j"), b = member("j");
    put(a, "k", "v1");
    EXPECT_EQ(hear(a, Type::Done).message.options & exists, 0u);
    EXPECT_EQ(value(b, "k"), "v1");
    put(b, "k", "v2");
    EXPECT_NE(hear(b, Type::Done).message.options & exists, 0u);
    EXPECT_EQ(value(a, "k"), "v2");
    EXPECT_EQ(value(a, "other"), "(none)");
}

TEST_F(Store, PutOnceKeepsTheFirst) {
    const ClientId a = member("j");
    put(a, "k", "first", once);
    hear(a, Type::Done);
    put(a, "k", "second", once);
    EXPECT_NE(hear(a, Type::Done).message.options & exists, 0u);
    EXPECT_EQ(value(a, "k"), "first");
}

TEST_F(Store, GetWaitsForTheKey) {
    const ClientId a = member("j"), b = member("j");
    const uint32_t request = ask(b, {.type = Type::Get, .keys = {"k"}});
    EXPECT_TRUE(silent(b));
    put(a, "k", "v");
    const Heard heard = hear(b, Type::Value);
    EXPECT_EQ(heard.message.request, request);
    EXPECT_EQ(text_of(heard.message.value), "v");
}

TEST_F(Store, WaitNeedsAllKeys) {
    const ClientId a = member("j"), b = member("j");
    put(a, "k1", "");
    ask(b, {.type = Type::Wait, .keys = {"k1", "k2", "k3", "k2"}});
    put(a, "k3", "");
    EXPECT_TRUE(silent(b));
    put(a, "k2", "");
    hear(b, Type::Done);
}

TEST_F(Store, AWaiterThatFailsIsForgotten) {
    const ClientId a = member("j"), b = member("j");
    ask(b, {.type = Type::Get, .keys = {"k"}});
    ask(b, {.type = Type::Wait, .keys = {"k", "l"}});
    registry().close(b, "killed", now);
    skip_events(a);
    put(a, "k", "v");
    put(a, "l", "v");
    hear(a, Type::Done);
}

TEST_F(Store, CancelSaysWhatWasMissingAndNothingFollows) {
    const ClientId a = member("j"), b = member("j");
    const uint32_t request = ask(b, {.type = Type::Wait, .keys = {"x", "y"}});
    ask(b, {.type = Type::Cancel, .rank = request});
    EXPECT_EQ(hear(b, Type::Done).message.text, "nobody has put 'x' and 1 other keys");
    put(a, "x", "");
    put(a, "y", "");
    skip_events(b);
    EXPECT_TRUE(silent(b));
}

TEST_F(Store, AddIsATextNumber) {
    const ClientId a = member("j");
    ask(a, {.type = Type::Add, .number = 5, .keys = {"n"}});
    EXPECT_EQ(hear(a, Type::Number).message.number, 5);
    ask(a, {.type = Type::Add, .number = -7, .keys = {"n"}});
    EXPECT_EQ(hear(a, Type::Number).message.number, -2);
    EXPECT_EQ(value(a, "n"), "-2");
    put(a, "t", "7 apples");
    hear(a, Type::Done);
    ask(a, {.type = Type::Add, .number = 1, .keys = {"t"}});
    hear_failure(a, ErrorCode::Argument);
    put(a, "max", "9223372036854775807");
    hear(a, Type::Done);
    ask(a, {.type = Type::Add, .number = 1, .keys = {"max"}});
    hear_failure(a, ErrorCode::Limit);
}

TEST_F(Store, AddWakesWhoWaits) {
    const ClientId a = member("j"), b = member("j");
    ask(b, {.type = Type::Get, .keys = {"n"}});
    ask(a, {.type = Type::Add, .number = 1, .keys = {"n"}});
    const Heard heard = hear(b, Type::Value);
    EXPECT_EQ(text_of(heard.message.value), "1");
}

TEST_F(Store, EraseSaysWhetherItWasThere) {
    const ClientId a = member("j");
    put(a, "k", "v");
    hear(a, Type::Done);
    ask(a, {.type = Type::Erase, .keys = {"k"}});
    EXPECT_NE(hear(a, Type::Done).message.options & exists, 0u);
    ask(a, {.type = Type::Erase, .keys = {"k"}});
    EXPECT_EQ(hear(a, Type::Done).message.options & exists, 0u);
    EXPECT_EQ(value(a, "k"), "(none)");
}

TEST_F(Store, LimitsHoldAndWhatIsErasedIsFree) {
    limits.max_value = 100;
    limits.max_keys = 2;
    limits.job_store = 150;
    limits.max_key = 10;
    const ClientId a = member("j");
    put(a, "k", std::string(101, 'v'));
    hear_failure(a, ErrorCode::Limit);
    put(a, "12345678901", "v");
    hear_failure(a, ErrorCode::Argument);
    put(a, "", "v");
    hear_failure(a, ErrorCode::Argument);
    put(a, "k1", std::string(100, 'v'));
    hear(a, Type::Done);
    put(a, "k2", std::string(60, 'v'));
    hear_failure(a, ErrorCode::Limit);
    put(a, "k1", std::string(10, 'v'));  // less than before
    hear(a, Type::Done);
    put(a, "k2", std::string(60, 'v'));
    hear(a, Type::Done);
    put(a, "k3", "");
    hear_failure(a, ErrorCode::Limit);
    ask(a, {.type = Type::Erase, .keys = {"k2"}});
    hear(a, Type::Done);
    put(a, "k3", "");
    hear(a, Type::Done);
}

TEST_F(Store, AllJobsTogetherHaveALimit) {
    limits.total = 2000;
    const ClientId a = member("j"), b = member("k");
    put(a, "k", std::string(1000, 'v'));
    hear(a, Type::Done);
    put(b, "k", std::string(1000, 'v'));
    EXPECT_NE(hear_failure(b, ErrorCode::Limit).find("--total"), std::string::npos);
    ask(a, {.type = Type::Leave});  // the job ends, and its memory is free
    put(b, "k", std::string(1000, 'v'));
    hear(b, Type::Done);
    registry().close(b, "killed", now);
    EXPECT_EQ(registry().bytes(), 0u);
}

TEST_F(Store, OneClientMayNotWaitForEverything) {
    limits.max_waits = 3;
    const ClientId a = member("j");
    for (const char* key : {"a", "b", "c"}) {
        ask(a, {.type = Type::Get, .keys = {key}});
    }
    EXPECT_TRUE(silent(a));
    ask(a, {.type = Type::Get, .keys = {"d"}});
    hear_failure(a, ErrorCode::Limit);
}

TEST_F(Store, KeysThatAreWaitedForAreCounted) {
    const ClientId a = member("j"), b = member("j");
    const size_t before = registry().bytes();
    std::vector<std::string> names;
    for (int i = 0; i < 1000; ++i) {
        names.push_back("key " + std::to_string(i));
    }
    const std::vector<std::string_view> keys(names.begin(), names.end());
    const uint32_t request = ask(a, {.type = Type::Wait, .keys = keys});
    EXPECT_GT(registry().bytes(), before + 1000 * 8);
    ask(a, {.type = Type::Cancel, .rank = request});
    EXPECT_EQ(registry().bytes(), before);
    ask(a, {.type = Type::Wait, .keys = keys});
    ask(b, {.type = Type::Wait, .keys = keys});
    for (const std::string& name : names) {
        put(a, name, "");
    }
    size_t stored = 0;
    for (const std::string& name : names) {
        stored += name.size();
    }
    EXPECT_EQ(registry().bytes(), before + stored) << "nobody waits any more";
    registry().close(b, "killed", now);
}

TEST_F(Store, TheKeysOfOneMembersWaitsHaveALimit) {
    limits.client_waits = 700;
    const ClientId a = member("j"), b = member("j");
    ask(a, {.type = Type::Wait, .keys = {"one", "two"}});
    ask(a, {.type = Type::Wait, .keys = {"three", "four"}});
    EXPECT_NE(hear_failure(a, ErrorCode::Limit).find("--client-waits"), std::string::npos);
    EXPECT_EQ(registry().counters().refused_waits, 1u);
    ask(b, {.type = Type::Wait, .keys = {"one", "two"}});
    skip_events(b);
    EXPECT_TRUE(silent(b));
    put(a, "one", "");
    put(a, "two", "");
    ask(a, {.type = Type::Wait, .keys = {"three", "four"}});  // the first wait is over
    EXPECT_EQ(registry().counters().refused_waits, 1u);
}

TEST_F(Store, AValueThatManyHaveNotReadIsInMemoryOnce) {
    const ClientId a = member("j");
    put(a, "k", std::string(100'000, 'v'));
    hear(a, Type::Done);
    std::vector<ClientId> readers;
    for (int i = 0; i < 50; ++i) {
        readers.push_back(member("j"));
        ask(readers.back(), {.type = Type::Get, .keys = {"k"}});
    }
    EXPECT_LT(registry().unread_bytes(), 50u * 200);
    put(a, "k", "another");
    EXPECT_GT(registry().unread_bytes(), 100'000u) << "only the answers hold it now";
    EXPECT_LT(registry().unread_bytes(), 200'000u);
    hear(a, Type::Done);
    for (ClientId reader : readers) {
        EXPECT_EQ(hear(reader, Type::Value).message.value.size(), 100'000u);
        skip_events(reader);
    }
    skip_events(a);
    EXPECT_EQ(registry().unread_bytes(), 0u);
}

TEST_F(Store, AnswersThatNobodyReadsHaveALimitTogether) {
    limits.total_output = 150'000;
    std::vector<ClientId> all;
    for (int i = 0; i < 100; ++i) {
        all.push_back(member("j", any_rank, 0, std::string(200, 'a') + std::to_string(i)));
    }
    uint32_t asked = 0;
    for (ClientId id : std::vector(all)) {
        all.push_back(member("j"));  // so that each list differs
        ask(id, {.type = Type::Members});
        if (++asked > 20) {
            break;
        }
    }
    EXPECT_GT(registry().counters().refused_output, 0u);
    EXPECT_LT(registry().unread_bytes(), 2 * limits.total_output);
    // When all outboxes together are too large, a client with a large one is closed.
    const ClientId a = all.back();
    EXPECT_THROW(
        {
            for (int i = 0; i < 100'000; ++i) {
                ask(a, {.type = Type::Erase, .keys = {"k"}});
            }
        },
        Error);
    for (ClientId id : all) {
        registry().close(id, "killed", now);
    }
    EXPECT_EQ(registry().unread_bytes(), 0u);
}

TEST_F(Store, WhoNeverReadsIsEnded) {
    limits.client_output = 10000;
    const ClientId a = member("j");
    put(a, "k", std::string(6000, 'v'));
    ask(a, {.type = Type::Get, .keys = {"k"}});
    EXPECT_THROW(ask(a, {.type = Type::Get, .keys = {"k"}}), Error);
}

}  // namespace
}  // namespace qpx::service
