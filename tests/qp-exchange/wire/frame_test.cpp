// SPDX-License-Identifier: BSD-2-Clause
// Tests of frames and fields: expected bytes, and malformed ones.
#include "wire/frame.h"

#include <algorithm>

#include "bytes.h"

namespace qpx::wire {
namespace {

using test::expect_error;
using test::hex;
using test::to_hex;

std::vector<std::byte> sample() {
    std::vector<std::byte> out;
    FrameWriter writer(out, Type::Data);
    writer.u16(0x1234, 0xabcd, must_understand);
    writer.text(7, "hi");
    writer.finish(0x01020304);
    return out;
}

/// Feeds all bytes into READER.
void feed(FrameReader& reader, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const auto space = reader.space();
        const std::size_t count = std::min(space.size(), bytes.size());
        std::copy_n(bytes.begin(), count, space.begin());
        reader.received(count);
        bytes = bytes.subspan(count);
    }
}

TEST(Frame, HasTheDocumentedBytes) {
    EXPECT_EQ(to_hex(sample()), to_hex(hex("51505831 01 00 05 00 01020304 00000014"
                                           "1234 0001 00000002 abcd"
                                           "0007 0000 00000002 6869")));
}

TEST(Frame, IsReadBackByteByByte) {
    FrameReader reader;
    const auto bytes = sample();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        EXPECT_FALSE(reader.next().has_value()) << i;
        feed(reader, std::span(bytes).subspan(i, 1));
    }
    const auto frame = reader.next();
    ASSERT_TRUE(frame.has_value());
    EXPECT_EQ(frame->header.type, Type::Data);
    EXPECT_EQ(frame->header.sequence, 0x01020304U);
    EXPECT_EQ(frame->payload.size(), 20U);
    EXPECT_EQ(reader.partial(), 0U);
}

TEST(Frame, ManyInOneReadComeOneByOne) {
    std::vector<std::byte> bytes;
    for (std::uint32_t i = 0; i < 1000; ++i) {
        FrameWriter writer(bytes, Type::Data);
        writer.u32(1, i);
        writer.finish(i);
    }
    FrameReader reader;
    feed(reader, bytes);
    for (std::uint32_t i = 0; i < 1000; ++i) {
        const auto frame = reader.next();
        ASSERT_TRUE(frame.has_value());
        EXPECT_EQ(FieldReader(frame->payload).next()->u32(), i);
    }
    EXPECT_FALSE(reader.next().has_value());
}

TEST(Frame, PromisedBytesAreNotAllocated) {
    FrameReader reader(0xffffffff);
    feed(reader, hex("51505831 01000500 00000000 ffffffff"));
    EXPECT_FALSE(reader.next().has_value());
    EXPECT_LE(reader.space().size(), 8192U);
}

TEST(Frame, WrongMagicIsToldFromItsFirstByte) {
    FrameReader reader;
    feed(reader, hex("52"));
    expect_error(ErrorCode::Protocol, "not qp-exchange", [&] { reader.next(); });
}

TEST(Frame, AnotherProgramsTextIsShown) {
    FrameReader reader;
    feed(reader, test::bytes_of("SSH-2.0-OpenSSH_9.2p1\r\n"));
    expect_error(ErrorCode::Protocol, "\"SSH-2.0-\"", [&] { reader.next(); });
}

TEST(Frame, TlsInsteadOfAFrameIsNamed) {
    struct Case {
        const char* bytes;
        bool tls;
    };
    for (const auto& [bytes, tls] : std::initializer_list<Case>{
             {"16030100f4010000", true},  // a handshake's record; its version is 3.something
             {"16030300f4010000010203040506070809", true},
             {"16020100f4010000", false},
             {"17030100f4010000", false},
             {"00030100f4010000", false},
             {"16", false}}) {
        FrameReader reader;
        feed(reader, hex(bytes));
        expect_error(tls ? ErrorCode::Auth : ErrorCode::Protocol,
                     tls ? "speaks TLS" : "other bytes than the magic", [&] { reader.next(); });
    }
}

TEST(Frame, IsWholeWhenNextHasSomethingToSay) {
    struct Case {
        const char* bytes;
        bool whole;
    };
    for (const auto& [bytes, whole] : std::initializer_list<Case>{
             {"", false},
             {"51505831 01000500 00000000 000000", false},
             {"51505831 01000500 00000000 00000000", true},
             {"51505831 01000500 00000000 00000002 00", false},
             {"51505831 01000500 00000000 00000002 0000", true},
             {"51505831 01000500 00000000 00000002 000000", true},
             {"51505832 01000500 00000000 00000002", true},  // the error is another magic
             {"51505831 02000500 00000000 00000002", true},
             {"51505831 01000510 00000000 00000002", true},
             {"51505831 01000500 00000000 00001001", true}}) {
        FrameReader reader;
        feed(reader, hex(bytes));
        EXPECT_EQ(reader.whole(), whole) << bytes;
    }
}

TEST(Frame, NoMoreIsTakenThanThereWasSpaceFor) {
    FrameReader reader;
    const std::size_t space = reader.space().size();
    reader.received(100);
    reader.received(~std::size_t{0} - 100);
    EXPECT_EQ(reader.bytes().size(), space);
}

TEST(Frame, AReaderWithoutBytesGivesALargeBufferBack) {
    for (const auto& [size, most] :
         {std::pair<std::size_t, std::size_t>{1 << 20, 4096}, {60'000, 65'536}}) {
        FrameReader reader(1 << 20);
        std::vector<std::byte> bytes;
        FrameWriter writer(bytes, Type::Data);
        writer.raw(std::vector<std::byte>(size - header_size));
        writer.finish(0);
        feed(reader, bytes);
        ASSERT_TRUE(reader.next());
        EXPECT_EQ(reader.space().size(), most);
    }
}

TEST(Frame, AnotherMajorVersionIsRefusedWithBothNumbers) {
    FrameReader reader;
    feed(reader, hex("51505831 02070100 00000000 00000000"));
    expect_error(ErrorCode::Version, "version 2.7 of the protocol, this side 1.0",
                 [&] { reader.next(); });
}

TEST(Frame, ARefusalIsReadInAnyVersion) {
    FrameReader reader;
    feed(reader, hex("51505831 02070200 00000000 00000000"));
    EXPECT_EQ(reader.next()->header.type, Type::Refuse);
}

TEST(Frame, AHigherMinorVersionIsTaken) {
    FrameReader reader;
    feed(reader, hex("51505831 01630100 00000000 00000000"));
    EXPECT_TRUE(reader.next().has_value());
}

TEST(Frame, OptionalFlagsAreIgnoredCriticalOnesRefused) {
    FrameReader reader;
    feed(reader, hex("51505831 0100010f 00000000 00000000"));
    EXPECT_TRUE(reader.next().has_value());
    feed(reader, hex("51505831 01000110 00000000 00000000"));
    expect_error(ErrorCode::Protocol, "flags 16", [&] { reader.next(); });
}

TEST(Frame, TooLongIsRefusedByItsHeader) {
    FrameReader reader(100);
    feed(reader, hex("51505831 01000500 00000000 00000065"));
    expect_error(ErrorCode::Limit, "101 bytes is too long: at most 100", [&] { reader.next(); });
}

TEST(Fields, UnknownOnesAreSkippedUnlessTheyMustBeUnderstood) {
    const auto bytes = hex("7777 0000 00000001 00 | 7777 0001 00000000");
    FieldReader fields(bytes);
    EXPECT_NO_THROW(fields.next()->skip());
    expect_error(ErrorCode::Protocol, "field 30583 is unknown", [&] { fields.next()->skip(); });
}

TEST(Fields, NothingReachesBeyondTheEnd) {
    for (const char* text :
         {"0001 0000 00000001", "0001 0000 ffffffff 00", "00010000 000000", "00"}) {
        const auto bytes = hex(text);
        FieldReader fields(bytes);
        EXPECT_THROW(fields.next(), Error) << text;
    }
}

TEST(Fields, NumbersHaveTheirLength) {
    const auto bytes = hex("0001 0000 00000002 1234");
    const auto field = FieldReader(bytes).next();
    EXPECT_EQ(field->u16(), 0x1234);
    EXPECT_THROW(field->u8(), Error);
    EXPECT_THROW(field->u32(), Error);
    EXPECT_THROW(field->u64(), Error);
}

TEST(Fields, NestAndCloseWithTheirLength) {
    std::vector<std::byte> out;
    FrameWriter writer(out, Type::Data);
    const auto at = writer.open(1);
    writer.raw_u8(9);
    writer.u64(2, 5);
    writer.close(at);
    EXPECT_EQ(writer.size(), 8U + 1 + 8 + 8);
    writer.finish(0);
    EXPECT_EQ(to_hex(out).substr(32),
              to_hex(hex("0001 0000 00000011 09 0002 0000 00000008 0000000000000005")));
}

TEST(Cursor, EndsWithAnError) {
    const auto bytes = hex("010203");
    Cursor cursor(bytes);
    EXPECT_EQ(cursor.u16(), 0x0102);
    expect_error(ErrorCode::Protocol, "ends after 1 bytes where 4", [&] { cursor.u32(); });
}

TEST(Frame, AReaderThatAlwaysHoldsAPartOfOneStaysSmall) {
    std::vector<std::byte> bytes;
    for (std::uint32_t i = 0; i < 10'000; ++i) {
        FrameWriter writer(bytes, Type::Data);
        writer.bytes(1, std::vector<std::byte>(100));
        writer.finish(i);
    }
    FrameReader reader;
    std::uint32_t frames = 0;
    std::size_t most = 0;
    for (auto rest = std::span<const std::byte>(bytes); !rest.empty();) {
        const auto part = rest.first(std::min<std::size_t>(rest.size(), 1001));  // ends in a frame
        rest = rest.subspan(part.size());
        feed(reader, part);
        while (const auto frame = reader.next()) {
            EXPECT_EQ(frame->header.sequence, frames++);
        }
        most = std::max(most, reader.space().size());
    }
    EXPECT_EQ(frames, 10'000U);
    EXPECT_LE(most, 8192U);
}

TEST(Fields, ATextIsCheckedBeforeAnybodySeesIt) {
    for (const char* text : {"0001 0000 00000002 610a", "0001 0000 00000001 ff"}) {
        const auto bytes = hex(text);
        FieldReader fields(bytes);
        const auto field = fields.next();
        ASSERT_TRUE(field);
        expect_error(ErrorCode::Protocol, "not UTF-8", [&] { field->text(); });
        expect_error(ErrorCode::Protocol, "not UTF-8", [&] { to_text(field->value); });
    }
}

}  // namespace
}  // namespace qpx::wire
