// SPDX-License-Identifier: BSD-2-Clause
// Tests that the service's messages match docs/reference/qpxd.md byte for byte.
#include "group/messages.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "wire/frame.h"

namespace qpx::service {
namespace {

std::string hex(View bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        char two[3];
        std::snprintf(two, sizeof two, "%02x", std::to_integer<unsigned>(byte));
        text += two;
    }
    return text;
}

View payload(const Bytes& frame) {
    return View(frame).subspan(wire::header_size);
}

TEST(ServiceMessages, JoinHasTheDocumentedBytes) {
    Bytes out;
    encode({.type = Type::Join, .request = 1, .rank = 3, .size = 8, .job = "j", .name = "n"}, 7,
           out);
    EXPECT_EQ(hex(out),
              "515058310100400000000007"
              "00000036"
              "000100000000000400000001"  // request
              "00020000000000016a"        // job
              "000300000000000400000003"  // rank
              "000400000000000400000008"  // size
              "00050000000000016e");      // name
}

TEST(ServiceMessages, ExchangedHasTheDocumentedBytes) {
    Bytes items, ranks;
    append_item(items, 2, view_of("ab"));
    append_rank(ranks, 5);
    const Message message{.type = Type::Exchanged,
                          .request = 9,
                          .options = last_part,
                          .items = items,
                          .ranks = ranks};
    const std::string expected =
        "515058310100650000000001"
        "00000036"
        "000100000000000400000009"               // request
        "000a00000000000400000001"               // options: last part
        "000b00000000000400000005"               // ranks that have left or failed
        "000900000000000a00000002000000026162";  // items
    Bytes out;
    encode(message, 1, out);
    EXPECT_EQ(hex(out), expected);
    // The same message with its items sent separately after it.
    Bytes split;
    encode_before_bytes(message, 1, items.size(), split);
    split.insert(split.end(), items.begin(), items.end());
    EXPECT_EQ(hex(split), expected);
}

TEST(ServiceMessages, RecordsHaveTheDocumentedBytes) {
    Bytes records;
    append_record(records, {EventKind::Failed, 4, 2, "n", "why"});
    EXPECT_EQ(hex(records), "030000000400000002000100036e776879");
    const auto read = read_records(records);
    ASSERT_EQ(read.size(), 1u);
    EXPECT_EQ(read[0].text, "why");
}

TEST(ServiceMessages, NumbersAreTheDocumentedOnes) {
    for (const auto& [kind, number] :
         {std::pair{EventKind::Joined, 1}, {EventKind::Left, 2}, {EventKind::Failed, 3}}) {
        Bytes records;
        append_record(records, {kind, 0, 0, "", ""});
        EXPECT_EQ(std::to_integer<int>(records[0]), number);
    }
    EXPECT_EQ(
        (std::vector<uint32_t>{last_part, no_wait, once, barrier, shrink, events_lost, exists}),
        (std::vector<uint32_t>{1, 2, 4, 8, 16, 32, 64}));
    using enum Type;
    int number = 0x40;
    for (const Type type :
         {Join, Leave, Put, Get, Wait, Add, Erase, Gather, Exchange, Members, Cancel, Status}) {
        EXPECT_EQ(static_cast<int>(type), number++);
    }
    number = 0x60;
    for (const Type type :
         {Joined, Done, Value, Number, Gathered, Exchanged, MemberList, Events, Failed}) {
        EXPECT_EQ(static_cast<int>(type), number++);
    }
}

TEST(ServiceMessages, EveryErrorCodeIsReadBack) {
    uint16_t number = 0;
    const auto sent = [](ErrorCode code) {
        Bytes out;
        encode({.type = Type::Failed, .code = code, .text = "t"}, 1, out);
        return out;
    };
    for (const ErrorCode code :
         {ErrorCode::Argument, ErrorCode::Resolve, ErrorCode::Refused, ErrorCode::Timeout,
          ErrorCode::Protocol, ErrorCode::Version, ErrorCode::Auth, ErrorCode::Limit,
          ErrorCode::PeerGone, ErrorCode::Device, ErrorCode::Unsupported}) {
        const Bytes out = sent(code);
        char expected[32];
        std::snprintf(expected, sizeof expected, "000d000000000002%04x", number++);
        EXPECT_EQ(hex(payload(out).subspan(12, 10)), expected);
        EXPECT_EQ(decode(static_cast<uint8_t>(Type::Failed), payload(out)).code, code);
    }
    // A code for local use only becomes "protocol"; a code of a later version is read as "refused".
    Bytes other = sent(ErrorCode::Cancelled);
    EXPECT_EQ(decode(static_cast<uint8_t>(Type::Failed), payload(other)).code, ErrorCode::Protocol);
    other[wire::header_size + 21] = static_cast<std::byte>(number);
    EXPECT_EQ(decode(static_cast<uint8_t>(Type::Failed), payload(other)).code, ErrorCode::Refused);
}

/// Returns a message with all fields set; the encoder picks those that its type needs.
Message full(Type type) {
    static const Bytes bytes = {std::byte{1}};
    return {.type = type,
            .request = 1,
            .rank = 2,
            .size = 3,
            .options = 4,
            .incarnation = 5,
            .number = 6,
            .job = "job",
            .name = "name",
            .text = "text",
            .keys = {"key"},
            .value = bytes,
            .items = bytes,
            .ranks = bytes,
            .records = bytes};
}

TEST(ServiceMessages, EachTypeWantsItsFieldsAndNoOthers) {
    enum Tag {
        request = 1,
        job,
        rank,
        size,
        name,
        key,
        value,
        number,
        items,
        options,
        ranks,
        records,
        code,
        text,
        incarnation
    };
    const std::map<Type, std::set<int>> needs = {
        {Type::Join, {request, job}},
        {Type::Leave, {request}},
        {Type::Put, {request, key, value}},
        {Type::Get, {request, key}},
        {Type::Wait, {request, key}},
        {Type::Add, {request, key, number}},
        {Type::Erase, {request, key}},
        {Type::Gather, {request, name}},
        {Type::Exchange, {request, items}},
        {Type::Members, {request}},
        {Type::Cancel, {request}},
        {Type::Status, {request}},
        {Type::Joined, {request, rank}},
        {Type::Done, {request}},
        {Type::Value, {request, value}},
        {Type::Number, {request, number}},
        {Type::Gathered, {request, items}},
        {Type::Exchanged, {request, items}},
        {Type::MemberList, {request, records}},
        {Type::Events, {records}},
        {Type::Failed, {request, code, text}},
    };
    for (int type = 0x40; type < 0x80; ++type) {
        SCOPED_TRACE(type);
        const auto found = needs.find(static_cast<Type>(type));
        const auto read = [&](View bytes) { return decode(static_cast<uint8_t>(type), bytes); };
        if (found == needs.end()) {
            EXPECT_THROW(read({}), Error);
            continue;
        }
        Bytes out;
        encode(full(found->first), 1, out);
        for (int without = request; without <= incarnation; ++without) {
            Bytes rest;
            bool there = false;
            wire::FieldReader fields(payload(out));
            while (const auto field = fields.next()) {
                if (field->tag == without) {
                    there = true;
                    continue;
                }
                wire::FrameWriter writer(rest, wire::Type::Data);
                const size_t header = rest.size() - wire::header_size;
                writer.bytes(field->tag, field->value);
                rest.erase(rest.begin() + static_cast<ptrdiff_t>(header),
                           rest.begin() + static_cast<ptrdiff_t>(header + wire::header_size));
            }
            if (found->second.contains(without)) {
                EXPECT_TRUE(there) << without;
                EXPECT_THROW(read(rest), Error) << without;
            } else {
                EXPECT_NO_THROW(read(rest)) << without;
            }
        }
    }
}

TEST(ServiceMessages, WhatIsNotGivenIsNotSent) {
    Bytes out;
    encode({.type = Type::Leave, .request = 7}, 1, out);
    EXPECT_EQ(hex(payload(out)), "000100000000000400000007");
    Bytes empty;  // a required field is sent even if it is empty
    encode({.type = Type::Gather}, 1, empty);
    EXPECT_EQ(hex(payload(empty)), "0001000000000004000000000005000000000000");
}

TEST(ServiceMessages, EveryCutOfAPackedListIsRefused) {
    Bytes items, records, ranks;
    append_item(items, 1, view_of("ab"));
    append_record(records, {EventKind::Joined, 1, 2, "name", "text"});
    append_rank(ranks, 1);
    const auto all_items = [](View packed) {
        for (Items reader(packed); reader.next();) {
        }
    };
    const auto check = [](const Bytes& whole, auto read) {
        EXPECT_NO_THROW(read(View()));
        EXPECT_NO_THROW(read(View(whole)));
        for (size_t length = 1; length < whole.size(); ++length) {
            EXPECT_THROW(read(View(whole).first(length)), Error) << length;
        }
        Bytes more = whole;
        more.push_back(std::byte{0});
        EXPECT_THROW(read(View(more)), Error);
    };
    check(items, all_items);
    check(records, read_records);
    check(ranks, read_ranks);
    const auto read = read_records(records);
    EXPECT_EQ(read[0].kind, EventKind::Joined);
    EXPECT_EQ(read[0].rank, 1u);
    EXPECT_EQ(read[0].incarnation, 2u);
    EXPECT_EQ(read[0].name, "name");
}

TEST(ServiceMessages, ARecordsTextsAreAsLongAsItSays) {
    const std::string longest(UINT16_MAX, 'a'), longer(70'000, 'a');
    const std::string letters = std::string(UINT16_MAX - 1, 'a') + "\xc3\xbc";
    Bytes records;
    append_record(records, {EventKind::Failed, 1, 2, longest, longer});
    append_record(records, {EventKind::Failed, 2, 2, longer, letters});
    const auto read = read_records(records);
    ASSERT_EQ(read.size(), 2u);
    EXPECT_EQ(read[0].name, longest);
    EXPECT_EQ(read[0].text, longest);
    EXPECT_EQ(read[1].name, longest);
    EXPECT_EQ(read[1].text, letters.substr(0, UINT16_MAX - 1));
}

// The last field's bytes of VALUE, MEMBER_LIST and the types with items are sent separately.
TEST(ServiceMessages, AFrameWithoutItsBytesIsTheWholeOneCutShort) {
    for (const Type type : {Type::Value, Type::MemberList, Type::Gathered, Type::Exchanged}) {
        Message whole = full(type);
        const View bytes = whole.items;
        whole.value = {};
        Bytes parts = {std::byte{9}};  // another frame precedes it
        encode_before_bytes(whole, 3, bytes.size(), parts);
        parts.insert(parts.end(), bytes.begin(), bytes.end());
        const View frame = View(parts).subspan(1);
        const wire::Header header =
            wire::decode_header(frame.first<wire::header_size>(), UINT32_MAX);
        EXPECT_EQ(header.length, frame.size() - wire::header_size);
        EXPECT_EQ(header.sequence, 3u);
        const Message read = decode(static_cast<uint8_t>(type), frame.subspan(wire::header_size));
        EXPECT_EQ(hex(type == Type::Value        ? read.value
                      : type == Type::MemberList ? read.records
                                                 : read.items),
                  hex(bytes));
        EXPECT_EQ(read.request, whole.request);
    }
}

TEST(ServiceMessages, FieldsThatAreMissingDoubleOrShortAreRefused) {
    const auto type = static_cast<uint8_t>(Type::Add);
    Bytes out;
    encode({.type = Type::Add, .request = 1, .number = -1, .keys = {"k"}}, 1, out);
    EXPECT_EQ(decode(type, payload(out)).number, -1);
    EXPECT_THROW(decode(type, payload(out).first(12)), Error);
    EXPECT_THROW(decode(type, payload(out).first(payload(out).size() - 1)), Error);
    Bytes twice(payload(out).begin(), payload(out).end());
    twice.insert(twice.end(), payload(out).begin(), payload(out).begin() + 12);
    EXPECT_THROW(decode(type, twice), Error);
    EXPECT_THROW(decode(0x5f, payload(out)), Error);
}

TEST(ServiceMessages, FieldsOfALaterVersionAreSkipped) {
    Bytes out;
    wire::FrameWriter writer(out, static_cast<wire::Type>(Type::Leave));
    writer.u32(1, 5);
    writer.u32(999, 1);
    writer.finish(0);
    EXPECT_EQ(decode(static_cast<uint8_t>(Type::Leave), payload(out)).request, 5u);
    Bytes must;
    wire::FrameWriter strict(must, static_cast<wire::Type>(Type::Leave));
    strict.u32(1, 5);
    strict.u32(999, 1, wire::must_understand);
    strict.finish(0);
    EXPECT_THROW(decode(static_cast<uint8_t>(Type::Leave), payload(must)), Error);
}

TEST(ServiceMessages, RandomPayloadsAreDecodedOrRefused) {
    std::mt19937 random(3);
    Bytes good;
    encode({.type = Type::Put, .request = 1, .options = once, .keys = {"key"}, .value = good}, 1,
           good);
    int refused = 0;
    for (int i = 0; i < 20'000; ++i) {
        Bytes bytes(payload(good).begin(), payload(good).end());
        for (int n = 0; n < 3; ++n) {
            bytes[random() % bytes.size()] = static_cast<std::byte>(random());
        }
        bytes.resize(random() % (bytes.size() + 1));
        try {
            const Message m = decode(static_cast<uint8_t>(0x40 + random() % 0x29), bytes);
            Items items(m.items);
            while (items.next()) {
            }
            read_records(m.records);
            read_ranks(m.ranks);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::Protocol) << error.what();
            ++refused;
        }
    }
    EXPECT_GT(refused, 1000);
}

TEST(ServiceMessages, EveryFieldIsReadBack) {
    const Bytes value = {std::byte{1}, std::byte{0}, std::byte{0xff}};
    Bytes ranks;
    const std::vector<uint32_t> of_each_byte = {0, 1, 0x01020304, 0xfffffffe, any_rank};
    for (const uint32_t rank : of_each_byte) {
        append_rank(ranks, rank);
    }
    Bytes out;
    encode({.type = Type::Put,
            .request = 0xfedcba98,
            .rank = 0x12345678,
            .size = 0x01000002,
            .options = once,
            .incarnation = 0x89abcdef,
            .number = -2,
            .job = "job",
            .name = "name",
            .text = "text",
            .keys = {"a", "b", "c"},
            .value = value,
            .ranks = ranks},
           1, out);
    const Message m = decode(static_cast<uint8_t>(Type::Put), payload(out));
    EXPECT_EQ(m.request, 0xfedcba98);
    EXPECT_EQ(m.rank, 0x12345678u);
    EXPECT_EQ(m.size, 0x01000002u);
    EXPECT_EQ(m.options, once);
    EXPECT_EQ(m.incarnation, 0x89abcdef);
    EXPECT_EQ(m.number, -2);
    EXPECT_EQ(m.job, "job");
    EXPECT_EQ(m.name, "name");
    EXPECT_EQ(m.text, "text");
    EXPECT_EQ(m.keys, (std::vector<std::string_view>{"a", "b", "c"}));
    EXPECT_EQ(hex(m.value), hex(value));
    EXPECT_EQ(read_ranks(m.ranks), of_each_byte);
    EXPECT_THROW(read_ranks(View(ranks).first(7)), Error);
}

TEST(ServiceMessages, ItemsKeepRankAndBytesOfEachMember) {
    Bytes items;
    append_item(items, 0xfedcba98, view_of("first"));
    append_item(items, 1, {});
    append_item(items, any_rank, view_of("last"));
    Items reader(items);
    for (const auto& [rank, text] :
         {std::pair<uint32_t, const char*>{0xfedcba98, "first"}, {1, ""}, {any_rank, "last"}}) {
        ASSERT_TRUE(reader.next());
        EXPECT_EQ(reader.rank(), rank);
        EXPECT_EQ(text_of(reader.bytes()), text);
    }
    EXPECT_FALSE(reader.next());
}

TEST(ServiceMessages, DoneThatTheKeyWasThereHasTheDocumentedBytes) {
    Bytes out;
    encode({.type = Type::Done, .request = 1, .options = exists}, 7, out);
    EXPECT_EQ(hex(View(out).subspan(wire::header_size)),
              "000100000000000400000001"    // request
              "000a00000000000400000040");  // options: the key was there
}

TEST(ServiceMessages, EventsAnswerNoRequest) {
    Bytes records, out;
    append_record(records, {EventKind::Failed, 4, 2, "n", "why"});
    encode({.type = Type::Events, .records = records}, 7, out);
    wire::FieldReader fields(payload(out));
    const auto field = fields.next();
    ASSERT_TRUE(field);
    EXPECT_EQ(field->tag, 12);  // records
    EXPECT_FALSE(fields.next());
}

TEST(ServiceMessages, EveryTagThatIsNotKnownIsRefusedWhereItMustBeUnderstood) {
    for (const uint16_t tag : {0, 16, 17, 18, 31, 32, 33, 48, 0x8001, 0xffff}) {
        for (const bool must : {false, true}) {
            Bytes out;
            wire::FrameWriter writer(out, static_cast<wire::Type>(Type::Leave));
            writer.u32(1, 5);
            writer.u32(tag, 1, must ? wire::must_understand : uint16_t{0});
            writer.finish(0);
            const auto read = [&] {
                return decode(static_cast<uint8_t>(Type::Leave), payload(out));
            };
            if (must) {
                EXPECT_THROW(read(), Error) << tag;
            } else {
                EXPECT_EQ(read().request, 5u) << tag;
            }
        }
    }
}

}  // namespace
}  // namespace qpx::service
