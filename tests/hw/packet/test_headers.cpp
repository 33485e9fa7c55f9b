// SPDX-License-Identifier: BSD-2-Clause
//
// Each header compared with hand-written bytes, and store(load(x)) == x.
#include <gtest/gtest.h>

#include "dingo/packet/headers.h"
#include "support.h"

namespace dingo::packet {
namespace {

template <std::size_t N>
std::array<std::byte, N> bytes(const std::uint8_t (&values)[N]) {
    std::array<std::byte, N> out;
    for (std::size_t i = 0; i < N; ++i)
        out[i] = std::byte{values[i]};
    return out;
}

TEST(Headers, BthBitsStandWhereTheSpecificationPutsThem) {
    const auto wire =
        bytes({0x0a, 0xe0, 0x80, 0x01, 0xc0, 0x12, 0x34, 0x56, 0x80, 0xab, 0xcd, 0xef});
    const Bth bth = Bth::load(wire.data());
    EXPECT_EQ(bth.opcode, Opcode::kRcWriteOnly);
    EXPECT_TRUE(bth.solicited);
    EXPECT_TRUE(bth.migreq);
    EXPECT_EQ(bth.pad, 2);
    EXPECT_EQ(bth.tver, 0);
    EXPECT_EQ(bth.pkey, 0x8001);
    EXPECT_TRUE(bth.fecn);
    EXPECT_TRUE(bth.becn);
    EXPECT_EQ(bth.dest_qp, 0x123456u);
    EXPECT_TRUE(bth.ack_req);
    EXPECT_EQ(bth.psn, 0xabcdefu);
    std::array<std::byte, kBthBytes> out;
    bth.store(out.data());
    EXPECT_EQ(out, wire);
}

TEST(Headers, BthReservedBitsAreIgnoredAndStoredAsZero) {
    const auto wire = bytes({0x04, 0x0f, 0xff, 0xff, 0x3f, 0, 0, 1, 0x7f, 0, 0, 2});
    const Bth bth = Bth::load(wire.data());
    EXPECT_EQ(bth.tver, 15);
    EXPECT_FALSE(bth.fecn || bth.becn || bth.ack_req);
    EXPECT_EQ(bth.dest_qp, 1u);
    EXPECT_EQ(bth.psn, 2u);
    std::array<std::byte, kBthBytes> out;
    bth.store(out.data());
    EXPECT_EQ(out, bytes({0x04, 0x0f, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 2}));
}

TEST(Headers, ExtensionHeadersAgainstHandWrittenBytes) {
    const auto reth = bytes({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 1, 0});
    EXPECT_EQ(Reth::load(reth.data()), (Reth{0x0102030405060708, 0x090a0b0c, 256}));

    const auto deth = bytes({0x80, 0x01, 0, 0, 0xff, 0, 0, 1});
    EXPECT_EQ(Deth::load(deth.data()), (Deth{0x80010000, 1})) << "upper byte is reserved";

    const auto aeth = bytes({0x62, 0, 1, 2});
    EXPECT_EQ(Aeth::load(aeth.data()), (Aeth{0x62, 0x102}));

    const auto atomic =
        bytes({0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4});
    EXPECT_EQ(AtomicEth::load(atomic.data()), (AtomicEth{1, 2, 3, 4}));
}

template <typename Header>
void store_inverts_load(test::Random& random) {
    for (int i = 0; i < 1000; ++i) {
        const auto wire = test::random_bytes(random, Header::kBytes);
        const Header header = Header::load(wire.data());
        std::vector<std::byte> out(Header::kBytes);
        header.store(out.data());
        ASSERT_EQ(Header::load(out.data()), header);
    }
}

TEST(Headers, StoreInvertsLoad) {
    test::Random random(1);
    store_inverts_load<EthernetHeader>(random);
    store_inverts_load<VlanHeader>(random);
    store_inverts_load<Ipv4Header>(random);
    store_inverts_load<Ipv6Header>(random);
    store_inverts_load<UdpHeader>(random);
    store_inverts_load<Bth>(random);
    store_inverts_load<Deth>(random);
    store_inverts_load<Reth>(random);
    store_inverts_load<Aeth>(random);
    store_inverts_load<AtomicEth>(random);
}

/// Headers without reserved bits: every bit must survive.
template <typename Header>
void every_bit_is_kept(test::Random& random) {
    for (int i = 0; i < 100; ++i) {
        const auto wire = test::random_bytes(random, Header::kBytes);
        std::vector<std::byte> out(Header::kBytes);
        Header::load(wire.data()).store(out.data());
        ASSERT_EQ(out, wire);
    }
}

TEST(Headers, NoBitOfAHeaderWithoutReservedOnesIsLost) {
    test::Random random(3);
    every_bit_is_kept<EthernetHeader>(random);
    every_bit_is_kept<VlanHeader>(random);
    every_bit_is_kept<Ipv4Header>(random);
    every_bit_is_kept<Ipv6Header>(random);
    every_bit_is_kept<UdpHeader>(random);
    every_bit_is_kept<Reth>(random);
    every_bit_is_kept<AtomicEth>(random);
}

TEST(Headers, Ipv4SumIsOnesForEveryCorrectHeader) {
    test::Random random(2);
    for (int i = 0; i < 10'000; ++i) {
        auto header = test::random_bytes(random, kIpv4Bytes);
        test::refresh_ipv4_checksum(header.data());
        ASSERT_EQ(ipv4_header_sum(header.data()), 0xffff);
        header[random() % kIpv4Bytes] ^= static_cast<std::byte>(1 << random() % 8);
        ASSERT_NE(ipv4_header_sum(header.data()), 0xffff);
    }
}

TEST(Headers, Ipv4SumCarriesWhateverTheHeaderHas) {
    test::Random random(4);
    constexpr std::uint16_t kEdges[] = {0, 1, 0x7fff, 0x8000, 0xfffe, 0xffff, 0xffff, 0xffff};
    for (int i = 0; i < 10'000; ++i) {
        std::array<std::byte, kIpv4Bytes> header;
        std::uint32_t sum = 0;
        for (std::size_t at = 0; at < kIpv4Bytes; at += 2) {
            const std::uint16_t word = i == 0 ? 0xffff : kEdges[random() % std::size(kEdges)];
            store_be16(header.data() + at, word);
            sum += word;
        }
        while (sum >> 16)
            sum = (sum & 0xffff) + (sum >> 16);
        ASSERT_EQ(ipv4_header_sum(header.data()), sum);
    }
}

TEST(Headers, LongestFrameHoldsEveryOpcode) {
    NetworkPath path;
    path.l3 = L3Kind::kIpv6;
    path.has_vlan = true;
    for (Opcode op : test::all_opcodes())
        EXPECT_LE(HeaderTemplate(path).frame_bytes(op, kMaxPmtu), kMaxRoceFrameBytes);
}

}  // namespace
}  // namespace dingo::packet
