// SPDX-License-Identifier: BSD-2-Clause
// The service's messages, byte for byte as docs/reference/qpxd.md has them.
#include "group/messages.h"

#include <gtest/gtest.h>

#include <random>

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
        "000b00000000000400000005"               // ranks that have gone
        "000900000000000a00000002000000026162";  // items
    Bytes out;
    encode(message, 1, out);
    EXPECT_EQ(hex(out), expected);
    // The same with the items sent behind it.
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
