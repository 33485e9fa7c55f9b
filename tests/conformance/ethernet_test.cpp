// SPDX-License-Identifier: BSD-2-Clause
//
// The Ethernet function: rings of descriptors, frames both ways, filters.
#include <set>

#include "conformance.h"

namespace dingo::conformance {
namespace {

using test::Cq;
using test::cqe_opcode;
using test::cqe_qpn;
using test::EthRing;
using test::FrameBytes;
using test::OneCard;
using test::TestDriver;
using test::TwoCards;
using Octets = std::array<std::uint8_t, 6>;
constexpr Octets kOwn = {0x02, 0x44, 0x49, 0x00, 0x00, 0x01};  // EngineConfig{}.mac
constexpr Octets kPeer = {0x02, 0x44, 0x49, 0x00, 0x00, 0x02};
constexpr Octets kBroadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr Octets kGroup = {0x33, 0x33, 0x00, 0x00, 0x00, 0x01};

FrameBytes frame_to(const Octets& to, std::size_t size, std::uint16_t type = 0x88b5) {
    FrameBytes frame(size);
    for (std::size_t i = 0; i < size; ++i) {
        frame[i] = static_cast<std::byte>(i * 7);
    }
    for (std::size_t i = 0; i < std::min<std::size_t>(6, size); ++i) {
        frame[i] = static_cast<std::byte>(to[i]);
    }
    if (size >= 14) {
        frame[12] = static_cast<std::byte>(type >> 8);
        frame[13] = static_cast<std::byte>(type);
    }
    return frame;
}

/// IPv4 and UDP without checksums: sufficient for the distribution over rings.
FrameBytes udp_to(const Octets& to, std::uint16_t source_port, std::uint16_t port) {
    FrameBytes frame = frame_to(to, 64, 0x0800);
    frame[14] = std::byte{0x45};
    frame[20] = frame[21] = std::byte{0};
    frame[23] = std::byte{17};
    frame[34] = static_cast<std::byte>(source_port >> 8);
    frame[35] = static_cast<std::byte>(source_port);
    frame[36] = static_cast<std::byte>(port >> 8);
    frame[37] = static_cast<std::byte>(port);
    return frame;
}

/// IPv6 with `protocol` (TCP, UDP, ICMPv6), `last` byte of the destination, and `l4`: ports, or
/// type and checksum.
FrameBytes ipv6_to(std::uint8_t protocol, std::uint8_t last, std::array<std::uint8_t, 4> l4) {
    FrameBytes frame = frame_to(kOwn, 80, 0x86dd);
    frame[14] = std::byte{0x60};
    frame[20] = static_cast<std::byte>(protocol);
    frame[53] = static_cast<std::byte>(last);
    std::ranges::copy(std::as_bytes(std::span(l4)), frame.begin() + 54);
    return frame;
}

FrameBytes with_tag(FrameBytes frame) {
    const std::byte tag[] = {std::byte{0x81}, std::byte{0}, std::byte{0}, std::byte{7}};
    frame.insert(frame.begin() + 12, std::begin(tag), std::end(tag));
    return frame;
}

class Ethernet : public Conformance {
  protected:
    Ethernet() {
        d.start();
        d.enable_port(1500);
        cq = d.create_cq(8);
        tx = d.create_eth(DINGO_ETH_TX, 0, cq);
        rx = d.create_eth(DINGO_ETH_RX, 0, cq);
    }
    std::uint64_t put(const FrameBytes& bytes) {
        const std::uint64_t addr = card.host.alloc(bytes.size());
        std::ranges::copy(bytes, card.host.at(addr, bytes.size()));
        return addr;
    }
    std::uint64_t post_rx(std::uint32_t length = 2048) {
        const std::uint64_t addr = card.host.alloc(length);
        d.post_eth(rx, addr, length);
        return addr;
    }
    void set_mac(std::uint32_t index, const Octets& mac, bool valid = true) {
        dingo_cmd_set_mac cmd{};
        cmd.index = index;
        cmd.valid = valid;
        std::ranges::copy(mac, cmd.mac);
        d.execute_ok(DINGO_OP_SET_MAC, cmd);
    }
    std::uint64_t stat(dingo_card_counter counter) { return d.card_stat(counter); }
    static constexpr std::uint8_t kEop = DINGO_ETH_DESC_FLAGS_EOP_MASK;

    OneCard card{engine()};
    TestDriver& d = card.driver;
    Cq cq;
    EthRing tx;
    EthRing rx;
};

TEST_P(Ethernet, SendsAFrameOfOneDescriptor) {
    const FrameBytes frame = frame_to(kPeer, 60);
    d.post_eth(tx, put(frame), 60, kEop);
    card.settle();
    ASSERT_EQ(card.wire.sent.size(), 1u);
    EXPECT_EQ(card.wire.sent[0], frame);
    const auto entry = d.poll_cq(cq);
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(cqe_opcode(*entry), DINGO_WC_ETH_TX);
    EXPECT_EQ(cqe_qpn(*entry), 0u);
    EXPECT_EQ(entry->wqe_index, 0u);
    EXPECT_EQ(stat(DINGO_CARD_ETH_TX_PACKETS), 1u);
    EXPECT_EQ(stat(DINGO_CARD_ETH_TX_BYTES), 60u);
}

TEST_P(Ethernet, FrameToOurOwnAddressTurnsRoundAndIsNotOnTheWire) {
    post_rx();
    const FrameBytes frame = frame_to(kOwn, 60);
    d.post_eth(tx, put(frame), 60, kEop);
    card.settle();
    EXPECT_EQ(card.wire.sent.size(), 0u);
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_PACKETS), 1u);
}

TEST_P(Ethernet, HeaderAloneIsAFrame) {
    post_rx();
    card.receive(frame_to(kOwn, 14));
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_PACKETS), 1u);
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_TOO_SHORT), 0u);
}

TEST_P(Ethernet, GathersAFrameAndCompletesItsLastDescriptorOnly) {
    const FrameBytes frame = frame_to(kPeer, 1514);
    const std::uint64_t addr = put(frame);
    d.post_eth(tx, addr, 14);
    d.post_eth(tx, addr + 14, 1);
    card.settle();
    EXPECT_TRUE(card.wire.sent.empty());  // the last descriptor has not been posted
    d.post_eth(tx, addr + 15, 1499, kEop);
    card.settle();
    ASSERT_EQ(card.wire.sent.size(), 1u);
    EXPECT_EQ(card.wire.sent[0], frame);
    EXPECT_EQ(d.poll_cq(cq)->wqe_index, 2u);
    EXPECT_FALSE(d.poll_cq(cq));
}

TEST_P(Ethernet, RingWrapsForEver) {
    const std::uint64_t addr = put(frame_to(kPeer, 64));
    const std::uint32_t frames = effort(300, 80);  // a ring has room for 32
    for (std::uint32_t i = 0; i < frames; ++i) {
        d.post_eth(tx, addr, 32);
        d.post_eth(tx, addr + 32, 32, kEop);
        card.settle();
        const auto entry = d.poll_cq(cq);
        ASSERT_TRUE(entry) << i;
        EXPECT_EQ(entry->wqe_index, 2 * i + 1);
    }
    EXPECT_EQ(card.wire.sent.size(), frames);
}

TEST_P(Ethernet, RefusesBadDescriptorsAndFramesAndGoesOn) {
    const std::uint64_t addr = put(frame_to(kPeer, 9300));
    std::uint64_t errors = 0;
    const auto refused = [&](const char* why) {
        card.settle();
        const auto entry = d.poll_cq(cq);
        ASSERT_TRUE(entry) << why;
        EXPECT_NE(entry->status, DINGO_WCS_SUCCESS) << why;
        EXPECT_EQ(entry->wqe_index, tx.producer - 1) << why;
        EXPECT_EQ(stat(DINGO_CARD_ETH_TX_ERRORS), ++errors) << why;
    };
    d.post_eth(tx, addr, 0, kEop);
    refused("length 0");
    d.post_eth(tx, addr, DINGO_MAX_FRAME + 1, kEop);
    refused("length above MAX_FRAME");
    d.post_eth(tx, addr, 14);
    d.post_eth(tx, addr, 0);
    d.post_eth(tx, addr, 50, kEop);
    refused("a piece of no bytes");
    d.post_eth(tx, addr, 64, kEop | 0x80);
    refused("unknown flag");
    d.post_eth(tx, addr, 13, kEop);
    refused("shorter than a header");
    d.post_eth(tx, addr, 1515, kEop);
    refused("longer than the MTU");
    d.post_eth(tx, addr, 9000);
    d.post_eth(tx, addr, 9000, kEop);
    refused("two pieces longer than the MTU");
    d.post_eth(tx, 0x4000, 64, kEop);
    refused("bus error");
    d.post_eth(tx, addr, 64, kEop, false);
    card.host.store<std::uint8_t>(tx.ring + ((tx.producer - 1) & 63) * 16 + 15, 1);
    d.ring_eth(tx);
    refused("reserved byte");
    EXPECT_TRUE(card.wire.sent.empty());
    d.post_eth(tx, addr, 64, kEop);
    card.settle();
    EXPECT_EQ(card.wire.sent.size(), 1u);
}

TEST_P(Ethernet, VlanTagMayExceedTheMtuByFourBytes) {
    const std::uint64_t tagged = put(frame_to(kPeer, 1518, 0x8100));
    d.post_eth(tx, tagged, 1518, kEop);
    card.settle();
    EXPECT_EQ(card.wire.sent.size(), 1u);
    post_rx();
    card.receive(frame_to(kOwn, 1518, 0x8100));
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_PACKETS), 1u);
    post_rx();
    card.receive(frame_to(kOwn, 1518));
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_PACKETS), 1u);
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_TOO_LONG), 1u);
    card.receive(frame_to(kOwn, 1519, 0x8100));
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_TOO_LONG), 2u);
}

TEST_P(Ethernet, TheLongestFrameLeavesInOnePiece) {
    d.enable_port(9216);
    const FrameBytes frame = frame_to(kPeer, DINGO_MAX_FRAME, 0x8100);
    d.post_eth(tx, put(frame), DINGO_MAX_FRAME, kEop);
    card.settle();
    ASSERT_EQ(card.wire.sent.size(), 1u);
    EXPECT_EQ(card.wire.sent[0], frame);
}

TEST_P(Ethernet, ARingThatCannotBeReadSendsNothingMore) {
    const std::uint64_t addr = put(frame_to(kPeer, 64));
    card.host.break_range(tx.ring, 4096);
    d.post_eth(tx, addr, 64, kEop);
    card.settle();
    card.host.break_range(tx.ring, 4096, false);
    d.post_eth(tx, addr, 64, kEop);
    card.settle();
    EXPECT_TRUE(card.wire.sent.empty());
    EXPECT_EQ(stat(DINGO_CARD_ETH_TX_ERRORS), 1u);
    EXPECT_FALSE(d.poll_cq(cq));
}

TEST_P(Ethernet, RingFullOfPiecesWithoutAnEndIsRefused) {
    const std::uint64_t addr = put(frame_to(kPeer, 64));
    for (int i = 0; i < 64; ++i) {
        d.post_eth(tx, addr, 1, 0, false);
    }
    d.ring_eth(tx);
    card.settle();
    const auto entry = d.poll_cq(cq);
    ASSERT_TRUE(entry);
    EXPECT_NE(entry->status, DINGO_WCS_SUCCESS);
    d.post_eth(tx, addr, 64, kEop);
    card.settle();
    EXPECT_EQ(card.wire.sent.size(), 1u);
}

TEST_P(Ethernet, EveryRingSendsItsFramesInOrderAndCompletesWithItsNumber) {
    std::vector<EthRing> rings = {tx};
    for (std::uint8_t n = 1; n < d.query_limits().max_eth_rings; ++n) {
        rings.push_back(d.create_eth(DINGO_ETH_TX, n, cq));
    }
    ASSERT_EQ(rings.size(), 4u);
    for (std::size_t size = 60; size < 66; ++size) {
        for (EthRing& ring : rings) {
            d.post_eth(ring, put(frame_to(kPeer, size)), static_cast<std::uint32_t>(size), kEop);
        }
    }
    card.settle();
    EXPECT_EQ(card.wire.sent.size(), 24u);
    std::array<std::uint32_t, 4> next{};
    for (int i = 0; i < 24; ++i) {
        const auto entry = d.poll_cq(cq);
        ASSERT_TRUE(entry);
        ASSERT_LT(cqe_qpn(*entry), 4u);
        EXPECT_EQ(entry->byte_len, 60 + next[cqe_qpn(*entry)]);
        EXPECT_EQ(entry->wqe_index, next[cqe_qpn(*entry)]++);
    }
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_ETH, DINGO_ETH_TX << 24 | 3).status, DINGO_ST_OK + 0u);
    const auto dropped = stat(DINGO_CARD_DB_DROPPED);
    d.post_eth(rings[3], put(frame_to(kPeer, 60)), 60, kEop);
    d.post_eth(rings[2], put(frame_to(kPeer, 60)), 60, kEop);
    card.settle();
    EXPECT_EQ(stat(DINGO_CARD_DB_DROPPED), dropped + 1);
    EXPECT_EQ(card.wire.sent.size(), 25u) << "the others go on";
}

TEST_P(Ethernet, RingsAreThereOnceAndOnlyAsManyAsTheLimitSays) {
    const auto destroyed = [&](std::uint32_t id) {
        return d.destroy(DINGO_OP_DESTROY_ETH, id).status + 0u;
    };
    EXPECT_EQ(destroyed(DINGO_ETH_TX << 24 | 1), DINGO_ST_BAD_ID + 0u);
    EXPECT_EQ(destroyed(DINGO_ETH_RX << 24 | 4), DINGO_ST_BAD_ID + 0u);
    EXPECT_EQ(destroyed(DINGO_ETH_RX << 24 | 256), DINGO_ST_BAD_ID + 0u);
    EXPECT_EQ(destroyed(7u << 24), DINGO_ST_BAD_ID + 0u);
    d.create_eth(DINGO_ETH_RX, 1, cq);
    EXPECT_EQ(destroyed(DINGO_ETH_TX << 24 | 1), DINGO_ST_BAD_ID + 0u) << "of the other kind";
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_CQ, cq.cqn).status, DINGO_ST_BUSY + 0u);
    EXPECT_EQ(destroyed(DINGO_ETH_RX << 24 | 1), DINGO_ST_OK + 0u);
    EXPECT_EQ(destroyed(DINGO_ETH_RX << 24 | 1), DINGO_ST_BAD_ID + 0u);
    EXPECT_EQ(destroyed(DINGO_ETH_TX << 24), DINGO_ST_OK + 0u);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_CQ, cq.cqn).status, DINGO_ST_BUSY + 0u);
    EXPECT_EQ(destroyed(DINGO_ETH_RX << 24), DINGO_ST_OK + 0u);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_CQ, cq.cqn).status, DINGO_ST_OK + 0u);
}

TEST_P(Ethernet, BusyWireKeepsTheFrameAndAsksToBeCalledAgain) {
    card.wire.busy = true;
    d.post_eth(tx, put(frame_to(kPeer, 64)), 64, kEop);
    card.settle();
    EXPECT_FALSE(d.poll_cq(cq));
    if (engine() != "rtl") {  // the RTL waits at a handshake: no event to count
        EXPECT_GE(stat(DINGO_CARD_WIRE_BUSY), 1u);
    }
    card.settle();
    const Nanoseconds again = card.engine->next_deadline();
    ASSERT_NE(again, kNever);
    EXPECT_GT(again, card.now);
    card.wire.busy = false;
    card.now = again;
    card.settle();
    EXPECT_EQ(card.wire.sent.size(), 1u);
    EXPECT_TRUE(d.poll_cq(cq));
    EXPECT_EQ(card.engine->next_deadline(), kNever);
}

TEST_P(Ethernet, PortDownSendsNothing) {
    card.engine->set_link(false);
    d.post_eth(tx, put(frame_to(kPeer, 64)), 64, kEop);
    card.settle();
    EXPECT_TRUE(card.wire.sent.empty());
    EXPECT_NE(d.poll_cq(cq)->status, DINGO_WCS_SUCCESS);
    card.receive(frame_to(kOwn, 64));
    EXPECT_EQ(stat(DINGO_CARD_RX_PORT_DISABLED), 1u);
}

TEST_P(Ethernet, DeliversAFrameToTheNextBuffer) {
    const std::uint64_t first = post_rx();
    const std::uint64_t second = post_rx();
    const FrameBytes frame = frame_to(kOwn, 99);
    card.receive(frame);
    card.receive(frame_to(kBroadcast, 60));
    EXPECT_TRUE(std::ranges::equal(card.host.bytes(first, 99), frame));
    EXPECT_EQ(card.host.load<std::uint8_t>(second), 0xff);
    auto entry = d.poll_cq(cq);
    ASSERT_TRUE(entry);
    EXPECT_EQ(cqe_opcode(*entry), DINGO_WC_ETH_RX);
    EXPECT_EQ(entry->byte_len, 99u);
    EXPECT_EQ(entry->wqe_index, 0u);
    entry = d.poll_cq(cq);
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->wqe_index, 1u);
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_PACKETS), 2u);
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_BYTES), 159u);
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_MULTICAST), 1u);
    post_rx();
    card.receive(frame_to(kOwn, 60));
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_MULTICAST), 1u);
}

TEST_P(Ethernet, AcceptsTableEntriesGroupsOnRequestAndEverythingInPromiscuousMode) {
    const auto taken = [&](const Octets& to) {
        post_rx();
        card.receive(frame_to(to, 64));
        return d.poll_cq(cq).has_value();
    };
    EXPECT_TRUE(taken(kOwn));
    EXPECT_TRUE(taken(kBroadcast));
    EXPECT_FALSE(taken(kPeer));
    EXPECT_FALSE(taken(kGroup));
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_FILTERED), 2u);
    set_mac(5, kGroup);
    EXPECT_TRUE(taken(kGroup));
    set_mac(5, kGroup, false);
    EXPECT_FALSE(taken(kGroup));
    d.enable_port(1500, DINGO_CMD_SET_PORT_FLAGS_ALLMULTI_MASK);
    EXPECT_TRUE(taken(kGroup));
    EXPECT_FALSE(taken(kPeer));
    d.enable_port(1500, DINGO_CMD_SET_PORT_FLAGS_PROMISC_MASK);
    EXPECT_TRUE(taken(kPeer));
    d.enable_port(1500);
    set_mac(0, kPeer);
    EXPECT_TRUE(taken(kPeer));
    EXPECT_FALSE(taken(kOwn));
}

TEST_P(Ethernet, DropsWithoutBufferTooLongAndTooShortEachWithItsCounter) {
    card.receive(frame_to(kOwn, 64));
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_NO_BUFFER), 1u);
    post_rx(100);
    card.receive(frame_to(kOwn, 101));  // longer than the buffer, which is kept
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_TOO_LONG), 1u);
    card.receive(frame_to(kOwn, 1515));
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_TOO_LONG), 2u);
    card.receive(frame_to(kOwn, 13));
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_TOO_SHORT), 1u);
    card.receive({});  // impossible on AXI-Stream
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_TOO_SHORT), engine() == "rtl" ? 1u : 2u);
    card.receive(frame_to(kOwn, 100));
    EXPECT_EQ(d.poll_cq(cq)->byte_len, 100u);
}

TEST_P(Ethernet, BadReceiveDescriptorIsReportedAndPassed) {
    d.post_eth(rx, 0x4000, 2048);  // bus error
    d.post_eth(rx, 0x4000, 0);
    d.post_eth(rx, card.host.alloc(4096), 2048, 0x10);
    const std::uint64_t good = post_rx();
    for (int i = 0; i < 3; ++i) {
        card.receive(frame_to(kOwn, 64));
        const auto entry = d.poll_cq(cq);
        ASSERT_TRUE(entry);
        EXPECT_NE(entry->status, DINGO_WCS_SUCCESS) << i;
    }
    card.receive(frame_to(kOwn, 64));
    EXPECT_EQ(d.poll_cq(cq)->status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(card.host.load<std::uint8_t>(good), kOwn[0]);
}

TEST_P(Ethernet, ABufferOfTheLongestLengthTakesAFrame) {
    post_rx(DINGO_MAX_FRAME);
    card.receive(frame_to(kOwn, 64));
    const auto entry = d.poll_cq(cq);
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(entry->byte_len, 64u);
}

TEST_P(Ethernet, ABufferOfOneByteIsShortNotWrong) {
    post_rx(1);
    card.receive(frame_to(kOwn, 64));
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_TOO_LONG), 1u);
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_NO_BUFFER), 0u);
    EXPECT_FALSE(d.poll_cq(cq)) << "the buffer stays";
}

TEST_P(Ethernet, FramesForARingThatCannotBeReadAreCounted) {
    d.post_eth(rx, card.host.alloc(2048), 2048, 0, false);
    card.host.break_range(rx.ring, 4096);
    d.ring_eth(rx);
    card.receive(frame_to(kOwn, 64));
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_NO_BUFFER), 1u);
    card.receive(frame_to(kOwn, 64));
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_NO_BUFFER), 2u);
    EXPECT_FALSE(d.poll_cq(cq));
}

TEST_P(Ethernet, SpreadsFlowsOverRingsAndKeepsEachFlowOnOne) {
    if (d.query_limits().max_eth_rings < 4)
        GTEST_SKIP() << "the engine has one ring of each kind";
    std::vector<EthRing> rings = {rx};
    for (std::uint8_t i = 1; i < 4; ++i) {
        rings.push_back(d.create_eth(DINGO_ETH_RX, i, cq));
    }
    const std::uint64_t buffer = card.host.alloc(4096);
    for (auto& ring : rings) {
        for (int i = 0; i < 64; ++i) {
            d.post_eth(ring, buffer, 2048);
        }
    }
    card.settle();  // all doorbells are handled before the first frame
    std::set<std::uint32_t> used;
    for (std::uint16_t flow = 0; flow < 16; ++flow) {
        std::set<std::uint32_t> of_flow;
        for (int i = 0; i < 3; ++i) {
            card.receive(udp_to(kOwn, static_cast<std::uint16_t>(1000 + flow), 80));
            of_flow.insert(cqe_qpn(*d.poll_cq(cq)));
        }
        EXPECT_EQ(of_flow.size(), 1u);
        used.insert(*of_flow.begin());
    }
    EXPECT_GT(used.size(), 2u);
    card.receive(frame_to(kOwn, 64));  // not IP: the first ring
    EXPECT_EQ(cqe_qpn(*d.poll_cq(cq)), 0u);
}

/// Four receive rings.
class EthernetFlows : public Ethernet {
  protected:
    void SetUp() override {
        if (d.query_limits().max_eth_rings < 4)
            GTEST_SKIP() << "the engine has one ring of each kind";
        rings.push_back(rx);
        for (std::uint8_t i = 1; i < 4; ++i) {
            rings.push_back(d.create_eth(DINGO_ETH_RX, i, cq));
        }
        const std::uint64_t buffer = card.host.alloc(4096);
        for (auto& ring : rings) {
            for (int i = 0; i < 64; ++i) {
                d.post_eth(ring, buffer, 2048);
            }
        }
        card.settle();  // all doorbells are handled before the first frame
    }
    std::uint32_t ring_of(const FrameBytes& frame) {
        card.receive(frame);
        return cqe_qpn(*d.poll_cq(cq));
    }
    /// Returns the rings that frame_of(0) to frame_of(15) are delivered to.
    template <typename FrameOf>
    std::set<std::uint32_t> rings_of(FrameOf frame_of) {
        std::set<std::uint32_t> used;
        for (std::uint8_t i = 0; i < 16; ++i) {
            used.insert(ring_of(frame_of(i)));
        }
        return used;
    }
    std::vector<EthRing> rings;
};

TEST_P(EthernetFlows, TaggedFlowsSpreadAsUntaggedOnes) {
    const auto frame = [](std::uint8_t i) { return udp_to(kOwn, 1000 + i, 80); };
    for (std::uint8_t i = 0; i < 8; ++i) {
        EXPECT_EQ(ring_of(with_tag(frame(i))), ring_of(frame(i)));
    }
    EXPECT_GT(rings_of([&](std::uint8_t i) { return with_tag(frame(i)); }).size(), 2u);
}

TEST_P(EthernetFlows, Ipv6SpreadsByAddressesAndPortsOnly) {
    EXPECT_GT(rings_of([](std::uint8_t i) { return ipv6_to(17, i, {1, 2, 3, 4}); }).size(), 2u);
    EXPECT_GT(rings_of([](std::uint8_t i) { return ipv6_to(6, 1, {1, i, 3, 4}); }).size(), 2u);
    const auto longer = [](std::uint8_t i) {
        FrameBytes frame = ipv6_to(17, 1, {1, 2, 3, 4});
        frame[18] = frame[21] = static_cast<std::byte>(i);  // length and hop limit
        return frame;
    };
    EXPECT_EQ(rings_of(longer).size(), 1u) << "a flow stays in order";
    const auto behind_the_ports = [](std::uint8_t i) {
        FrameBytes frame = ipv6_to(6, 1, {1, 2, 3, 4});
        frame[58] = static_cast<std::byte>(i);  // sequence number
        return frame;
    };
    EXPECT_EQ(rings_of(behind_the_ports).size(), 1u) << "a flow stays in order";
}

TEST_P(EthernetFlows, WhatHasNoPortsSpreadsByAddressesOnly) {
    const auto icmp = [](std::uint8_t i) { return ipv6_to(58, 1, {128, 0, i, i}); };
    EXPECT_EQ(rings_of(icmp).size(), 1u);
    const auto fragment = [](std::uint8_t i) {
        FrameBytes frame = udp_to(kOwn, 1000 + i, 80);
        frame[20] = std::byte{0x20};  // more fragments
        return frame;
    };
    EXPECT_EQ(rings_of(fragment).size(), 1u);
    const auto source = [](std::uint8_t i) {
        FrameBytes frame = udp_to(kOwn, 1000, 80);
        frame[26] = static_cast<std::byte>(i);
        return frame;
    };
    EXPECT_GT(rings_of(source).size(), 2u) << "every byte of an address counts";
}

TEST_P(EthernetFlows, Ipv6SpreadsByTheFirstByteOfItsAddressesAndNoneBehindThem) {
    const auto source = [](std::uint8_t i) {
        FrameBytes frame = ipv6_to(58, 1, {128, 0, 0, 0});
        frame[22] = static_cast<std::byte>(i);
        return frame;
    };
    EXPECT_GT(rings_of(source).size(), 2u) << "every byte of an address counts";
    const auto header_only = [](std::uint8_t i) {
        FrameBytes frame = ipv6_to(59, i, {});
        frame.resize(54);
        return frame;
    };
    EXPECT_GT(rings_of(header_only).size(), 2u) << "the addresses are there";
    const auto icmp_type = [](std::uint8_t i) { return ipv6_to(58, 1, {i, 0, 0, 0}); };
    EXPECT_EQ(rings_of(icmp_type).size(), 1u) << "a flow stays in order";
}

INSTANTIATE_TEST_SUITE_P(Conformance, EthernetFlows,
                         testing::ValuesIn(dingo::test::register_engines()),
                         [](const auto& engine_of) { return engine_of.param; });

TEST_P(Ethernet, RingWhoseCqOverflowedSendsNothingMore) {
    OneCard other(engine());
    TestDriver& driver = other.driver;
    driver.start();
    driver.enable_port(1500);
    const Cq small = driver.create_cq(0);
    EthRing ring = driver.create_eth(DINGO_ETH_TX, 0, small);
    const std::uint64_t addr = other.host.alloc(64);
    std::ranges::copy(frame_to(kPeer, 64), other.host.at(addr, 64));
    for (int i = 0; i < 4; ++i) {
        driver.post_eth(ring, addr, 64, kEop);
        other.settle();
    }
    EXPECT_EQ(other.wire.sent.size(), 2u) << "the second found no room in the CQ";
    EXPECT_EQ(driver.card_stat(DINGO_CARD_CQ_OVERFLOW), 1u);
}

TEST_P(Ethernet, MalformedRoceFramesToUsAreDroppedOthersGoToTheRing) {
    post_rx();
    card.receive(udp_to(kOwn, 0xC000, DINGO_ROCE_UDP_PORT));  // wrong IP checksum, no BTH
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_MALFORMED), 1u);
    EXPECT_FALSE(d.poll_cq(cq));
    d.enable_port(1500, DINGO_CMD_SET_PORT_FLAGS_PROMISC_MASK);
    // for another host: visible to tcpdump
    card.receive(udp_to(kPeer, 0xC000, DINGO_ROCE_UDP_PORT));
    EXPECT_TRUE(d.poll_cq(cq));
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_MALFORMED), 1u);
}

TEST_P(Ethernet, MacOfAValidGidIsARoceAddressOnly) {
    dingo_cmd_set_gid cmd{};
    cmd.index = 9;
    cmd.valid = 1;
    cmd.vlan = 7;
    cmd.gid[0] = 0xfe;
    std::ranges::copy(kPeer, cmd.mac);
    d.execute_ok(DINGO_OP_SET_GID, cmd);
    card.receive(udp_to(kPeer, 0xC000, DINGO_ROCE_UDP_PORT));
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_MALFORMED), 1u);
    card.receive(frame_to(kPeer, 64));
    EXPECT_EQ(stat(DINGO_CARD_ETH_RX_FILTERED), 1u);
    cmd.valid = 0;
    d.execute_ok(DINGO_OP_SET_GID, cmd);
    card.receive(udp_to(kPeer, 0xC000, DINGO_ROCE_UDP_PORT));
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_MALFORMED), 1u);
}

TEST_P(Ethernet, DoorbellsOfOtherPagesOrBeyondTheRingAreDropped) {
    const std::uint32_t word0 = DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, DINGO_DB_ETH_TX);
    d.doorbell(1, word0, 1);            // not the kernel's page
    d.doorbell(0, word0, 65);           // 64 entries
    d.doorbell(0, word0 | 3, 1);        // no such ring
    d.doorbell(0, word0 | 1 << 30, 1);  // a bit that this type does not use
    EXPECT_EQ(stat(DINGO_CARD_DB_DROPPED), 4u);
    d.post_eth(tx, put(frame_to(kPeer, 64)), 64, kEop);
    d.post_eth(tx, put(frame_to(kPeer, 64)), 64, kEop);
    d.doorbell(0, word0, 1);  // backwards
    EXPECT_EQ(stat(DINGO_CARD_DB_DROPPED), 5u);
    card.settle();
    EXPECT_EQ(card.wire.sent.size(), 2u);
}

TEST_P(Ethernet, TwoCardsExchangeFrames) {
    TwoCards cards(engine(), engine());
    Cq cqs[2];
    EthRing rings[2];
    for (unsigned i = 0; i < 2; ++i) {
        cqs[i] = cards.driver(i).create_cq();
        rings[i] = cards.driver(i).create_eth(i == 0 ? DINGO_ETH_TX : DINGO_ETH_RX, 0, cqs[i]);
    }
    const std::uint64_t to = cards.host(1).alloc(2048);
    cards.driver(1).post_eth(rings[1], to, 2048);
    const std::uint64_t from = cards.host(0).alloc(2048);
    const FrameBytes frame = frame_to(kPeer, 500);
    std::ranges::copy(frame, cards.host(0).at(from, 500));
    cards.driver(0).post_eth(rings[0], from, 500, kEop);
    EXPECT_EQ(cards.wait_cq(1, cqs[1]).byte_len, 500u);
    EXPECT_TRUE(std::ranges::equal(cards.host(1).bytes(to, 500), frame));
}

INSTANTIATE_TEST_SUITE_P(Conformance, Ethernet, testing::ValuesIn(dingo::test::register_engines()),
                         [](const auto& engine_of) { return engine_of.param; });

}  // namespace
}  // namespace dingo::conformance
