// SPDX-License-Identifier: BSD-2-Clause
//
// Capability ETH_OFFLOAD: checksums and segmentation of sent frames, checksum verification of
// received ones.
#include "conformance.h"
#include "tcp_frame.h"

namespace dingo::conformance {
namespace {

using test::Cq;
using test::EthRing;
using test::FrameBytes;
using test::OneCard;
using test::TestDriver;

constexpr std::uint8_t kEopBit = DINGO_ETH_DESC_FLAGS_EOP_MASK;
constexpr std::uint8_t kCsumBit = DINGO_ETH_DESC_FLAGS_CSUM_MASK;
constexpr std::uint8_t kTsoBit = DINGO_ETH_DESC_FLAGS_TSO_MASK;
constexpr std::uint8_t kFinPushCwr = 0x01 | 0x08 | 0x80;

class EthernetOffload : public Conformance {
  protected:
    void SetUp() override {
        NEEDS(d, ETH_OFFLOAD);
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
    static dingo_eth_desc descriptor(std::uint64_t addr, std::size_t length, std::uint8_t flags,
                                     std::size_t start = 0, std::size_t arg = 0) {
        dingo_eth_desc desc{};
        desc.addr = addr;
        desc.length = static_cast<std::uint32_t>(length);
        desc.flags = flags;
        desc.start = static_cast<std::uint8_t>(start / 2);
        desc.arg = static_cast<std::uint16_t>(arg);
        return desc;
    }
    /// Posts `frame` as one descriptor.
    void post(const FrameBytes& frame, std::uint8_t flags, std::size_t start, std::size_t arg) {
        d.post_eth(tx, descriptor(put(frame), frame.size(), kEopBit | flags, start, arg));
        card.settle();
    }
    /// Expects that the last post completed in error and nothing was sent.
    void expect_refused(const char* why) {
        card.settle();
        const auto entry = d.poll_cq(cq);
        ASSERT_TRUE(entry) << why;
        EXPECT_NE(entry->status, DINGO_WCS_SUCCESS) << why;
        EXPECT_EQ(entry->wqe_index, tx.producer - 1) << why;
        EXPECT_TRUE(card.wire.sent.empty()) << why;
        EXPECT_EQ(d.card_stat(DINGO_CARD_ETH_TX_ERRORS), ++errors) << why;
    }
    /// Expects that the segments on the wire are the frame `f` split at `mss`, each correct.
    void expect_segments(const FrameBytes& whole, const FrameOf& f, std::size_t mss) {
        const Places at(f);
        const std::size_t count = (f.payload + mss - 1) / mss;
        ASSERT_EQ(card.wire.sent.size(), count);
        for (std::size_t n = 0; n < count; ++n) {
            const FrameBytes& one = card.wire.sent[n];
            const std::size_t from = n * mss;
            const std::size_t bytes = std::min(mss, f.payload - from);
            ASSERT_EQ(one.size(), at.payload + bytes) << n;
            EXPECT_TRUE(is_right(one, f)) << n;
            EXPECT_TRUE(std::ranges::equal(std::span(one).subspan(at.payload),
                                           std::span(whole).subspan(at.payload + from, bytes)))
                << n;
            EXPECT_EQ(get32(one, at.l4 + 4),
                      get32(whole, at.l4 + 4) + static_cast<std::uint32_t>(from));
            if (f.ipv6) {
                EXPECT_EQ(get16(one, at.l3 + 4), one.size() - at.l4);
            } else {
                EXPECT_EQ(get16(one, at.l3 + 2), one.size() - at.l3);
                EXPECT_EQ(get16(one, at.l3 + 4),
                          static_cast<std::uint16_t>(get16(whole, at.l3 + 4) + n));
            }
            unsigned flags = f.tcp_flags & ~kFinPushCwr;
            flags |= n == 0 ? f.tcp_flags & 0x80u : 0;
            flags |= n + 1 == count ? f.tcp_flags & 0x09u : 0;
            EXPECT_EQ(std::to_integer<unsigned>(one[at.l4 + 13]), flags) << n;
            EXPECT_TRUE(
                std::ranges::equal(std::span(one).first(at.l3), std::span(whole).first(at.l3)));
        }
        const auto entry = d.poll_cq(cq);
        ASSERT_TRUE(entry);
        EXPECT_EQ(entry->status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(entry->byte_len, whole.size());
        EXPECT_FALSE(d.poll_cq(cq)) << "one completion a frame";
    }
    /// Most segments that have left the ring although the wire is busy: the RTL has a buffer there.
    std::size_t most_on_their_way() { return engine() == "rtl" ? 3 : 0; }
    /// Receives `frame` and returns its completion.
    dingo_cqe received(const FrameBytes& frame) {
        d.post_eth(rx, card.host.alloc(2048), 2048);
        card.receive(frame);
        const auto entry = d.poll_cq(cq);
        EXPECT_TRUE(entry && entry->status == DINGO_WCS_SUCCESS);
        return entry.value_or(dingo_cqe{});
    }
    bool csum_ok(const FrameBytes& frame) {
        return (received(frame).flags & DINGO_CQE_FLAGS_CSUM_OK_MASK) != 0;
    }

    OneCard card{engine()};
    TestDriver& d = card.driver;
    Cq cq;
    EthRing tx;
    EthRing rx;
    std::uint64_t errors = 0;
};

TEST_P(EthernetOffload, FillsInTheChecksumBehindThePseudoHeadersSum) {
    for (const bool ipv6 : {false, true}) {
        for (const std::uint8_t protocol : {6, 17}) {
            for (const std::size_t payload : {0, 1, 2, 3, 1000, 1001}) {
                FrameOf f;
                f.ipv6 = ipv6;
                f.protocol = protocol;
                f.payload = payload;
                f.tagged = payload == 1001;
                const Places at(f);
                const FrameBytes whole = frame_of(f);
                FrameBytes asked = whole;
                put16(asked, at.checksum, 0);
                put16(asked, at.checksum, sum_of(asked, f, 0, 0, true));
                card.wire.sent.clear();
                post(asked, kCsumBit, at.l4, at.checksum - at.l4);
                ASSERT_EQ(card.wire.sent.size(), 1u);
                FrameBytes sent = card.wire.sent[0];
                if (engine() == "rtl" && sent.size() == 60) {
                    sent.resize(std::min<std::size_t>(whole.size(), 60));  // padded by the MAC
                }
                EXPECT_EQ(sent, whole) << ipv6 << +protocol << ' ' << payload;
                EXPECT_EQ(d.poll_cq(cq)->status, DINGO_WCS_SUCCESS);
            }
        }
    }
}

TEST_P(EthernetOffload, AChecksumOfZeroIsSentAsAllOnes) {
    FrameOf f;
    f.protocol = 17;
    f.payload = 2;
    const Places at(f);
    FrameBytes frame = frame_of(f);
    put16(frame, at.checksum, 0);
    // The payload makes the sum all ones, whose complement is 0: "no checksum" in UDP.
    put16(frame, at.payload, 0);
    put16(frame, at.payload,
          static_cast<std::uint16_t>(~sum_of(frame, f, at.l4, frame.size(), true)));
    put16(frame, at.checksum, sum_of(frame, f, 0, 0, true));
    post(frame, kCsumBit, at.l4, 6);
    ASSERT_EQ(card.wire.sent.size(), 1u);
    EXPECT_EQ(get16(card.wire.sent[0], at.checksum), 0xffff);
}

TEST_P(EthernetOffload, ChecksumOfAFrameInPieces) {
    FrameOf f;
    f.payload = 777;
    const Places at(f);
    const FrameBytes whole = frame_of(f);
    FrameBytes asked = whole;
    put16(asked, at.checksum, 0);
    put16(asked, at.checksum, sum_of(asked, f, 0, 0, true));
    const std::uint64_t addr = put(asked);
    d.post_eth(tx, descriptor(addr, 41, kCsumBit, at.l4, 16), false);
    d.post_eth(tx, descriptor(addr + 41, 3, 0), false);
    d.post_eth(tx, descriptor(addr + 44, asked.size() - 44, kEopBit));
    card.settle();
    ASSERT_EQ(card.wire.sent.size(), 1u);
    EXPECT_EQ(card.wire.sent[0], whole);
}

TEST_P(EthernetOffload, ChecksumsOutsideTheFrameAreRefused) {
    const FrameBytes frame = frame_of({});
    post(frame, kCsumBit, 0, 16);
    expect_refused("in the Ethernet header");
    post(frame, kCsumBit, 34, frame.size() - 34);
    expect_refused("behind the end");
    post(frame, kCsumBit, 34, frame.size() - 35);
    expect_refused("half behind the end");
    post(frame, kCsumBit, 510, 0);
    expect_refused("a start behind the end");
    post(frame, kCsumBit, 34, 0xffff);
    expect_refused("far behind the end");
    post(frame, kCsumBit | kTsoBit, 34, 16);
    expect_refused("both at once");
    post(frame, 0, 34, 0);
    expect_refused("a start for nothing");
    post(frame, 0, 0, 1);
    expect_refused("an argument for nothing");
    const std::uint64_t addr = put(frame);
    for (const std::uint8_t flag : {kCsumBit, kTsoBit}) {
        d.post_eth(tx, descriptor(addr, 60, 0), false);
        d.post_eth(tx, descriptor(addr + 60, frame.size() - 60, kEopBit | flag, 34, 16));
        expect_refused("not in the first descriptor");
    }
    post(frame, kCsumBit, 34, frame.size() - 36);
    EXPECT_EQ(card.wire.sent.size(), 1u) << "the last two bytes";
}

TEST_P(EthernetOffload, CutsALongFrame) {
    for (const bool ipv6 : {false, true}) {
        for (const bool tagged : {false, true}) {
            FrameOf f;
            f.ipv6 = ipv6;
            f.tagged = tagged;
            f.options = ipv6 ? 12 : 40;
            f.payload = 10'000;
            f.tcp_flags = 0x10 | kFinPushCwr;
            FrameBytes whole = frame_of(f);
            const Places at(f);
            put16(whole, at.checksum, 0x1234);  // ignored
            card.wire.sent.clear();
            post(whole, kTsoBit, at.l4, 1400);
            expect_segments(whole, f, 1400);
        }
    }
    EXPECT_EQ(d.card_stat(DINGO_CARD_ETH_TX_PACKETS), 32u) << "segments are what is counted";
}

TEST_P(EthernetOffload, TheLongestFrameOfManyPieces) {
    FrameOf f;
    f.payload = DINGO_MAX_TSO - Places(f).payload;
    const FrameBytes whole = frame_of(f);
    const std::uint64_t addr = put(whole);
    d.post_eth(tx, descriptor(addr, 54, kTsoBit, 34, 1460), false);
    for (std::size_t at = 54; at < whole.size();) {
        const std::size_t bytes = std::min<std::size_t>(whole.size() - at, 20'000);
        at += bytes;
        d.post_eth(tx, descriptor(addr + at - bytes, bytes, at == whole.size() ? kEopBit : 0),
                   false);
    }
    d.ring_eth(tx);
    card.settle();
    expect_segments(whole, f, 1460);
}

TEST_P(EthernetOffload, TheLongestFrameInOnePiece) {
    FrameOf f;
    f.payload = DINGO_MAX_TSO - Places(f).payload;
    const FrameBytes whole = frame_of(f);
    post(whole, kTsoBit, 34, 1460);
    expect_segments(whole, f, 1460);
}

TEST_P(EthernetOffload, OneSegmentIsTheFrameItself) {
    FrameOf f;
    f.tcp_flags = 0x18;
    const FrameBytes whole = frame_of(f);
    post(whole, kTsoBit, 34, 1460);
    ASSERT_EQ(card.wire.sent.size(), 1u);
    EXPECT_EQ(card.wire.sent[0], whole);
}

TEST_P(EthernetOffload, WhatCannotBeCutIsRefused) {
    FrameOf f;
    f.payload = 3000;
    const FrameBytes whole = frame_of(f);
    const auto refused = [&](const char* why, auto change) {
        FrameBytes frame = whole;
        change(frame);
        post(frame, kTsoBit, 34, 1460);
        expect_refused(why);
    };
    refused("neither IPv4 nor IPv6", [](FrameBytes& b) { b[12] = std::byte{0x88}; });
    refused("UDP", [](FrameBytes& b) { b[23] = std::byte{17}; });
    refused("a fragment", [](FrameBytes& b) { b[20] = std::byte{0x20}; });
    refused("a TCP header elsewhere", [](FrameBytes& b) { b[14] = std::byte{0x46}; });
    refused("an IPv4 header of 16 bytes", [](FrameBytes& b) { b[14] = std::byte{0x44}; });
    refused("a TCP header of 16 bytes", [](FrameBytes& b) { b[46] = std::byte{0x40}; });
    refused("headers only", [](FrameBytes& b) { b.resize(54); });
    refused("half a TCP header", [](FrameBytes& b) { b.resize(50); });
    refused("a TCP header longer than the frame", [](FrameBytes& b) {
        b.resize(60);
        b[46] = std::byte{0xf0};
    });
    for (const bool tagged : {false, true}) {
        FrameOf g;
        g.tagged = tagged;
        FrameBytes frame = frame_of(g);
        frame[Places(g).l3] = std::byte{0x44};
        post(frame, kTsoBit, 0, 100);
        expect_refused("no place for a TCP header, and none asked for");
    }
    post(whole, kTsoBit, 34, 0);
    expect_refused("segments of nothing");
    post(whole, kTsoBit, 34, 1461);
    expect_refused("segments longer than the MTU");
    post(whole, kTsoBit, 36, 1460);
    expect_refused("a start elsewhere");
    d.post_eth(tx, descriptor(put(whole), DINGO_MAX_TSO + 1, kTsoBit | kEopBit, 34, 1460));
    expect_refused("a piece longer than MAX_TSO");
    d.post_eth(tx, descriptor(put(whole), DINGO_MAX_TSO, kTsoBit, 34, 1460), false);
    d.post_eth(tx, descriptor(put(whole), 1, kEopBit));
    expect_refused("a frame longer than MAX_TSO");
    d.post_eth(tx, descriptor(0x4000, 3054, kTsoBit | kEopBit, 34, 1460));
    expect_refused("a bus error");
    post(whole, kTsoBit, 34, 1460);
    EXPECT_EQ(card.wire.sent.size(), 3u) << "the ring goes on";
}

TEST_P(EthernetOffload, OtherFramesPassBetweenSegments) {
    if (d.query_limits().max_eth_rings < 2)
        GTEST_SKIP() << "the engine has one ring of each kind";
    EthRing other = d.create_eth(DINGO_ETH_TX, 1, cq);
    FrameOf f;
    f.payload = 50'000;
    const FrameBytes whole = frame_of(f);
    const FrameBytes small = frame_of({});
    d.post_eth(tx, descriptor(put(whole), whole.size(), kTsoBit | kEopBit, 34, 1460));
    d.post_eth(other, descriptor(put(small), small.size(), kEopBit));
    card.settle();
    const auto at = std::ranges::find(card.wire.sent, small);
    ASSERT_NE(at, card.wire.sent.end());
    EXPECT_LT(at - card.wire.sent.begin(), 3);
    EXPECT_EQ(card.wire.sent.size(), 36u);
}

TEST_P(EthernetOffload, ABusyWireStopsBetweenSegmentsAndLosesNone) {
    FrameOf f;
    f.payload = 5000;
    const FrameBytes whole = frame_of(f);
    card.wire.busy = true;
    post(whole, kTsoBit, 34, 1460);
    EXPECT_FALSE(d.poll_cq(cq));
    card.wire.busy = false;
    card.now = card.engine->next_deadline();
    card.settle();
    expect_segments(whole, f, 1460);
}

TEST_P(EthernetOffload, AnMtuThatShrinksEndsTheFrameInError) {
    FrameOf f;
    f.payload = 5000;
    card.wire.busy = true;
    post(frame_of(f), kTsoBit, 34, 1460);
    d.enable_port(1400);
    card.wire.busy = false;
    card.now += 1'000'000;
    card.settle();
    EXPECT_LE(card.wire.sent.size(), most_on_their_way());
    card.wire.sent.clear();
    expect_refused("segments longer than the new MTU");
}

TEST_P(EthernetOffload, ARingThatGoesTakesItsFrameAlong) {
    FrameOf f;
    f.payload = 5000;
    card.wire.busy = true;
    post(frame_of(f), kTsoBit, 34, 1460);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_ETH, DINGO_ETH_TX << 24).status, DINGO_ST_OK + 0u);
    card.wire.busy = false;
    card.now += 1'000'000;
    card.settle();
    EXPECT_LE(card.wire.sent.size(), most_on_their_way());
    card.wire.sent.clear();
    tx = d.create_eth(DINGO_ETH_TX, 0, cq);
    post(frame_of({}), 0, 0, 0);
    EXPECT_EQ(card.wire.sent.size(), 1u);
}

TEST_P(EthernetOffload, ReceivedChecksumsAreLookedAt) {
    for (const bool ipv6 : {false, true}) {
        for (const std::uint8_t protocol : {6, 17}) {
            for (const bool tagged : {false, true}) {
                FrameOf f;
                f.to = {0x02, 0x44, 0x49, 0, 0, 1};
                f.ipv6 = ipv6;
                f.protocol = protocol;
                f.tagged = tagged;
                f.payload = 1 + 2 * protocol;
                FrameBytes frame = frame_of(f);
                EXPECT_TRUE(csum_ok(frame)) << ipv6 << +protocol << tagged;
                frame.resize(frame.size() + 9, std::byte{0x55});
                EXPECT_TRUE(csum_ok(frame)) << "padding is not summed";
                frame.resize(frame.size() - 10);
                EXPECT_FALSE(csum_ok(frame)) << "a byte is missing";
                frame = frame_of(f);
                frame.back() ^= std::byte{1};
                EXPECT_FALSE(csum_ok(frame)) << "a wrong byte";
            }
        }
    }
}

TEST_P(EthernetOffload, WhatHasNoCheckedSumIsNotCalledRight) {
    FrameOf f;
    f.to = {0x02, 0x44, 0x49, 0, 0, 1};
    const auto ok_after = [&](auto change) {
        FrameBytes frame = frame_of(f);
        change(frame);
        return csum_ok(frame);
    };
    EXPECT_FALSE(ok_after([](FrameBytes& b) { b[24] ^= std::byte{1}; })) << "IPv4 header's";
    EXPECT_FALSE(ok_after([](FrameBytes& b) { b[23] = std::byte{1}; })) << "another protocol";
    f.protocol = 17;
    EXPECT_FALSE(ok_after([&](FrameBytes& b) { put16(b, 40, 0); })) << "UDP without one";
    EXPECT_FALSE(ok_after([&](FrameBytes& b) {
        b[20] = std::byte{0x20};
        put16(b, 24, 0);
        put16(b, 24, static_cast<std::uint16_t>(~sum_of(b, f, 14, 34, false)));
    })) << "a fragment";
    EXPECT_FALSE(ok_after([](FrameBytes& b) { b.resize(36); })) << "half a UDP header";
}

TEST_P(EthernetOffload, AUdpChecksumOfZeroIsNoneAlsoWhereTheSumIsRight) {
    FrameOf f;
    f.to = {0x02, 0x44, 0x49, 0, 0, 1};
    f.protocol = 17;
    f.payload = 4;
    const Places at(f);
    FrameBytes frame = frame_of(f);
    put16(frame, at.checksum, 0);
    put16(frame, at.payload, 0xa55a);
    put16(frame, at.payload + 2, 0);
    // The sum is all ones without a checksum and with one of all ones, which is what is sent.
    put16(frame, at.payload + 2,
          static_cast<std::uint16_t>(~sum_of(frame, f, at.l4, frame.size(), true)));
    EXPECT_FALSE(csum_ok(frame));
    put16(frame, at.checksum, 0xffff);
    EXPECT_TRUE(csum_ok(frame));
}

TEST_P(EthernetOffload, ZerosWhereOthersHaveAChecksumAreNone) {
    FrameOf f;
    f.to = {0x02, 0x44, 0x49, 0, 0, 1};
    const Places at(f);
    FrameBytes frame = frame_of(f);
    put16(frame, at.l4 + 6, 0);  // part of TCP's sequence number
    put16(frame, at.checksum, 0);
    put16(frame, at.checksum,
          static_cast<std::uint16_t>(~sum_of(frame, f, at.l4, frame.size(), true)));
    EXPECT_TRUE(csum_ok(frame));
    f.protocol = 17;
    f.payload = 4;
    const Places udp(f);
    for (const std::uint16_t checksum : {0x0001, 0x5a00}) {
        frame = frame_of(f);
        put16(frame, udp.payload, 0x00a5);
        put16(frame, udp.checksum, checksum);
        put16(frame, udp.payload + 2, 0);
        put16(frame, udp.payload + 2,
              static_cast<std::uint16_t>(~sum_of(frame, f, udp.l4, frame.size(), true)));
        EXPECT_TRUE(csum_ok(frame)) << checksum;
    }
}

TEST_P(EthernetOffload, WithoutTheCapabilityNothingIsOffloaded) {
    EngineConfig config;
    config.withheld = DINGO_CAP_ETH_OFFLOAD | DINGO_CAP_ETH_RSS;
    OneCard plain(engine(), config);
    TestDriver& driver = plain.driver;
    driver.start();
    driver.enable_port(1500);
    Cq events = driver.create_cq(8);
    EthRing out = driver.create_eth(DINGO_ETH_TX, 0, events);
    EthRing in = driver.create_eth(DINGO_ETH_RX, 0, events);
    FrameOf f;
    f.to = {0x02, 0x44, 0x49, 0, 0, 1};
    const FrameBytes frame = frame_of(f);
    const std::uint64_t addr = plain.host.alloc(4096);
    std::ranges::copy(frame, plain.host.at(addr, frame.size()));
    for (const std::uint8_t flag : {kCsumBit, kTsoBit}) {
        driver.post_eth(out, descriptor(addr, frame.size(), kEopBit | flag, 34, 16));
        plain.settle();
        EXPECT_NE(driver.poll_cq(events)->status, DINGO_WCS_SUCCESS);
    }
    driver.post_eth(in, addr, 2048);
    plain.receive(frame);
    const auto entry = driver.poll_cq(events);
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->flags & (DINGO_CQE_FLAGS_CSUM_OK_MASK | DINGO_CQE_FLAGS_HASH_L4_MASK), 0);
    EXPECT_EQ(entry->src_qpn, 0u);
    EXPECT_EQ(driver.execute(DINGO_OP_SET_RSS, dingo_cmd_set_rss{}).status,
              DINGO_ST_UNSUPPORTED + 0u);
}

INSTANTIATE_TEST_SUITE_P(Conformance, EthernetOffload,
                         testing::ValuesIn(dingo::test::register_engines()),
                         [](const auto& engine_of) { return engine_of.param; });

}  // namespace
}  // namespace dingo::conformance
