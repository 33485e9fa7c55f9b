// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "dingo/packet/opcodes.h"
#include "support.h"

namespace dingo::packet {
namespace {

TEST(Opcodes, ExactlyTheOpcodesOfTheCardAreKnown) {
    for (unsigned i = 0; i < 256; ++i) {
        const bool rc = i <= 0x14 || i == 0x16 || i == 0x17;
        const bool uc = i >= 0x20 && i <= 0x2b;
        const bool ud = i == 0x64 || i == 0x65;
        EXPECT_EQ(traits(static_cast<Opcode>(i)).known(), rc || uc || ud || i == 0x81) << i;
    }
}

TEST(Opcodes, AnUnknownOpcodeHasNoPlaceInAMessageAndNoHeaders) {
    const OpcodeTraits& unknown = traits(Opcode{0xff});
    EXPECT_FALSE(unknown.known());
    EXPECT_FALSE(unknown.first || unknown.last || unknown.carries_payload);
    EXPECT_EQ(unknown.extensions, 0);
    EXPECT_EQ(unknown.header_bytes, 0);
}

TEST(Opcodes, NamesAreUniqueAndLeadBack) {
    std::set<std::string> names;
    for (Opcode op : test::all_opcodes()) {
        EXPECT_TRUE(names.insert(std::string(name(op))).second) << name(op);
        EXPECT_EQ(opcode_from_name(name(op)), op);
    }
    EXPECT_EQ(opcode_from_name("UNKNOWN"), std::nullopt);
    EXPECT_EQ(opcode_from_name(""), std::nullopt);
    EXPECT_EQ(opcode_from_name("RC_SEND_FIRS"), std::nullopt);
}

TEST(Opcodes, HeaderBytesOfTheUsualPackets) {
    EXPECT_EQ(traits(Opcode::kRcSendFirst).header_bytes, 12);
    EXPECT_EQ(traits(Opcode::kRcWriteOnly).header_bytes, 28);
    EXPECT_EQ(traits(Opcode::kRcWriteOnlyImm).header_bytes, 32);
    EXPECT_EQ(traits(Opcode::kRcWriteLastImm).header_bytes, 16);
    EXPECT_EQ(traits(Opcode::kRcReadResponseMiddle).header_bytes, 12);
    EXPECT_EQ(traits(Opcode::kRcReadResponseLast).header_bytes, 16);
    EXPECT_EQ(traits(Opcode::kRcAck).header_bytes, 16);
    EXPECT_EQ(traits(Opcode::kRcAtomicAck).header_bytes, 24);
    EXPECT_EQ(traits(Opcode::kRcCmpSwap).header_bytes, 40);
    EXPECT_EQ(traits(Opcode::kRcSendOnlyInv).header_bytes, 16);
    EXPECT_EQ(traits(Opcode::kUdSendOnlyImm).header_bytes, 24);
    EXPECT_EQ(traits(Opcode::kCnp).header_bytes, 28);
}

TEST(Opcodes, NamesAgreeWithTraits) {
    auto has = [](std::string_view text, std::string_view part) {
        return text.find(part) != std::string_view::npos;
    };
    for (Opcode op : test::all_opcodes()) {
        const OpcodeTraits& t = traits(op);
        const std::string_view n = t.name;
        SCOPED_TRACE(n);
        EXPECT_EQ(t.has_imm(), n.ends_with("_IMM"));
        EXPECT_EQ(t.has_ieth(), n.ends_with("_INV"));
        EXPECT_EQ(t.first && !t.last, n.ends_with("_FIRST"));
        EXPECT_EQ(t.middle(), n.ends_with("_MIDDLE"));
        EXPECT_EQ(t.last && !t.first, has(n, "_LAST"));
        EXPECT_EQ(t.is_send(), has(n, "SEND"));
        EXPECT_EQ(t.is_write(), has(n, "WRITE"));
        EXPECT_EQ(t.is_read_response(), has(n, "READ_RESPONSE"));
        EXPECT_EQ(t.has_deth(), n.starts_with("UD_"));
        EXPECT_EQ(t.has_reth(), (t.is_write() && t.first) || t.is_read_request());
        EXPECT_EQ(t.has_aeth(), t.is_response() && !t.middle());
        EXPECT_EQ(t.has_atomic_eth(), t.is_atomic());
        EXPECT_EQ(t.carries_payload, t.is_send() || t.is_write() || t.is_read_response());
        EXPECT_LE(t.header_bytes, kMaxTransportHeaderBytes);
        EXPECT_EQ(t.is_request() + t.is_response(), t.transport == Transport::kCnp ? 0 : 1);
    }
}

}  // namespace
}  // namespace dingo::packet
