// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "dingo/packet/build.h"

#include <gtest/gtest.h>

#include "dingo/packet/icrc.h"
#include "support.h"

namespace dingo::packet {
namespace {

constexpr std::size_t kPayloadSizes[] = {0,    1,    2,    3,    4,    5,    7,   8,    63,
                                         64,   65,   255,  256,  257,  511,  512, 1023, 1024,
                                         1025, 2047, 2048, 2049, 4094, 4095, 4096};

TEST(Build, ParseGivesBackWhatWasBuilt) {
    test::Random random(1);
    test::for_each_path_kind([&](L3Kind l3, bool vlan) {
        for (Opcode op : test::all_opcodes())
            for (std::size_t n : kPayloadSizes) {
                if (n != 0 && !traits(op).carries_payload)
                    continue;
                SCOPED_TRACE(std::string(name(op)) + " " + std::to_string(n));
                const NetworkPath path = test::random_path(random, l3, vlan);
                const TransportHeaders headers = test::random_headers(random, op, n);
                const auto payload = test::random_bytes(random, n);
                const auto ip_id = test::random_value<std::uint16_t>(random);
                const auto frame = test::make_frame(path, headers, payload, ip_id);
                ASSERT_FALSE(frame.empty());
                Packet packet;
                ASSERT_EQ(parse(frame, packet), ParseResult::kRoce);
                EXPECT_EQ(static_cast<const NetworkPath&>(packet), path);
                EXPECT_EQ(static_cast<const TransportHeaders&>(packet), headers);
                EXPECT_TRUE(std::ranges::equal(packet.payload, payload));
                EXPECT_EQ(packet.ip_id, l3 == L3Kind::kIpv4 ? ip_id : 0);
                EXPECT_EQ(packet.frame_bytes(), frame.size());
                EXPECT_TRUE(icrc_check(frame, packet));
            }
    });
}

TEST(Build, NothingOfAnEarlierPacketStaysInAReusedOne) {
    test::Random random(2);
    const auto opcodes = test::all_opcodes();
    Packet reused;
    for (int i = 0; i < 5000; ++i) {
        const auto l3 = random() % 2 ? L3Kind::kIpv4 : L3Kind::kIpv6;
        const auto frame =
            test::make_frame(test::random_path(random, l3, random() % 2),
                             test::random_headers(random, opcodes[random() % opcodes.size()], 0),
                             {}, test::random_value<std::uint16_t>(random));
        Packet fresh;
        ASSERT_EQ(parse(frame, reused), ParseResult::kRoce);
        ASSERT_EQ(parse(frame, fresh), ParseResult::kRoce);
        ASSERT_EQ(static_cast<TransportHeaders&>(reused), static_cast<TransportHeaders&>(fresh));
        ASSERT_EQ(static_cast<NetworkPath&>(reused), static_cast<NetworkPath&>(fresh));
        ASSERT_EQ(reused.ip_id, fresh.ip_id);
    }
}

TEST(Build, WhatAnOpcodeDoesNotHaveIsZeroAfterParsing) {
    test::Random random(8);
    const auto v4 = test::random_path(random, L3Kind::kIpv4, false);
    Packet packet;
    const auto parsed = [&](Opcode op) {
        ASSERT_EQ(parse(test::make_frame(v4, test::random_headers(random, op, 0), {}), packet),
                  ParseResult::kRoce);
    };
    parsed(Opcode::kRcCmpSwap);
    parsed(Opcode::kRcWriteOnlyImm);
    parsed(Opcode::kRcSendOnly);
    EXPECT_EQ(packet.reth.va, 0u);
    EXPECT_EQ(packet.reth.rkey, 0u);
    EXPECT_EQ(packet.reth.length, 0u);
    EXPECT_EQ(packet.atomic_eth.va, 0u);
    EXPECT_EQ(packet.atomic_eth.rkey, 0u);
    EXPECT_EQ(packet.atomic_eth.swap_add, 0u);
    EXPECT_EQ(packet.atomic_eth.compare, 0u);
    EXPECT_EQ(packet.imm, 0u);
    parsed(Opcode::kUdSendOnly);
    parsed(Opcode::kRcAck);
    parsed(Opcode::kRcAtomicAck);
    parsed(Opcode::kRcSendOnlyInv);
    EXPECT_EQ(packet.deth.qkey, 0u);
    EXPECT_EQ(packet.deth.src_qp, 0u);
    EXPECT_EQ(packet.aeth.syndrome, 0u);
    EXPECT_EQ(packet.aeth.msn, 0u);
    EXPECT_EQ(packet.atomic_original, 0u);
    parsed(Opcode::kRcSendOnly);
    EXPECT_EQ(packet.inv_rkey, 0u);
}

TEST(Build, LengthsInATemplateAreThePacketsAndStillZero) {
    test::Random random(10);
    test::for_each_path_kind([&](L3Kind l3, bool vlan) {
        const HeaderTemplate path(test::random_path(random, l3, vlan));
        const std::byte* const udp = path.headers().last(kUdpBytes).data();
        EXPECT_EQ(load_be16(udp + UdpHeader::kLengthOffset), 0);
    });
}

TEST(Build, EtherTypesAreThoseThatSwitchesKnow) {
    test::Random random(9);
    test::for_each_path_kind([&](L3Kind l3, bool vlan) {
        const auto frame = test::make_frame(test::random_path(random, l3, vlan),
                                            test::random_headers(random, Opcode::kRcAck, 0), {});
        const std::uint16_t ip = l3 == L3Kind::kIpv4 ? 0x0800 : 0x86dd;
        EXPECT_EQ(load_be16(frame.data() + 12), vlan ? 0x8100 : ip);
        EXPECT_EQ(load_be16(frame.data() + (vlan ? 16 : 12)), ip);
    });
}

TEST(Build, Ipv4ChecksumFitsForEveryIdAndLength) {
    test::Random random(3);
    std::vector<std::byte> buffer(kMaxRoceFrameBytes);
    FrameBuilder builder;
    for (int id = 0; id <= 0xffff; ++id) {
        const HeaderTemplate path(test::random_path(random, L3Kind::kIpv4, false));
        TransportHeaders headers;
        headers.bth.opcode = Opcode::kRcSendOnly;
        ASSERT_TRUE(builder.begin(path, headers, random() % (kMaxPmtu + 1),
                                  static_cast<std::uint16_t>(id), buffer));
        ASSERT_EQ(ipv4_header_sum(buffer.data() + kEthernetBytes), 0xffff);
    }
    // With one of these addresses, adding the carry of the sum produces another carry.
    for (std::uint32_t address = 0; address <= 0xffff; ++address) {
        NetworkPath path;
        path.sgid = Gid::from_ipv4(address);
        path.dgid = Gid::from_ipv4(0);
        TransportHeaders headers;
        headers.bth.opcode = Opcode::kRcAck;
        ASSERT_TRUE(builder.begin(HeaderTemplate(path), headers, 0, 0xffff, buffer));
        ASSERT_EQ(ipv4_header_sum(buffer.data() + kEthernetBytes), 0xffff) << address;
    }
}

TEST(Build, DontFragmentIsSetAndUdpChecksumIsZero) {
    test::Random random(4);
    const auto v4 = test::make_frame(test::random_path(random, L3Kind::kIpv4, false),
                                     test::random_headers(random, Opcode::kRcAck, 0), {});
    EXPECT_EQ(load_be16(v4.data() + 14 + 6), 0x4000);
    EXPECT_EQ(load_be16(v4.data() + 14 + 20 + 6), 0);
    const auto v6 = test::make_frame(test::random_path(random, L3Kind::kIpv6, false),
                                     test::random_headers(random, Opcode::kRcAck, 0), {});
    EXPECT_EQ(load_be16(v6.data() + 14 + 40 + 6), 0);
}

TEST(Build, WritesNothingOutsideTheFrame) {
    test::Random random(5);
    test::for_each_path_kind([&](L3Kind l3, bool vlan) {
        for (Opcode op : test::all_opcodes()) {
            const HeaderTemplate path(test::random_path(random, l3, vlan));
            const std::size_t total = path.frame_bytes(op, 0);
            std::vector<std::byte> buffer(total + 100, std::byte{0xa5});
            FrameBuilder builder;
            ASSERT_TRUE(builder.begin(path, test::random_headers(random, op, 0), 0, 0, buffer));
            ASSERT_EQ(builder.finish().size(), total);
            for (std::size_t i = total; i < buffer.size(); ++i)
                ASSERT_EQ(buffer[i], std::byte{0xa5});
        }
    });
}

TEST(Build, PadBytesAreZeroEvenInADirtyBuffer) {
    const HeaderTemplate path{NetworkPath{}};
    TransportHeaders headers;
    headers.bth.opcode = Opcode::kRcSendOnly;
    std::vector<std::byte> buffer(200, std::byte{0xff});
    FrameBuilder builder;
    ASSERT_TRUE(builder.begin(path, headers, 1, 0, buffer));
    builder.payload()[0] = std::byte{0x55};
    builder.finish();
    const std::byte* const payload = builder.payload().data();
    for (int i = 1; i < 4; ++i)
        EXPECT_EQ(payload[i], std::byte{0});
}

TEST(Build, ReservedBytesOfACnpAreZeroEvenInADirtyBuffer) {
    const HeaderTemplate path{NetworkPath{}};
    TransportHeaders headers;
    headers.bth.opcode = Opcode::kCnp;
    std::vector<std::byte> buffer(200, std::byte{0xff});
    FrameBuilder builder;
    ASSERT_TRUE(builder.begin(path, headers, 0, 0, buffer));
    const auto frame = builder.finish();
    ASSERT_EQ(frame.size(), kEthernetBytes + kIpv4Bytes + kUdpBytes + kBthBytes + 16 + kIcrcBytes);
    for (const std::byte b : frame.last(16 + kIcrcBytes).first(16))
        EXPECT_EQ(b, std::byte{0});
}

TEST(Build, AFrameForNoWireHasZeroForItsIcrc) {
    const HeaderTemplate path{NetworkPath{}};
    TransportHeaders headers;
    headers.bth.opcode = Opcode::kRcSendOnly;
    std::vector<std::byte> buffer(200, std::byte{0xff});
    FrameBuilder builder;
    ASSERT_TRUE(builder.begin(path, headers, 5, 0, buffer));
    for (const std::byte b : builder.finish_without_icrc().last(kIcrcBytes))
        EXPECT_EQ(b, std::byte{0});
}

TEST(Build, RefusesWhatDoesNotFit) {
    const HeaderTemplate path{NetworkPath{}};
    TransportHeaders headers;
    headers.bth.opcode = Opcode::kRcSendOnly;
    FrameBuilder builder;
    std::vector<std::byte> buffer(path.frame_bytes(Opcode::kRcSendOnly, 64) - 1, std::byte{0xa5});
    EXPECT_FALSE(builder.begin(path, headers, 64, 0, buffer));
    EXPECT_FALSE(builder.begin(path, headers, 0, 0, {}));
    EXPECT_TRUE(std::ranges::all_of(buffer, [](std::byte b) { return b == std::byte{0xa5}; }));

    std::vector<std::byte> huge(70'000);
    EXPECT_FALSE(builder.begin(path, headers, 65'535, 0, huge)) << "no IP length for it";
    EXPECT_FALSE(builder.begin(path, headers, SIZE_MAX, 0, huge));
    EXPECT_TRUE(builder.begin(path, headers, 65'400, 0, huge));
    Packet packet;
    EXPECT_EQ(parse(builder.finish(), packet), ParseResult::kRoce);
    EXPECT_EQ(packet.payload.size(), 65'400u);
}

TEST(Build, RefusesUnknownOpcodes) {
    const HeaderTemplate path{NetworkPath{}};
    TransportHeaders headers;
    headers.bth.opcode = static_cast<Opcode>(0x15);
    std::vector<std::byte> buffer(200);
    FrameBuilder builder;
    EXPECT_FALSE(builder.begin(path, headers, 0, 0, buffer));
    EXPECT_EQ(path.frame_bytes(headers.bth.opcode, 0), 0u);
}

TEST(Build, FieldsWiderThanTheWireAreCut) {
    TransportHeaders headers;
    headers.bth.opcode = Opcode::kUdSendOnly;
    headers.bth.dest_qp = 0xff000012;
    headers.bth.psn = 0xff000034;
    headers.deth.src_qp = 0xff000056;
    const auto frame = test::make_frame(NetworkPath{}, headers, {});
    Packet packet;
    ASSERT_EQ(parse(frame, packet), ParseResult::kRoce);
    EXPECT_EQ(packet.bth.dest_qp, 0x12u);
    EXPECT_EQ(packet.bth.psn, 0x34u);
    EXPECT_EQ(packet.deth.src_qp, 0x56u);
    EXPECT_FALSE(packet.bth.fecn || packet.bth.ack_req);
}

TEST(Build, SourcePortsStayInTheRoceRange) {
    EXPECT_EQ(udp_sport_from_flow_label(0), 0xc000);
    EXPECT_EQ(udp_sport_from_flow_label(0x00001), 0xc001);
    EXPECT_EQ(udp_sport_from_flow_label(0xfffff), 0xffff & ~0x3f);
    for (std::uint32_t label = 0; label <= 0xfffff; label += 77)
        ASSERT_GE(udp_sport_from_flow_label(label), 0xc000);
    EXPECT_LE(flow_label_from_qps(0xffffff, 0xffffff), 0xfffffu);
    EXPECT_EQ(flow_label_from_qps(17, 33), flow_label_from_qps(33, 17)) << "same both ways";
}

}  // namespace
}  // namespace dingo::packet
