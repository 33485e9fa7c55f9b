// SPDX-License-Identifier: BSD-2-Clause
//
// Capability ETH_RSS: the ring of a received frame is selected by a key and a table.
#include "conformance.h"
#include "tcp_frame.h"

namespace dingo::conformance {
namespace {

using test::Cq;
using test::cqe_qpn;
using test::EthRing;
using test::FrameBytes;
using test::OneCard;
using test::TestDriver;

/// From the published verification suite ("Verifying the RSS hash calculation", Windows drivers).
constexpr std::array<std::uint8_t, DINGO_RSS_KEY> kKey = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

class EthernetRss : public Conformance {
  protected:
    void SetUp() override {
        NEEDS(d, ETH_RSS);
        d.start();
        d.enable_port(1500);
        cq = d.create_cq(8);
        const std::uint64_t buffer = card.host.alloc(4096);
        for (std::uint8_t n = 0; n < 4; ++n) {
            rings.push_back(d.create_eth(DINGO_ETH_RX, n, cq));
            for (int i = 0; i < 32; ++i) {
                d.post_eth(rings[n], buffer, 2048);
            }
        }
        card.settle();  // all doorbells are handled before the first frame
    }
    static dingo_cmd_set_rss command() {
        dingo_cmd_set_rss cmd{};
        cmd.enable = 1;
        std::ranges::copy(kKey, cmd.key);
        return cmd;
    }
    dingo_cqe received(const FrameBytes& frame) {
        card.receive(frame);
        return d.poll_cq(cq).value_or(dingo_cqe{});
    }
    static FrameOf ours() {
        FrameOf f;
        f.to = {0x02, 0x44, 0x49, 0, 0, 1};
        return f;
    }

    OneCard card{engine()};
    TestDriver& d = card.driver;
    Cq cq;
    std::vector<EthRing> rings;
};

TEST_P(EthernetRss, TheHashIsThePublishedOne) {
    d.execute_ok(DINGO_OP_SET_RSS, command());
    FrameOf f = ours();
    const auto expect_hash = [&](const FrameBytes& frame, std::uint32_t hash, bool ports) {
        const dingo_cqe entry = received(frame);
        EXPECT_EQ(entry.src_qpn, hash);
        EXPECT_EQ((entry.flags & DINGO_CQE_FLAGS_HASH_L4_MASK) != 0, ports);
    };
    expect_hash(frame_of(f), 0x51ccc178, true);
    f.tagged = true;
    expect_hash(frame_of(f), 0x51ccc178, true);
    f.tagged = false;
    FrameBytes fragment = frame_of(f);
    fragment[20] = std::byte{0x20};
    expect_hash(fragment, 0x323e8fc2, false);
    f.protocol = 17;
    expect_hash(frame_of(f), 0x51ccc178, true);
    FrameBytes icmp = frame_of(f);
    icmp[23] = std::byte{1};
    expect_hash(icmp, 0x323e8fc2, false);
    f.ipv6 = true;
    f.protocol = 6;
    expect_hash(frame_of(f), 0x40207d3d, true);
    icmp = frame_of(f);
    icmp[20] = std::byte{58};
    expect_hash(icmp, 0x2cc18cd5, false);
}

TEST_P(EthernetRss, TheTableNamesTheRing) {
    dingo_cmd_set_rss cmd = command();
    for (std::uint8_t ring = 0; ring < 4; ++ring) {
        std::ranges::fill(cmd.rings, static_cast<std::uint8_t>((ring + 1) % 4));
        cmd.rings[0x51ccc178 % DINGO_RSS_TABLE] = ring;
        d.execute_ok(DINGO_OP_SET_RSS, cmd);
        EXPECT_EQ(cqe_qpn(received(frame_of(ours()))), ring);
    }
}

TEST_P(EthernetRss, WhatIsNotIpOrHasNoRingGoesToTheFirst) {
    dingo_cmd_set_rss cmd = command();
    std::ranges::fill(cmd.rings, std::uint8_t{3});
    d.execute_ok(DINGO_OP_SET_RSS, cmd);
    FrameBytes arp = frame_of(ours());
    put16(arp, 12, 0x0806);
    const dingo_cqe entry = received(arp);
    EXPECT_EQ(cqe_qpn(entry), 0u);
    EXPECT_EQ(entry.src_qpn, 0u);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_ETH, DINGO_ETH_RX << 24 | 3).status, DINGO_ST_OK + 0u);
    EXPECT_EQ(cqe_qpn(received(frame_of(ours()))), 0u);
}

TEST_P(EthernetRss, SwitchedOffAndAfterAResetTheCardSpreadsAsItDidBefore) {
    const auto rings_of_flows = [&] {
        std::vector<std::uint32_t> used;
        for (std::uint16_t port = 1000; port < 1008; ++port) {
            FrameOf f = ours();
            f.source_port = port;
            const dingo_cqe entry = received(frame_of(f));
            EXPECT_EQ(entry.src_qpn, 0u);
            used.push_back(cqe_qpn(entry));
        }
        return used;
    };
    const auto before = rings_of_flows();
    d.execute_ok(DINGO_OP_SET_RSS, command());
    EXPECT_NE(received(frame_of(ours())).src_qpn, 0u);
    d.execute_ok(DINGO_OP_SET_RSS, dingo_cmd_set_rss{});
    EXPECT_EQ(rings_of_flows(), before);
}

TEST_P(EthernetRss, BadFieldsChangeNothing) {
    dingo_cmd_set_rss good = command();
    std::ranges::fill(good.rings, std::uint8_t{2});
    d.execute_ok(DINGO_OP_SET_RSS, good);
    const auto refused_at = [&](auto change, bool enable = true) {
        dingo_cmd_set_rss cmd = enable ? command() : dingo_cmd_set_rss{};
        change(cmd);
        const dingo_admin_cpl cpl = d.execute(DINGO_OP_SET_RSS, cmd);
        EXPECT_EQ(cpl.status, DINGO_ST_BAD_FIELD + 0u);
        return cpl.detail;
    };
    EXPECT_EQ(refused_at([](auto& c) { c.enable = 2; }), 8u);
    EXPECT_EQ(refused_at([](auto& c) { c.rsvd[6] = 1; }), 9u);
    EXPECT_EQ(refused_at([](auto& c) { c.rings[0] = 4; }), 56u);
    EXPECT_EQ(refused_at([](auto& c) { c.rings[63] = 0xff; }), 119u);
    EXPECT_EQ(refused_at([](auto& c) { c.key[39] = 1; }, false), 16u);
    EXPECT_EQ(refused_at([](auto& c) { c.rings[1] = 1; }, false), 57u);
    EXPECT_EQ(cqe_qpn(received(frame_of(ours()))), 2u);
}

INSTANTIATE_TEST_SUITE_P(Conformance, EthernetRss,
                         testing::ValuesIn(dingo::test::register_engines()),
                         [](const auto& engine_of) { return engine_of.param; });

}  // namespace
}  // namespace dingo::conformance
