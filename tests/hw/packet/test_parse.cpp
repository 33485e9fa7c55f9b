// SPDX-License-Identifier: BSD-2-Clause
//
// What parse() rejects and why; hostile bytes never make it read outside the frame.
#include "dingo/packet/parse.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "support.h"

namespace dingo::packet {
namespace {

constexpr std::size_t kIp = kEthernetBytes;
constexpr std::size_t kUdpV4 = kIp + kIpv4Bytes;
constexpr std::size_t kBthV4 = kUdpV4 + kUdpBytes;
constexpr std::size_t kUdpV6 = kIp + kIpv6Bytes;

std::vector<std::byte> good(L3Kind l3, Opcode op = Opcode::kRcSendOnly, std::size_t payload = 8,
                            bool vlan = false) {
    test::Random random(7);
    return test::make_frame(test::random_path(random, l3, vlan),
                            test::random_headers(random, op, payload),
                            test::random_bytes(random, payload));
}

ParseResult verdict(const std::vector<std::byte>& frame) {
    Packet packet;
    return parse(frame, packet);
}

/// Cuts a valid IPv4 frame to `bytes` after the UDP header and adjusts all lengths.
std::vector<std::byte> with_udp_payload(std::vector<std::byte> frame, std::size_t bytes) {
    frame.resize(kBthV4 + bytes);
    store_be16(frame.data() + kIp + 2, static_cast<std::uint16_t>(frame.size() - kIp));
    store_be16(frame.data() + kUdpV4 + 4, static_cast<std::uint16_t>(frame.size() - kUdpV4));
    test::refresh_ipv4_checksum(frame.data() + kIp);
    return frame;
}

TEST(Parse, OtherTrafficGoesToTheEthernetFunction) {
    for (L3Kind l3 : {L3Kind::kIpv4, L3Kind::kIpv6}) {
        auto frame = good(l3);
        store_be16(frame.data() + 12, 0x0806);
        EXPECT_EQ(verdict(frame), ParseResult::kNotRoce) << "ARP";
        frame = good(l3);
        store_be16(frame.data() + 12, l3 == L3Kind::kIpv4 ? kEtherTypeIpv6 : kEtherTypeIpv4);
        EXPECT_EQ(verdict(frame), ParseResult::kNotRoce) << "EtherType and version disagree";
        frame = good(l3);
        const std::size_t udp = l3 == L3Kind::kIpv4 ? kUdpV4 : kUdpV6;
        store_be16(frame.data() + udp + 2, 4790);
        EXPECT_EQ(verdict(frame), ParseResult::kNotRoce) << "other port";
        frame = good(l3);
        frame[kIp + (l3 == L3Kind::kIpv4 ? 9 : 6)] = std::byte{6};
        EXPECT_EQ(verdict(frame), ParseResult::kNotRoce) << "TCP";
    }
    auto options = good(L3Kind::kIpv4);
    options[kIp] = std::byte{0x46};
    EXPECT_EQ(verdict(options), ParseResult::kNotRoce) << "IPv4 options";
    auto extension = good(L3Kind::kIpv6);
    extension[kIp + 6] = std::byte{0};
    EXPECT_EQ(verdict(extension), ParseResult::kNotRoce) << "IPv6 hop-by-hop header";
    auto two_tags = good(L3Kind::kIpv4, Opcode::kRcSendOnly, 8, true);
    store_be16(two_tags.data() + 16, kEtherTypeVlan);
    EXPECT_EQ(verdict(two_tags), ParseResult::kNotRoce);
    store_be16(two_tags.data() + 12, 0x88a8);
    EXPECT_EQ(verdict(two_tags), ParseResult::kNotRoce);
}

TEST(Parse, RuntIsShorterThanAnEthernetHeader) {
    EXPECT_EQ(verdict({}), ParseResult::kRunt);
    EXPECT_EQ(verdict(std::vector<std::byte>(13)), ParseResult::kRunt);
    EXPECT_EQ(verdict(std::vector<std::byte>(14)), ParseResult::kNotRoce);
}

TEST(Parse, FirstFragmentIsDroppedLaterOnesGoToTheHost) {
    auto frame = good(L3Kind::kIpv4);
    store_be16(frame.data() + kIp + 6, 0x2000);
    test::refresh_ipv4_checksum(frame.data() + kIp);
    EXPECT_EQ(verdict(frame), ParseResult::kFragment);
    store_be16(frame.data() + kIp + 6, 0x2001);
    EXPECT_EQ(verdict(frame), ParseResult::kNotRoce);
    store_be16(frame.data() + kIp + 6, 0);
    test::refresh_ipv4_checksum(frame.data() + kIp);
    EXPECT_EQ(verdict(frame), ParseResult::kRoce) << "don't-fragment is not required";
}

TEST(Parse, WrongIpv4Checksum) {
    auto frame = good(L3Kind::kIpv4);
    frame[kIp + 8] ^= std::byte{1};
    EXPECT_EQ(verdict(frame), ParseResult::kIpChecksum);
}

TEST(Parse, IpLengthOutsideTheFrameOrBelowItsHeaders) {
    for (std::uint16_t length : {0, 19, 20, 27}) {
        auto frame = good(L3Kind::kIpv4);
        store_be16(frame.data() + kIp + 2, length);
        test::refresh_ipv4_checksum(frame.data() + kIp);
        EXPECT_EQ(verdict(frame), ParseResult::kIpLength) << length;
    }
    for (L3Kind l3 : {L3Kind::kIpv4, L3Kind::kIpv6}) {
        auto frame = good(l3);
        std::byte* const length = frame.data() + kIp + (l3 == L3Kind::kIpv4 ? 2 : 4);
        for (int more : {1, 1000}) {
            store_be16(length, static_cast<std::uint16_t>(load_be16(length) + more));
            if (l3 == L3Kind::kIpv4)
                test::refresh_ipv4_checksum(frame.data() + kIp);
            EXPECT_EQ(verdict(frame), ParseResult::kIpLength);
        }
    }
    auto v6 = good(L3Kind::kIpv6);
    store_be16(v6.data() + kIp + 4, 7);
    EXPECT_EQ(verdict(v6), ParseResult::kIpLength);
}

TEST(Parse, UdpLengthMustFitTheIpLength) {
    for (L3Kind l3 : {L3Kind::kIpv4, L3Kind::kIpv6})
        for (int change : {-4, -1, 1, 4}) {
            auto frame = good(l3);
            std::byte* const length = frame.data() + (l3 == L3Kind::kIpv4 ? kUdpV4 : kUdpV6) + 4;
            store_be16(length, static_cast<std::uint16_t>(load_be16(length) + change));
            EXPECT_EQ(verdict(frame), ParseResult::kUdpLength) << change;
        }
}

TEST(Parse, NoRoomForBthAndIcrc) {
    for (std::size_t n : {0, 4, 12, 15})
        EXPECT_EQ(verdict(with_udp_payload(good(L3Kind::kIpv4), n)), ParseResult::kTooShort) << n;
    auto v6 = good(L3Kind::kIpv6);
    store_be16(v6.data() + kIp + 4, 8);
    store_be16(v6.data() + kUdpV6 + 4, 8);
    EXPECT_EQ(verdict(v6), ParseResult::kTooShort) << "a UDP header alone";
    auto frame = with_udp_payload(good(L3Kind::kIpv4, Opcode::kRcSendOnly, 0), 16);
    EXPECT_EQ(verdict(frame), ParseResult::kRoce);
}

TEST(Parse, TransportVersionOtherThanZero) {
    for (unsigned version = 1; version < 16; ++version) {
        auto frame = good(L3Kind::kIpv4);
        frame[kBthV4 + 1] |= static_cast<std::byte>(version);
        EXPECT_EQ(verdict(frame), ParseResult::kTransportVersion);
    }
}

TEST(Parse, UnknownOpcode) {
    for (unsigned op = 0; op < 256; ++op) {
        auto frame = good(L3Kind::kIpv4, Opcode::kRcSendOnly, 64);
        frame[kBthV4] = static_cast<std::byte>(op);
        const bool known = traits(static_cast<Opcode>(op)).known();
        EXPECT_EQ(verdict(frame), known ? ParseResult::kRoce : ParseResult::kUnknownOpcode) << op;
    }
}

TEST(Parse, NoRoomForTheExtensionHeaders) {
    for (Opcode op : test::all_opcodes()) {
        const std::size_t headers = traits(op).header_bytes;
        const auto frame = good(L3Kind::kIpv4, op, 0);
        EXPECT_EQ(verdict(with_udp_payload(frame, headers + kIcrcBytes)), ParseResult::kRoce);
        for (std::size_t n = kBthBytes + kIcrcBytes; n < headers + kIcrcBytes; ++n)
            EXPECT_EQ(verdict(with_udp_payload(frame, n)), ParseResult::kHeaderTruncated)
                << name(op) << " " << n;
    }
}

TEST(Parse, PayloadAndPadAreWholeWords) {
    for (std::size_t cut : {1, 2, 3}) {
        const auto frame = good(L3Kind::kIpv4, Opcode::kRcSendOnly, 8);
        const auto unaligned = with_udp_payload(frame, frame.size() - kBthV4 - cut);
        EXPECT_EQ(verdict(unaligned), ParseResult::kUnalignedLength) << cut;
    }
}

TEST(Parse, PadLongerThanWhatStandsBehindTheHeaders) {
    for (unsigned pad = 1; pad < 4; ++pad) {
        auto frame = good(L3Kind::kIpv4, Opcode::kRcSendOnly, 0);
        frame[kBthV4 + 1] |= static_cast<std::byte>(pad << 4);
        EXPECT_EQ(verdict(frame), ParseResult::kPadTooLong);
        frame = good(L3Kind::kIpv4, Opcode::kRcSendOnly, 4);
        frame[kBthV4 + 1] |= static_cast<std::byte>(pad << 4);
        Packet packet;
        ASSERT_EQ(parse(frame, packet), ParseResult::kRoce);
        EXPECT_EQ(packet.payload.size(), 4 - pad);
    }
}

TEST(Parse, EthernetPaddingBehindTheIpLengthIsNotPayload) {
    test::for_each_path_kind([](L3Kind l3, bool vlan) {
        auto frame = good(l3, Opcode::kRcSendOnly, 0, vlan);
        const std::size_t real = frame.size();
        for (int i = 0; i < 50; ++i) {
            frame.push_back(std::byte{0xee});
            Packet packet;
            ASSERT_EQ(parse(frame, packet), ParseResult::kRoce);
            EXPECT_EQ(packet.frame_bytes(), real);
            EXPECT_TRUE(packet.payload.empty());
        }
    });
}

TEST(Parse, EveryTruncationIsRefusedWithoutReadingBeyondIt) {
    test::for_each_path_kind([](L3Kind l3, bool vlan) {
        for (Opcode op : test::all_opcodes()) {
            const auto frame = good(l3, op, traits(op).carries_payload ? 7 : 0, vlan);
            for (std::size_t n = 0; n < frame.size(); ++n) {
                // A heap block of exactly n bytes, so that AddressSanitizer detects overreads.
                const std::vector<std::byte> cut(frame.begin(),
                                                 frame.begin() + static_cast<std::ptrdiff_t>(n));
                const ParseResult result = verdict(cut);
                const std::size_t udp_end = kEthernetBytes + (vlan ? kVlanBytes : 0) +
                                            (l3 == L3Kind::kIpv4 ? kIpv4Bytes : kIpv6Bytes) +
                                            kUdpBytes;
                EXPECT_EQ(result, n < kEthernetBytes ? ParseResult::kRunt
                                  : n < udp_end      ? ParseResult::kNotRoce
                                                     : ParseResult::kIpLength)
                    << name(op) << " " << n;
            }
        }
    });
}

TEST(Parse, RandomDamageNeverLeadsOutsideTheFrame) {
    test::Random random(8);
    const auto opcodes = test::all_opcodes();
    std::set<ParseResult> seen;
    for (int i = 0; i < test::kManyPackets / 4; ++i) {
        const Opcode op = opcodes[random() % opcodes.size()];
        auto frame = good(random() % 2 ? L3Kind::kIpv4 : L3Kind::kIpv6, op, random() % 20,
                          random() % 4 == 0);
        for (std::uint64_t hits = 1 + random() % 4; hits > 0; --hits)
            frame[12 + random() % (frame.size() - 12)] = test::random_value<std::byte>(random);
        if (random() % 2)
            frame.resize(random() % frame.size());
        frame.shrink_to_fit();
        Packet packet;
        const ParseResult result = parse(frame, packet);
        seen.insert(result);
        if (result != ParseResult::kRoce)
            continue;
        ASSERT_LE(packet.frame_bytes(), frame.size());
        ASSERT_EQ(packet.payload.data(), frame.data() + packet.payload_offset);
        ASSERT_EQ(packet.payload_offset + packet.payload.size() + packet.bth.pad,
                  packet.icrc_offset);
    }
    EXPECT_GT(seen.size(), 6u) << "the damage reached several checks";
}

TEST(Parse, FramesLongerThan64KiBAreCutNotTrusted) {
    auto frame = good(L3Kind::kIpv6);
    frame.resize(70'000);
    store_be16(frame.data() + kIp + 4, 0xffff);
    EXPECT_EQ(verdict(frame), ParseResult::kIpLength);
}

TEST(Parse, EveryResultHasAName) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < kParseResultCount; ++i)
        names.insert(to_string(static_cast<ParseResult>(i)));
    EXPECT_EQ(names.size(), kParseResultCount);
    EXPECT_EQ(to_string(ParseResult::kPadTooLong), "pad_too_long");
    EXPECT_EQ(to_string(static_cast<ParseResult>(200)), "?");
}

}  // namespace
}  // namespace dingo::packet
