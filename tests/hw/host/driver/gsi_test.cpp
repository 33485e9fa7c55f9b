// SPDX-License-Identifier: BSD-2-Clause
//
// The general services QP: management datagrams from card to card.
#include "host/driver/gsi.h"

#include <optional>

#include "dingo/packet/headers.h"
#include "two_cards.h"

namespace dingo::uverbs::test {
namespace {

MadBytes mad_of(std::uint32_t number) {
    MadBytes mad{};
    std::memcpy(mad.data(), &number, sizeof number);
    mad.back() = std::byte{0x5d};
    return mad;
}

AhAttr to(const Gid& gid, std::uint8_t sgid_index) {
    AhAttr attr;
    attr.dgid = gid;
    attr.sgid_index = sgid_index;
    attr.is_global = true;
    return attr;
}

class GsiTest : public TwoCards {
  protected:
    /// Until nothing is left to do, as settle().
    void run() {
        const auto take = [this](const GsiReceived& got) { received.push_back(got); };
        for (int idle = 0, rounds = 0; idle < 3 && rounds < 10'000; ++rounds) {
            bool more = a->poll(now);
            more = b->poll(now) || more;
            more = gsi_a->poll(take) || more;
            more = gsi_b->poll(take) || more;
            idle = more ? 0 : idle + 1;
        }
    }
    AhAttr to_b(std::uint8_t index) const { return to(b->driver.gids().at(index).gid, index); }

    std::optional<Gsi> gsi_a{a->driver}, gsi_b{b->driver};
    std::vector<GsiReceived> received;
};

TEST_F(GsiTest, DatagramsOfBothProtocolsTellWhoSentThem) {
    for (const std::uint8_t index : {1, 2}) {  // IPv4, IPv6
        received.clear();
        gsi_a->send(to_b(index), mad_of(index));
        run();
        ASSERT_EQ(received.size(), 1U) << "it waited for the neighbour's answer, and left once";
        EXPECT_EQ(received[0].source, a->driver.gids().at(index).gid);
        EXPECT_EQ(received[0].destination, b->driver.gids().at(index).gid);
        EXPECT_EQ(received[0].qpn, 1U);
        EXPECT_EQ(received[0].mad, mad_of(index));
        EXPECT_EQ(gsi_a->stats().sent, index);
        EXPECT_EQ(gsi_b->stats().received, index);
    }
    EXPECT_EQ(gsi_a->stats().unsent, 0U);
}

// The queues go round many times; an entry that was taken before is no new one.
TEST_F(GsiTest, EachOfThousandsIsReceivedOnce) {
    constexpr std::uint32_t kBurst = 100;  // more than the send queue holds
    constexpr std::uint32_t kAll = 3000;
    for (std::uint32_t n = 0; n < kAll; n += kBurst) {
        for (std::uint32_t i = n; i < n + kBurst; ++i) {
            gsi_a->send(to_b(1), mad_of(i));
        }
        run();
        ASSERT_EQ(received.size(), n + kBurst);
    }
    for (std::uint32_t n = 0; n < kAll; ++n) {
        ASSERT_EQ(received[n].mad, mad_of(n));
    }
    EXPECT_EQ(gsi_a->stats().sent, kAll);
    EXPECT_EQ(gsi_b->stats().received, kAll);
    EXPECT_EQ(gsi_b->stats().wrong_length, 0U);
}

TEST_F(GsiTest, ANeighbourThatDoesNotAnswerHoldsUpNobody) {
    const Gid nobody = packet::parse_gid("10.77.0.9").value().bytes;
    gsi_a->send(to(nobody, 1), mad_of(1));
    gsi_a->send(to_b(1), mad_of(2));
    run();
    ASSERT_EQ(received.size(), 1U);
    EXPECT_EQ(received[0].mad, mad_of(2));
    EXPECT_EQ(gsi_a->stats().unsent, 0U) << "it still waits";
    for (unsigned second = 0; second <= Neighbours::kTries; ++second) {
        now += Neighbours::kRetry;
        run();
    }
    EXPECT_EQ(gsi_a->stats().unsent, 1U);
    EXPECT_EQ(gsi_a->stats().sent, 1U);
    EXPECT_EQ(received.size(), 1U);
    gsi_a->send(to(packet::parse_gid("192.0.2.1").value().bytes, 1), mad_of(3));
    EXPECT_EQ(gsi_a->stats().unsent, 2U) << "no way there";
}

TEST_F(GsiTest, ObjectsGoWithIt) {
    Driver& d = a->driver;
    const std::size_t windows = d.bus().size();
    const std::size_t regions = d.keys().indexes().in_use();
    gsi_a.reset();
    EXPECT_LT(d.bus().size(), windows);
    EXPECT_EQ(d.keys().indexes().in_use(), regions - 1);
    gsi_a.emplace(a->driver);
    EXPECT_EQ(d.bus().size(), windows);
    gsi_a->send(to_b(1), mad_of(1));
    run();
    EXPECT_EQ(received.size(), 1U);
}

struct LastFrame final : FrameSink {
    void on_frame(std::span<const std::byte> got) override { frame.assign(got.begin(), got.end()); }
    std::vector<std::byte> frame;
};

TEST(GsiFrames, LeaveWithWhatTheAddressVectorSays) {
    auto wires = make_loop_pair();
    Host host(*wires.first, 0x02'44'49'00'00'0A, {});
    Gsi gsi(host.driver);
    const auto sent = [&](const char* peer, std::uint8_t hop_limit) {
        AhAttr attr = to(packet::parse_gid(peer).value().bytes, 0);
        attr.traffic_class = 0x68;
        attr.flow_label = 0x12345;
        attr.hop_limit = hop_limit;
        gsi.send(attr, mad_of(1));
        for (int n = 0; n < 8; ++n) {
            host.poll(1'000'000);
        }
        LastFrame sink;
        wires.second->receive(sink, 100);
        EXPECT_GT(sink.frame.size(), packet::kEthernetBytes + packet::kIpv6Bytes);
        sink.frame.resize(packet::kMinEthernetFrameBytes);
        return packet::Ipv6Header::load(&sink.frame[packet::kEthernetBytes]);
    };
    const auto ip = sent("fe80::44:49ff:fe00:b", 7);
    EXPECT_EQ(ip.hop_limit, 64) << "the route's: a host next to us";
    EXPECT_EQ(ip.traffic_class, 0x68);
    EXPECT_EQ(ip.flow_label, 0x12345U);
    EXPECT_EQ(sent("ff02::1", 3).hop_limit, 3) << "a group has no route";
}

TEST(GsiFrames, ACardWithoutDatagramsIsNotAsked) {
    auto wires = make_loop_pair();
    Host host(*wires.first, 0x02'44'49'00'00'0A, {}, DINGO_CAP_UD);
    const auto commands = [&] {
        for (const auto& [name, value] : host.driver.card_counters()) {
            if (name == "admin_errors") {
                return value;
            }
        }
        return ~std::uint64_t{0};
    };
    const std::uint64_t before = commands();
    EXPECT_EQ(errno_of([&] { Gsi gsi(host.driver); }), EOPNOTSUPP);
    EXPECT_EQ(commands(), before);
}

}  // namespace
}  // namespace dingo::uverbs::test
