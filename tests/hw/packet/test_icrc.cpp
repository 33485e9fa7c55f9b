// SPDX-License-Identifier: BSD-2-Clause
#include "dingo/packet/icrc.h"

#include <gtest/gtest.h>

#include <charconv>
#include <string_view>

#include "dingo/packet/text.h"
#include "support.h"

namespace dingo::packet {
namespace {

std::vector<std::byte> from_hex(std::string_view hex) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        unsigned value = 0;
        std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
        bytes.push_back(static_cast<std::byte>(value));
    }
    return bytes;
}

TEST(Icrc, UcSendOnlyOfScapysTestSuite) {
    // The packet described in scapy's test/contrib/roce.uts; ICRC 0x78f353f3 as read.
    const auto frame = from_hex(
        "248a07a8fa22248a07a8fa220800"
        "45010040047840004011b4d5c0a80007c0a80007"
        "c00012b7002caca2"
        "2460ffff000000d300cf1710"
        "4630818be28935d90e9a95505401be885e500000"
        "78f353f3");
    Packet packet;
    ASSERT_EQ(parse(frame, packet), ParseResult::kRoce);
    EXPECT_EQ(packet.bth.opcode, Opcode::kUcSendOnly);
    EXPECT_EQ(packet.bth.dest_qp, 211u);
    EXPECT_EQ(packet.bth.psn, 13571856u);
    EXPECT_EQ(packet.payload.size(), 18u);
    EXPECT_TRUE(icrc_check(frame, packet));
}

TEST(Icrc, CnpCapturedOnAConnectX4Lx) {
    const auto frame = from_hex(
        "e41d2dab2bc27cfe90643b320800"
        "45c2003c718c4000401191610a0011010a001201"
        "000012b700280000"
        "8100ffff4000011800000000"
        "00000000000000000000000000000000"
        "82fd002a");
    Packet packet;
    ASSERT_EQ(parse(frame, packet), ParseResult::kRoce);
    EXPECT_EQ(packet.bth.opcode, Opcode::kCnp);
    EXPECT_TRUE(packet.bth.becn);
    EXPECT_EQ(packet.bth.dest_qp, 0x118u);
    EXPECT_TRUE(icrc_check(frame, packet));
}

TEST(Icrc, RandomPacketsEqualZlibAndAreAccepted) {
    test::Random random(1);
    const auto opcodes = test::all_opcodes();
    const auto payload = test::random_bytes(random, kMaxPmtu);
    std::vector<std::byte> buffer(kMaxRoceFrameBytes);
    FrameBuilder builder;
    for (int i = 0; i < test::kManyPackets; ++i) {
        const Opcode op = opcodes[random() % opcodes.size()];
        // Mostly short packets, for which the code has more cases.
        const std::size_t limit = i % 8 == 0 ? kMaxPmtu : 300;
        const std::size_t n = traits(op).carries_payload ? random() % (limit + 1) : 0;
        const auto l3 = random() % 2 ? L3Kind::kIpv4 : L3Kind::kIpv6;
        const HeaderTemplate path(test::random_path(random, l3, random() % 2));
        ASSERT_TRUE(builder.begin(path, test::random_headers(random, op, n), n,
                                  test::random_value<std::uint16_t>(random), buffer));
        std::memcpy(builder.payload().data(), payload.data() + random() % (kMaxPmtu - n + 1), n);
        const auto frame = builder.finish();
        Packet packet;
        ASSERT_EQ(parse(frame, packet), ParseResult::kRoce);
        const auto covered = frame.subspan(packet.l3_offset, packet.icrc_offset - packet.l3_offset);
        ASSERT_EQ(load_le32(frame.data() + packet.icrc_offset), test::oracle_icrc(covered, l3));
        ASSERT_TRUE(icrc_check(frame, packet));
    }
}

TEST(Icrc, PayloadThatIsCopiedOnTheWayGivesTheSameFrame) {
    test::Random random(5);
    const auto opcodes = test::all_opcodes();
    const auto bytes = test::random_bytes(random, kMaxPmtu + 64);
    std::vector<std::byte> buffer(kMaxRoceFrameBytes);
    std::vector<std::byte> expected(kMaxRoceFrameBytes);
    FrameBuilder builder;
    for (std::size_t n = 0; n <= kMaxPmtu; n += n < 1100 ? 1 : 37) {
        const Opcode op = opcodes[n % opcodes.size()];
        if (!traits(op).carries_payload)
            continue;
        const auto l3 = n % 2 == 0 ? L3Kind::kIpv4 : L3Kind::kIpv6;
        const HeaderTemplate path(test::random_path(random, l3, n % 3 == 0));
        const auto headers = test::random_headers(random, op, n);
        const std::byte* const source = bytes.data() + n % 61;
        ASSERT_TRUE(builder.begin(path, headers, n, 7, expected));
        std::memcpy(builder.payload().data(), source, n);
        const auto filled = builder.finish();
        std::ranges::fill(buffer, std::byte{0xa5});
        ASSERT_TRUE(builder.begin(path, headers, n, 7, buffer));
        const auto copied = builder.finish_copying(source);
        ASSERT_TRUE(std::ranges::equal(copied, filled)) << n;
    }
}

TEST(Icrc, EveryLengthAndAlignmentEqualsZlib) {
    test::Random random(2);
    const auto bytes = test::random_bytes(random, 1400);
    for (std::size_t n = 60; n <= 1300; ++n)
        for (L3Kind l3 : {L3Kind::kIpv4, L3Kind::kIpv6}) {
            const auto packet = std::span(bytes).subspan(n % 64, n);
            ASSERT_EQ(icrc(packet, l3), test::oracle_icrc(packet, l3)) << n;
        }
}

/// Returns true if this bit of the byte at `offset` (from the IP header) is masked by the ICRC.
bool byte_is_masked(std::size_t offset, L3Kind l3, unsigned bit) {
    if (l3 == L3Kind::kIpv4)
        return offset == 26 || offset == 27 || offset == 32;  // UDP checksum, resv8a
    return (offset == 0 && bit < 4) || offset == 1 || offset == 2 || offset == 3 || offset == 7 ||
           offset == 46 || offset == 47 || offset == 52;
}

TEST(Icrc, EverySingleBitFlipBehindTheMacHeaderIsDetected) {
    test::Random random(3);
    for (Opcode op : test::all_opcodes())
        for (L3Kind l3 : {L3Kind::kIpv4, L3Kind::kIpv6}) {
            const std::size_t n = traits(op).carries_payload ? 37 : 0;
            auto frame = test::make_frame(test::random_path(random, l3, false),
                                          test::random_headers(random, op, n),
                                          test::random_bytes(random, n));
            for (std::size_t i = kEthernetBytes; i < frame.size(); ++i)
                for (unsigned bit = 0; bit < 8; ++bit) {
                    const auto flip = static_cast<std::byte>(1 << bit);
                    frame[i] ^= flip;
                    Packet packet;
                    const bool accepted =
                        parse(frame, packet) == ParseResult::kRoce && icrc_check(frame, packet);
                    ASSERT_EQ(accepted, byte_is_masked(i - kEthernetBytes, l3, bit))
                        << name(op) << " byte " << i << " bit " << bit;
                    frame[i] ^= flip;
                }
        }
}

TEST(Icrc, BitFlipsInLargePacketsAreDetected) {
    test::Random random(4);
    auto frame = test::make_frame(test::random_path(random, L3Kind::kIpv4, false),
                                  test::random_headers(random, Opcode::kRcWriteMiddle, kMaxPmtu),
                                  test::random_bytes(random, kMaxPmtu));
    Packet packet;
    ASSERT_EQ(parse(frame, packet), ParseResult::kRoce);
    for (std::size_t i = packet.payload_offset; i < frame.size(); ++i) {
        const auto flip = static_cast<std::byte>(1 << random() % 8);
        frame[i] ^= flip;
        ASSERT_FALSE(icrc_check(frame, packet)) << i;
        frame[i] ^= flip;
    }
    EXPECT_TRUE(icrc_check(frame, packet));
}

TEST(Icrc, FieldsThatRoutersChangeAreStillAccepted) {
    test::Random random(5);
    for (L3Kind l3 : {L3Kind::kIpv4, L3Kind::kIpv6}) {
        NetworkPath path = test::random_path(random, l3, false);
        path.dscp = 3;
        path.ecn = 1;
        path.hop_limit = 64;
        path.flow_label = l3 == L3Kind::kIpv6 ? 5 : 0;
        auto frame = test::make_frame(path, test::random_headers(random, Opcode::kRcSendOnly, 5),
                                      test::random_bytes(random, 5));
        std::byte* const ip = frame.data() + kEthernetBytes;
        const std::size_t ip_bytes = l3 == L3Kind::kIpv4 ? kIpv4Bytes : kIpv6Bytes;
        if (l3 == L3Kind::kIpv4) {
            ip[1] = std::byte{0x17};  // TOS
            ip[8] = std::byte{7};     // TTL
            test::refresh_ipv4_checksum(ip);
        } else {
            store_be32(ip, 0x6abcdef0);  // traffic class and flow label
            ip[7] = std::byte{7};        // hop limit
        }
        store_be16(ip + ip_bytes + 6, 0x1234);   // UDP checksum
        ip[ip_bytes + 8 + 4] = std::byte{0xc0};  // FECN, BECN
        Packet packet;
        ASSERT_EQ(parse(frame, packet), ParseResult::kRoce);
        EXPECT_TRUE(icrc_check(frame, packet));
        EXPECT_EQ(packet.hop_limit, 7);
        EXPECT_TRUE(packet.bth.fecn && packet.bth.becn);
    }
}

TEST(Icrc, AppendRepairsAPatchedFrame) {
    test::Random random(6);
    auto frame = test::make_frame(test::random_path(random, L3Kind::kIpv6, true),
                                  test::random_headers(random, Opcode::kRcSendOnly, 100),
                                  test::random_bytes(random, 100));
    Packet packet;
    ASSERT_EQ(parse(frame, packet), ParseResult::kRoce);
    frame[packet.payload_offset] ^= std::byte{1};
    EXPECT_FALSE(icrc_check(frame, packet));
    icrc_append(frame, packet.l3_offset, packet.l3);
    EXPECT_TRUE(icrc_check(frame, packet));
}

}  // namespace
}  // namespace dingo::packet
