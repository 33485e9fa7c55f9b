// SPDX-License-Identifier: BSD-2-Clause
#include "dingo/packet/text.h"

#include <gtest/gtest.h>

#include "dingo/packet/icrc.h"
#include "support.h"

namespace dingo::packet {
namespace {

TextPacket must_parse(std::string_view line) {
    std::string error;
    const auto packet = parse_text(line, error);
    EXPECT_TRUE(packet) << line << ": " << error;
    return packet.value_or(TextPacket{});
}

std::string error_of(std::string_view line) {
    std::string error;
    EXPECT_FALSE(parse_text(line, error)) << line;
    return error;
}

TEST(Text, LineOfTheHouseBecomesAPacket) {
    const TextPacket p = must_parse(
        "RC_RDMA_WRITE_ONLY qpn=0x11 psn=5 ackreq va=0x1000 rkey=0x1234 len=8 "
        "payload=hex:0011223344556677");
    EXPECT_EQ(p.bth.opcode, Opcode::kRcWriteOnly);
    EXPECT_EQ(p.bth.dest_qp, 0x11u);
    EXPECT_EQ(p.bth.psn, 5u);
    EXPECT_TRUE(p.bth.ack_req);
    EXPECT_EQ(p.bth.pkey, 0xffff);
    EXPECT_EQ(p.reth, (Reth{0x1000, 0x1234, 8}));
    ASSERT_EQ(p.payload.size(), 8u);
    EXPECT_EQ(p.payload[7], std::byte{0x77});
}

TEST(Text, PrintedFormIsStable) {
    TransportHeaders h;
    h.bth.opcode = Opcode::kRcWriteOnlyImm;
    h.bth.dest_qp = 0x11;
    h.bth.psn = 5;
    h.bth.ack_req = true;
    h.reth = {0x1000, 0x1234, 64};
    h.imm = 7;
    EXPECT_EQ(to_text(h, std::vector<std::byte>(64)),
              "RC_RDMA_WRITE_ONLY_IMM qpn=0x11 psn=5 ackreq pkey=0xffff va=0x1000 rkey=0x1234 "
              "len=64 imm=0x7 payload=64");
    TransportHeaders ack;
    ack.bth.opcode = Opcode::kRcAck;
    ack.aeth = {0x62, 9};
    EXPECT_EQ(to_text(ack, {}),
              "RC_ACKNOWLEDGE qpn=0x0 psn=0 pkey=0xffff syndrome=nak:access msn=9");
}

TEST(Text, EveryPacketReadsBackFromItsText) {
    test::Random random(1);
    test::for_each_path_kind([&](L3Kind l3, bool vlan) {
        for (Opcode op : test::all_opcodes())
            for (std::size_t n : {0, 1, 2, 3, 64}) {
                if (n != 0 && !traits(op).carries_payload)
                    continue;
                const auto frame = test::make_frame(
                    test::random_path(random, l3, vlan), test::random_headers(random, op, n),
                    test::random_bytes(random, n), test::random_value<std::uint16_t>(random));
                Packet packet;
                ASSERT_EQ(parse(frame, packet), ParseResult::kRoce);
                const std::string line = to_text(packet, PayloadText::kHex);
                EXPECT_EQ(build_text(NetworkPath{}, must_parse(line)), frame) << line;
            }
    });
}

TEST(Text, EverySyndromeReadsBack) {
    for (unsigned s = 0; s < 256; ++s) {
        TransportHeaders h;
        h.bth.opcode = Opcode::kRcAck;
        h.aeth.syndrome = static_cast<std::uint8_t>(s);
        EXPECT_EQ(must_parse(to_text(h, {})).aeth.syndrome, s);
    }
    EXPECT_EQ(must_parse("RC_ACKNOWLEDGE syndrome=rnr:12").aeth.syndrome, 0x2c);
    EXPECT_EQ(must_parse("RC_ACKNOWLEDGE syndrome=0x60").aeth.syndrome, 0x60);
}

TEST(Text, PayloadForms) {
    EXPECT_EQ(must_parse("RC_SEND_ONLY").payload.size(), 0u);
    EXPECT_EQ(must_parse("RC_SEND_ONLY payload=zero:3").payload, std::vector<std::byte>(3));
    const auto pattern = must_parse("RC_SEND_ONLY payload=pattern:300").payload;
    ASSERT_EQ(pattern.size(), 300u);
    EXPECT_EQ(pattern[0], std::byte{0});
    EXPECT_EQ(pattern[250], std::byte{250});
    EXPECT_EQ(pattern[251], std::byte{0});
    EXPECT_EQ(must_parse("RC_SEND_ONLY payload=300").payload, pattern);
    const auto tail = must_parse("RC_SEND_ONLY payload=pattern:100@200").payload;
    EXPECT_TRUE(std::equal(tail.begin(), tail.end(), pattern.begin() + 200));
}

TEST(Text, ErrorsNameTheWordAtFault) {
    EXPECT_EQ(error_of(""), "unknown opcode ''");
    EXPECT_EQ(error_of("RC_SEND_ONLYY psn=1"), "unknown opcode 'RC_SEND_ONLYY'");
    EXPECT_EQ(error_of("RC_SEND_ONLY psm=1"), "unknown key 'psm'");
    EXPECT_EQ(error_of("RC_SEND_ONLY ackreqq"), "unknown flag 'ackreqq'");
    EXPECT_EQ(error_of("RC_SEND_ONLY psn"), "unknown flag 'psn'");
    EXPECT_EQ(error_of("RC_SEND_ONLY psn=1 psn=2"), "'psn' is given twice");
    EXPECT_EQ(error_of("RC_SEND_ONLY psn=0x1000000"), "bad value '0x1000000' for 'psn'");
    EXPECT_EQ(error_of("RC_SEND_ONLY psn=-1"), "bad value '-1' for 'psn'");
    EXPECT_EQ(error_of("RC_SEND_ONLY psn="), "bad value '' for 'psn'");
    EXPECT_EQ(error_of("RC_SEND_ONLY va=1"), "'RC_SEND_ONLY' has no field 'va'");
    EXPECT_EQ(error_of("RC_SEND_ONLY syndrome=ack"), "'RC_SEND_ONLY' has no field 'syndrome'");
    EXPECT_EQ(error_of("RC_ACKNOWLEDGE syndrome=rnr:32"), "bad value 'rnr:32' for 'syndrome'");
    for (const char* bad : {"hex:0", "hex:0g", "zero:65536", "pattern:1@", "blob:1", "-1", ""})
        EXPECT_EQ(error_of(std::string("RC_SEND_ONLY payload=") + bad),
                  std::string("bad value '") + bad + "' for 'payload'");
    EXPECT_EQ(error_of("RC_SEND_ONLY src=1.2.3"), "bad value '1.2.3' for 'src'");
}

TEST(Text, OverridesReachTheWire) {
    NetworkPath path;
    path.sgid = Gid::from_ipv4(0x0a000001);
    path.dgid = Gid::from_ipv4(0x0a000002);
    Packet packet;

    auto frame =
        build_text(path, must_parse("RC_SEND_ONLY payload=4 src=10.0.0.9 ecn=3 ttl=1 vlan=5"));
    ASSERT_EQ(parse(frame, packet), ParseResult::kRoce);
    EXPECT_EQ(to_string(packet.sgid), "10.0.0.9");
    EXPECT_EQ(to_string(packet.dgid), "10.0.0.2");
    EXPECT_EQ(packet.ecn, 3);
    EXPECT_EQ(packet.hop_limit, 1);
    EXPECT_EQ(packet.vlan_tci, 5);

    frame = build_text(path, must_parse("RC_SEND_ONLY src=fd77::1 dst=fd77::2"));
    ASSERT_EQ(parse(frame, packet), ParseResult::kRoce);
    EXPECT_EQ(packet.l3, L3Kind::kIpv6);
    EXPECT_TRUE(build_text(path, must_parse("RC_SEND_ONLY src=fd77::1")).empty())
        << "one address of each IP version";
}

TEST(Text, ScriptsCanSendWhatACardNeverWould) {
    const NetworkPath path;
    Packet packet;
    auto frame = build_text(path, must_parse("RC_SEND_ONLY badicrc payload=4"));
    ASSERT_EQ(parse(frame, packet), ParseResult::kRoce);
    EXPECT_FALSE(icrc_check(frame, packet));

    frame = build_text(path, must_parse("RC_SEND_ONLY tver=1"));
    EXPECT_EQ(parse(frame, packet), ParseResult::kTransportVersion);
    frame = build_text(path, must_parse("RC_SEND_ONLY opcode=0x15"));
    EXPECT_EQ(parse(frame, packet), ParseResult::kUnknownOpcode);
    frame = build_text(path, must_parse("RC_SEND_ONLY pad=3"));
    EXPECT_EQ(parse(frame, packet), ParseResult::kPadTooLong);

    frame = build_text(path, must_parse("RC_SEND_ONLY pad=3 payload=4"));
    ASSERT_EQ(parse(frame, packet), ParseResult::kRoce);
    EXPECT_TRUE(icrc_check(frame, packet));
    EXPECT_EQ(packet.payload.size(), 1u);

    EXPECT_TRUE(build_text(path, must_parse("RC_SEND_ONLY payload=zero:65535")).empty());
}

}  // namespace
}  // namespace dingo::packet
