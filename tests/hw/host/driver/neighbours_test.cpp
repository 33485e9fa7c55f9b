// SPDX-License-Identifier: BSD-2-Clause
// Address resolution and the answers that a host must send: ARP, NDP, ping.
#include "host/driver/neighbours.h"

#include <random>
#include <set>

#include "dingo/packet/build.h"
#include "host/driver/neighbour_frames.h"
#include "two_cards.h"

namespace dingo::uverbs::test {
namespace {

constexpr packet::Mac kOurs{{2, 0, 0, 0, 0, 0x99}};

struct Collect final : FrameSink {
    void on_frame(std::span<const std::byte> frame) override {
        frames.emplace_back(frame.begin(), frame.end());
    }
    std::vector<std::vector<std::byte>> frames;
};

struct Asker final : Waiter {
    void settled(int error) override { told.push_back(error); }
    std::vector<int> told;
};

/// One card; the test is at the other end of the wire.
class NeighboursTest : public ::testing::Test {
  protected:
    void send(std::span<const std::byte> frame) {
        const auto room = wires.second->begin_frame(frame.size());
        std::ranges::copy(frame, room.begin());
        wires.second->end_frame(frame.size());
    }
    std::vector<std::vector<std::byte>> received() {
        for (int n = 0; n < 8; ++n) {
            host.poll(now);
        }
        Collect sink;
        wires.second->receive(sink, 100);
        return sink.frames;
    }
    AhAttr to(const char* text, std::uint8_t sgid_index = 1) {
        AhAttr attr;
        attr.dgid = packet::parse_gid(text).value().bytes;
        attr.sgid_index = sgid_index;
        attr.is_global = true;
        return attr;
    }
    dingo_create_ah_resp create_ah(const AhAttr& attr) {
        Udata udata;
        host.driver.create_ah(attr, udata);
        dingo_create_ah_resp resp{};
        std::memcpy(&resp, udata.out.data(), sizeof resp);
        EXPECT_GE(resp.udp_sport, 0xc000);
        return resp;
    }
    /// Returns the MAC address, or nullopt while it is being resolved; then `waiter` waits for it.
    std::optional<packet::Mac> ah(const AhAttr& attr, Waiter* waiter = nullptr) {
        try {
            const dingo_create_ah_resp resp = create_ah(attr);
            packet::Mac found;
            std::ranges::copy(resp.dmac, found.bytes.begin());
            return found;
        } catch (const NotYet& not_yet) {
            if (waiter != nullptr) {
                host.driver.await(not_yet, *waiter);
            }
            return std::nullopt;
        }
    }

    Nanoseconds now = 1'000'000;
    std::pair<std::unique_ptr<Wire>, std::unique_ptr<Wire>> wires = make_loop_pair();
    Host host{*wires.first, 0x02'44'49'00'00'0A, {"10.77.0.1/24", "fd77::1/64"}};
    packet::Mac mac = packet::Mac::from_u64(0x02'44'49'00'00'0A);
};

TEST_F(NeighboursTest, ArpIsAsked) {
    received();
    EXPECT_EQ(ah(to("10.77.0.9")), std::nullopt);
    const auto frames = received();
    ASSERT_EQ(frames.size(), 1U);
    const auto request = Arp::load(frames[0]);
    ASSERT_TRUE(request.has_value());
    EXPECT_EQ(request->operation, Arp::kRequest);
    EXPECT_EQ(request->target, 0x0a4d0009U);
    EXPECT_EQ(request->sender, 0x0a4d0001U);
    EXPECT_EQ(request->sender_mac, mac);
    EXPECT_EQ(packet::EthernetHeader::load(frames[0].data()).dst,
              (packet::Mac{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}));
    EXPECT_EQ(ah(to("10.77.0.9")), std::nullopt);
    EXPECT_TRUE(received().empty()) << "asked once a second";

    send(Arp{Arp::kReply, kOurs, 0x0a4d0009, mac, 0x0a4d0001}.frame(mac));
    received();
    EXPECT_EQ(ah(to("10.77.0.9")), kOurs);
    EXPECT_TRUE(received().empty());
    now += Neighbours::kFresh;
    received();
    EXPECT_EQ(ah(to("10.77.0.9")), kOurs) << "an old answer serves while it is asked for again";
    EXPECT_EQ(received().size(), 1U);
}

TEST_F(NeighboursTest, NobodyAnswers) {
    Asker waiter;
    EXPECT_EQ(ah(to("10.77.0.9"), &waiter), std::nullopt);
    std::size_t asked = received().size();
    for (int second = 0; second < 2; ++second) {
        EXPECT_LE(host.driver.next_deadline(), now + Neighbours::kRetry);
        now += Neighbours::kRetry;
        asked += received().size();
        EXPECT_EQ(ah(to("10.77.0.9")), std::nullopt);
    }
    EXPECT_EQ(asked, 3U);
    EXPECT_TRUE(waiter.waits());
    now += Neighbours::kRetry;
    EXPECT_TRUE(received().empty());
    EXPECT_EQ(waiter.told, std::vector{ETIMEDOUT});
    EXPECT_FALSE(waiter.waits());
    EXPECT_EQ(ah(to("10.77.0.9")), std::nullopt) << "the next call starts anew";
    EXPECT_EQ(received().size(), 1U);
}

// Waiters must cost a card nothing until an address is known or given up.
TEST_F(NeighboursTest, WhoWaitsIsToldOnceAndOnlyOfItsNeighbour) {
    Asker nine;
    Asker eight;
    Asker gone;
    {
        Asker dies;
        EXPECT_EQ(ah(to("10.77.0.9"), &dies), std::nullopt);
        EXPECT_EQ(ah(to("10.77.0.9"), &nine), std::nullopt);
        EXPECT_EQ(ah(to("10.77.0.9"), &gone), std::nullopt);
        EXPECT_EQ(ah(to("10.77.0.8"), &eight), std::nullopt);
    }
    gone.stop_waiting();
    received();
    send(Arp{Arp::kReply, kOurs, 0x0a4d0009, mac, 0x0a4d0001}.frame(mac));
    received();
    EXPECT_EQ(nine.told, std::vector{0});
    EXPECT_TRUE(gone.told.empty());
    EXPECT_TRUE(eight.waits());
    send(Arp{Arp::kReply, kOurs, 0x0a4d0009, mac, 0x0a4d0001}.frame(mac));
    received();
    EXPECT_EQ(nine.told.size(), 1U);
}

TEST_F(NeighboursTest, AFewAreToldInARound) {
    std::vector<std::unique_ptr<Asker>> waiters;
    for (int i = 0; i < 1000; ++i) {
        ah(to("10.77.0.9"), waiters.emplace_back(std::make_unique<Asker>()).get());
    }
    received();
    send(Arp{Arp::kReply, kOurs, 0x0a4d0009, mac, 0x0a4d0001}.frame(mac));
    const auto told = [&] {
        return std::ranges::count_if(waiters, [](const auto& w) { return !w->told.empty(); });
    };
    host.poll(now);
    host.poll(now);
    EXPECT_GT(told(), 0);
    EXPECT_LE(told(), 64);
    EXPECT_EQ(host.driver.next_deadline(), 0U) << "it goes on at once";
    for (int round = 0; round < 1000 && host.driver.next_deadline() == 0; ++round) {
        host.poll(now);
    }
    EXPECT_EQ(told(), 1000);
}

// Thousands of addresses with times of their own: all are checked a hundred times per second.
TEST_F(NeighboursTest, ManyThatAreAskedForAreLookedAtSeldom) {
    for (int i = 0; i < 200; ++i) {
        AhAttr attr = to("10.77.0.9");
        attr.dgid[15] = static_cast<std::uint8_t>(i + 2);
        ah(attr);
        now += 1'000'000;
        host.poll(now);
    }
    now += Neighbours::kRetry;
    host.poll(now);
    EXPECT_GE(host.driver.next_deadline(), now + 10'000'000);
    EXPECT_LE(host.driver.next_deadline(), now + Neighbours::kRetry);
}

TEST_F(NeighboursTest, FailureIsForAllWhoWait) {
    Asker first;
    Asker second;
    Asker other;
    EXPECT_EQ(ah(to("10.77.0.9"), &first), std::nullopt);
    for (unsigned n = 0; n < Neighbours::kTries; ++n) {
        received();
        now += Neighbours::kRetry;
        EXPECT_EQ(ah(to("10.77.0.8")), std::nullopt) << "another host is another matter";
    }
    EXPECT_EQ(ah(to("10.77.0.9"), &second), std::nullopt);
    EXPECT_EQ(ah(to("10.77.0.8"), &other), std::nullopt);
    EXPECT_TRUE(host.driver.poll(now)) << "something was done";
    EXPECT_EQ(first.told, std::vector{ETIMEDOUT});
    EXPECT_EQ(second.told, std::vector{ETIMEDOUT});
    EXPECT_TRUE(other.waits());
    EXPECT_EQ(ah(to("10.77.0.9")), std::nullopt) << "not for those who come later";
}

TEST_F(NeighboursTest, AnOldAnswerServesWhileOthersAreAskedFor) {
    send(Arp{Arp::kRequest, kOurs, 0x0a4d0009, {}, 0x0a4d0001}.frame(kBroadcast));
    received();
    now += Neighbours::kFresh;
    received();
    EXPECT_EQ(ah(to("10.77.0.8")), std::nullopt);
    EXPECT_EQ(ah(to("10.77.0.9")), kOurs);
}

TEST_F(NeighboursTest, AGroupIsNobodysAddress) {
    EXPECT_EQ(ah(to("10.77.0.9")), std::nullopt);
    send(Arp{Arp::kReply, kBroadcast, 0x0a4d0009, mac, 0x0a4d0001}.frame(mac));
    received();
    EXPECT_EQ(ah(to("10.77.0.9")), std::nullopt);
    send(Arp{Arp::kReply, kOurs, 0x0a4d0009, mac, 0x0a4d0001}.frame(mac));
    received();
    EXPECT_EQ(ah(to("10.77.0.9")), kOurs);
}

TEST_F(NeighboursTest, FailureThatNobodyWaitedForIsForgotten) {
    EXPECT_EQ(ah(to("10.77.0.9")), std::nullopt);
    for (int second = 0; second < 4; ++second) {
        received();
        now += Neighbours::kRetry;
    }
    received();
    EXPECT_EQ(host.driver.next_deadline(), kNever);
    EXPECT_EQ(ah(to("10.77.0.9")), std::nullopt) << "the host may be up by now";
    EXPECT_EQ(received().size(), 1U) << "it is asked";
}

TEST_F(NeighboursTest, NeighbourDiscovery) {
    const auto peer = packet::parse_gid("fd77::9").value();
    EXPECT_EQ(ah(to("fd77::9", 2)), std::nullopt);
    const auto frames = received();
    ASSERT_EQ(frames.size(), 1U);
    const auto ask = Ndp::load(frames[0]);
    ASSERT_TRUE(ask.has_value());
    EXPECT_EQ(ask->type, Ndp::kSolicitation);
    EXPECT_EQ(ask->target, peer);
    EXPECT_EQ(packet::to_string(ask->src), "fd77::1");
    EXPECT_EQ(packet::to_string(ask->dst), "ff02::1:ff00:9");
    EXPECT_EQ(ask->link_address, mac) << "where the answer is to go";
    EXPECT_EQ(packet::EthernetHeader::load(frames[0].data()).src, mac);
    EXPECT_EQ(packet::EthernetHeader::load(frames[0].data()).dst,
              (packet::Mac{{0x33, 0x33, 0xff, 0, 0, 9}}));
    Ndp answer;
    answer.type = Ndp::kAdvertisement;
    answer.src = peer;
    answer.dst = ask->src;
    answer.target = peer;
    answer.solicited = true;
    answer.link_address = kOurs;
    auto broken = answer.frame(kOurs, mac);
    broken[60] ^= std::byte{1};
    send(broken);
    received();
    EXPECT_EQ(ah(to("fd77::9", 2)), std::nullopt) << "wrong checksum";
    send(answer.frame(kOurs, mac));
    received();
    EXPECT_EQ(ah(to("fd77::9", 2)), kOurs);
}

TEST_F(NeighboursTest, KnownWithoutAsking) {
    EXPECT_EQ(ah(to("10.77.0.1")), mac) << "itself";
    EXPECT_EQ(ah(to("fe80::44:49ff:fe00:b", 0)), packet::Mac::from_u64(0x02'44'49'00'00'0B))
        << "EUI-64";
    EXPECT_EQ(ah(to("fe80::1022:33ff:fe44:5566", 0)), packet::Mac::from_u64(0x12'22'33'44'55'66));
    EXPECT_EQ(errno_of([&] { ah(to("10.78.0.1")); }), ENETUNREACH);
    EXPECT_EQ(errno_of([&] { ah(to("10.77.0.9", 2)); }), EINVAL) << "IPv4 from an IPv6 address";
    ASSERT_EQ(host.driver.gids().size(), 3U);
    EXPECT_EQ(errno_of([&] { ah(to("10.77.0.9", 3)); }), ENODATA);
    EXPECT_EQ(errno_of([&] { ah(to("10.77.0.9", 7)); }), ENODATA);
    EXPECT_EQ(ah(to("224.0.0.1")), packet::Mac::from_u64(0x01'00'5E'00'00'01)) << "a group";
    AhAttr local = to("10.77.0.9");
    local.is_global = false;
    EXPECT_EQ(errno_of([&] { ah(local); }), EINVAL);
    AhAttr level = to("10.77.0.1");
    level.sl = 15;
    EXPECT_EQ(ah(level), mac);
    level.sl = 16;
    EXPECT_EQ(errno_of([&] { ah(level); }), EINVAL) << "service levels have four bits";
}

// A network with equal-cost paths distinguishes flows by the UDP source port.
TEST_F(NeighboursTest, TheSourcePortIsTheFlowLabelsElseThePeers) {
    std::set<std::uint16_t> ports;
    for (std::uint8_t n = 1; n <= 16; ++n) {
        AhAttr group = to("239.1.1.1");
        group.dgid[15] = n;
        const std::uint16_t port = create_ah(group).udp_sport;
        EXPECT_EQ(create_ah(group).udp_sport, port);
        ports.insert(port);
        group.flow_label = 0x12345;
        EXPECT_EQ(create_ah(group).udp_sport, packet::udp_sport_from_flow_label(0x12345));
    }
    EXPECT_GT(ports.size(), 8U);
}

// The time of a card that slept is old when its client asks.
TEST_F(NeighboursTest, ASecondIsCountedFromWhenTheCardIsAwake) {
    received();
    now += 10 * Neighbours::kRetry;
    EXPECT_EQ(ah(to("10.77.0.9")), std::nullopt);
    EXPECT_EQ(received().size(), 1U) << "asked once";
    EXPECT_EQ(host.driver.next_deadline(), now + Neighbours::kRetry);
}

TEST_F(NeighboursTest, OnlyAnEui64OfOneHostTellsItsMac) {
    received();
    EXPECT_EQ(ah(to("febf::44:49ff:fe00:b", 0)), packet::Mac::from_u64(0x02'44'49'00'00'0B));
    EXPECT_EQ(errno_of([&] { ah(to("fec0::44:49ff:fe00:b", 0)); }), ENETUNREACH);
    EXPECT_EQ(errno_of([&] { ah(to("fc80::44:49ff:fe00:b", 0)); }), ENETUNREACH);
    for (const char* const other : {"fe80::1", "fe80::44:49fe:fe00:b", "fe80::44:49ff:fd00:b",
                                    "fe80::344:49ff:fe00:b"}) {  // the last one is a group's
        EXPECT_EQ(ah(to(other, 0)), std::nullopt) << other;
        EXPECT_EQ(received().size(), 1U) << other << " is asked for";
    }
}

// Anybody can send answers; they must not displace addresses that were resolved on request.
TEST_F(NeighboursTest, AnAnswerThatNobodyAskedForTeachesNothing) {
    received();
    send(Arp{Arp::kReply, kOurs, 0x0a4d0009, {}, 0x0a4d0002}.frame(kBroadcast));
    EXPECT_TRUE(received().empty());
    EXPECT_EQ(ah(to("10.77.0.9")), std::nullopt);
    EXPECT_EQ(received().size(), 1U);
    Ndp told;
    told.type = Ndp::kAdvertisement;
    told.src = told.target = packet::parse_gid("fd77::9").value();
    told.dst = packet::parse_gid("ff02::1").value();
    told.link_address = kOurs;
    send(told.frame(kOurs, multicast_mac(told.dst)));
    EXPECT_TRUE(received().empty());
    EXPECT_EQ(ah(to("fd77::9", 2)), std::nullopt);
}

TEST_F(NeighboursTest, TimeMayBeginAtZero) {
    now = 0;
    received();
    EXPECT_EQ(ah(to("10.77.0.9")), std::nullopt);
    received();
    EXPECT_EQ(host.driver.next_deadline(), Neighbours::kRetry);
}

TEST_F(NeighboursTest, AnswersArp) {
    received();
    send(Arp{Arp::kRequest, kOurs, 0x0a4d0009, {}, 0x0a4d0001}.frame(kBroadcast));
    send(Arp{Arp::kRequest, kOurs, 0x0a4d0009, {}, 0x0a4d0002}.frame(kBroadcast));
    const auto frames = received();
    ASSERT_EQ(frames.size(), 1U);
    const auto reply = Arp::load(frames[0]);
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->operation, Arp::kReply);
    EXPECT_EQ(reply->sender_mac, mac);
    EXPECT_EQ(reply->sender, 0x0a4d0001U);
    EXPECT_EQ(reply->target_mac, kOurs);
    EXPECT_GE(frames[0].size(), packet::kMinEthernetFrameBytes);
    EXPECT_EQ(ah(to("10.77.0.9")), kOurs) << "who asks is known";
}

TEST_F(NeighboursTest, AnswersSolicitations) {
    received();
    Ndp ask;
    ask.type = Ndp::kSolicitation;
    ask.src = packet::parse_gid("fd77::9").value();
    ask.target = packet::parse_gid("fd77::1").value();
    ask.dst = solicited_node(ask.target);
    ask.link_address = kOurs;
    send(ask.frame(kOurs, multicast_mac(ask.dst)));
    const auto frames = received();
    ASSERT_EQ(frames.size(), 1U);
    const auto answer = Ndp::load(frames[0]);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->type, Ndp::kAdvertisement);
    EXPECT_TRUE(answer->solicited);
    EXPECT_EQ(answer->src, ask.target);
    EXPECT_EQ(answer->dst, ask.src);
    EXPECT_EQ(answer->target, ask.target);
    EXPECT_EQ(answer->link_address, mac);
    EXPECT_EQ(packet::EthernetHeader::load(frames[0].data()).dst, kOurs);
    EXPECT_EQ(ah(to("fd77::9", 2)), kOurs) << "who asks is known";
    ask.target = packet::parse_gid("fd77::2").value();
    ask.dst = solicited_node(ask.target);
    send(ask.frame(kOurs, multicast_mac(ask.dst)));
    EXPECT_TRUE(received().empty()) << "somebody else's address";
}

// RFC 4861 7.2.4: a host without an address yet is answered by a message to all nodes.
TEST_F(NeighboursTest, AnswersAProbeForItsAddressToAllNodes) {
    received();
    Ndp ask;
    ask.type = Ndp::kSolicitation;
    ask.target = packet::parse_gid("fd77::1").value();
    ask.dst = solicited_node(ask.target);
    send(ask.frame(kOurs, multicast_mac(ask.dst)));
    const auto frames = received();
    ASSERT_EQ(frames.size(), 1U);
    const auto answer = Ndp::load(frames[0]);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->src, ask.target);
    EXPECT_EQ(packet::to_string(answer->dst), "ff02::1");
    EXPECT_FALSE(answer->solicited);
    EXPECT_EQ(packet::EthernetHeader::load(frames[0].data()).dst,
              (packet::Mac{{0x33, 0x33, 0, 0, 0, 1}}));
}

std::vector<std::byte> ping4(const packet::Mac& dst, std::size_t payload) {
    std::vector<std::byte> frame(packet::kEthernetBytes + packet::kIpv4Bytes + 8 + payload);
    packet::EthernetHeader{dst, kOurs, packet::kEtherTypeIpv4}.store(frame.data());
    packet::Ipv4Header ip;
    ip.total_length = static_cast<std::uint16_t>(packet::kIpv4Bytes + 8 + payload);
    ip.ttl = 3;
    ip.protocol = 1;
    ip.src = 0x0a4d0009;
    ip.dst = 0x0a4d0001;
    ip.store(&frame[14]);
    ip.checksum = static_cast<std::uint16_t>(~packet::ipv4_header_sum(&frame[14]));
    ip.store(&frame[14]);
    frame[34] = std::byte{8};
    frame[38] = std::byte{0x12};
    packet::store_be16(&frame[36], static_cast<std::uint16_t>(~(0x0800 + 0x1200)));
    return frame;
}

/// Returns an echo request to fd77::1 from fd77::9.
std::vector<std::byte> ping6(const packet::Mac& dst, std::size_t payload) {
    constexpr std::size_t kMessage = packet::kEthernetBytes + packet::kIpv6Bytes;
    std::vector<std::byte> frame(kMessage + 8 + payload);
    packet::EthernetHeader{dst, kOurs, packet::kEtherTypeIpv6}.store(frame.data());
    packet::Ipv6Header ip;
    ip.payload_length = static_cast<std::uint16_t>(8 + payload);
    ip.next_header = 58;
    ip.hop_limit = 3;
    ip.src = packet::parse_gid("fd77::9").value();
    ip.dst = packet::parse_gid("fd77::1").value();
    ip.store(&frame[packet::kEthernetBytes]);
    frame[kMessage] = std::byte{128};
    frame[kMessage + 4] = std::byte{0x12};
    // Pseudo header: both addresses, length, next header.
    std::uint32_t sum = 2 * 0xfd77 + 9 + 1 + 8 + static_cast<std::uint32_t>(payload) + 58;
    sum += 0x8000 + 0x1200;
    sum = (sum & 0xffff) + (sum >> 16);
    packet::store_be16(&frame[kMessage + 2], static_cast<std::uint16_t>(~sum));
    return frame;
}

TEST_F(NeighboursTest, AnswersPingOfBothProtocolsWithoutPaddingOrData) {
    received();
    for (const std::size_t payload : {0U, 2U, 56U, 1000U}) {
        for (auto frame : {ping4(mac, payload), ping6(mac, payload)}) {
            const std::size_t bytes = frame.size();
            const bool six = frame[12] == std::byte{0x86};
            frame.resize(std::max<std::size_t>(bytes, 60));  // Ethernet's padding
            frame.back() = bytes < frame.size() ? std::byte{0xee} : frame.back();
            send(frame);
            const auto frames = received();
            ASSERT_EQ(frames.size(), 1U) << payload;
            ASSERT_GE(frames[0].size(), bytes);
            EXPECT_EQ(packet::EthernetHeader::load(frames[0].data()).dst, kOurs);
            EXPECT_EQ(packet::EthernetHeader::load(frames[0].data()).src, mac);
            if (!six) {
                EXPECT_EQ(frames[0][34], std::byte{0});
                EXPECT_EQ(packet::load_be16(&frames[0][16]), 28 + payload);
                continue;
            }
            const auto ip = packet::Ipv6Header::load(&frames[0][14]);
            EXPECT_EQ(ip.src, packet::parse_gid("fd77::1").value());
            EXPECT_EQ(ip.dst, packet::parse_gid("fd77::9").value());
            EXPECT_EQ(ip.hop_limit, 64);
            EXPECT_EQ(ip.payload_length, 8 + payload);
            EXPECT_EQ(frames[0][54], std::byte{129});
            EXPECT_EQ(frames[0][58], std::byte{0x12});
            // Only the type has changed, by one in the upper byte of a word.
            std::uint32_t sum = 0xffffU - packet::load_be16(&frame[56]) + 0x0100;
            sum = (sum & 0xffff) + (sum >> 16);
            EXPECT_EQ(packet::load_be16(&frames[0][56]), 0xffff - sum);
        }
    }
    auto broken = ping6(mac, 56);
    broken[70] = std::byte{1};
    send(broken);
    auto elsewhere = ping6(kOurs, 56);
    send(elsewhere);
    EXPECT_TRUE(received().empty()) << "wrong checksum; for another host";
}

TEST_F(NeighboursTest, TheLastByteOfAnOddMessageCounts) {
    received();
    for (auto frame : {ping4(mac, 57), ping6(mac, 57)}) {
        const std::size_t checksum = frame[12] == std::byte{0x86} ? 56 : 36;
        const std::size_t type = checksum - 2;
        const auto add = [&](std::uint32_t word) {  // adds to the data covered by the checksum
            std::uint32_t sum = 0xffffU - packet::load_be16(&frame[checksum]) + word;
            sum = (sum & 0xffff) + (sum >> 16);
            packet::store_be16(&frame[checksum], static_cast<std::uint16_t>(~sum));
        };
        frame.back() = std::byte{0x5a};
        add(0x5a00);
        send(frame);
        const auto frames = received();
        ASSERT_EQ(frames.size(), 1U);
        const auto asked = static_cast<std::uint32_t>(frame[type]) << 8;
        const auto answered = static_cast<std::uint32_t>(frames[0][type]) << 8;
        add(0xffff - asked);
        add(answered);
        EXPECT_EQ(packet::load_be16(&frames[0][checksum]), packet::load_be16(&frame[checksum]));
        EXPECT_EQ(frames[0].back(), std::byte{0x5a});
        add(0xffff - answered);
        add(asked);
        frame.back() = std::byte{0x5b};
        send(frame);
        EXPECT_TRUE(received().empty()) << "wrong checksum";
    }
}

// These frames must not reach the engine's counters.
TEST_F(NeighboursTest, WhatIsForTheHostIsTaken) {
    const auto tap = [&](std::span<const std::byte> frame) {
        return host.driver.neighbours().on_tapped_frame(frame);
    };
    EXPECT_TRUE(tap(Arp{Arp::kRequest, kOurs, 0x0a4d0009, {}, 0x0a4d0001}.frame(kBroadcast)));
    EXPECT_TRUE(tap(Arp{Arp::kRequest, kOurs, 0x0a4d0009, {}, 0x0a4d0002}.frame(kBroadcast)));
    EXPECT_TRUE(tap(ping4(mac, 8)));
    EXPECT_TRUE(tap(ping6(mac, 8)));
    EXPECT_FALSE(tap(ping4(kOurs, 8))) << "for another host";
    Ndp ask;
    ask.type = Ndp::kSolicitation;
    ask.src = packet::parse_gid("fd77::9").value();
    for (const char* target : {"fd77::1", "fd77::2"}) {
        ask.target = packet::parse_gid(target).value();
        ask.dst = solicited_node(ask.target);
        EXPECT_TRUE(tap(ask.frame(kOurs, multicast_mac(ask.dst)))) << target;
    }
    ask.type = Ndp::kAdvertisement;
    EXPECT_TRUE(tap(ask.frame(kOurs, mac)));
}

TEST_F(NeighboursTest, AnswersPing) {
    received();
    send(ping4(mac, 100));
    const auto frames = received();
    ASSERT_EQ(frames.size(), 1U);
    const auto ip = packet::Ipv4Header::load(&frames[0][14]);
    EXPECT_EQ(ip.src, 0x0a4d0001U);
    EXPECT_EQ(ip.dst, 0x0a4d0009U);
    EXPECT_EQ(packet::ipv4_header_sum(&frames[0][14]), 0xffff);
    EXPECT_EQ(frames[0][34], std::byte{0});
    EXPECT_EQ(packet::load_be16(&frames[0][36]), static_cast<std::uint16_t>(~0x1200));
    // One's complement: a carry wraps around.
    auto carry = ping4(mac, 100);
    carry[42] = std::byte{0xf0};
    packet::store_be16(&carry[36], static_cast<std::uint16_t>(~0x0a01));  // 0x800 0x1200 0xf000
    send(carry);
    const auto carried = received();
    ASSERT_EQ(carried.size(), 1U);
    EXPECT_EQ(packet::load_be16(&carried[0][36]), static_cast<std::uint16_t>(~0x0201));
    auto cut = ping4(mac, 100);
    cut.resize(100);
    send(cut);
    EXPECT_TRUE(received().empty()) << "shorter than its IP header says";
}

// Memory after the frame must not be read.
TEST_F(NeighboursTest, NoFrameIsReadBeyondItsEnd) {
    received();
    auto* const pages = static_cast<std::byte*>(::mmap(
        nullptr, 2 * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(pages, MAP_FAILED);
    ASSERT_EQ(::mprotect(pages + kPageBytes, kPageBytes, PROT_NONE), 0);
    Ndp ask;
    ask.type = Ndp::kSolicitation;
    ask.target = packet::parse_gid("fd77::1").value();
    const auto solicitation = ask.frame(kOurs, mac);
    const auto arp = Arp{Arp::kRequest, kOurs, 0x0a4d0009, {}, 0x0a4d0001}.frame(kBroadcast);
    for (const std::vector<std::byte>& whole :
         {std::vector(solicitation.begin(), solicitation.end()),
          std::vector(arp.begin(), arp.end()), ping4(mac, 4)}) {
        for (std::size_t length = packet::kEthernetBytes; length < whole.size(); ++length) {
            std::byte* const at = pages + kPageBytes - length;
            std::copy_n(whole.begin(), length, at);
            EXPECT_FALSE(host.driver.neighbours().on_tapped_frame({at, length})) << length;
        }
    }
    ::munmap(pages, 2 * kPageBytes);
    EXPECT_TRUE(received().empty());
}

/// Returns the address of one of many hosts.
packet::Gid host_number(std::size_t n) {
    packet::Gid gid = packet::parse_gid("fd77::1:0:0:0").value();
    gid.bytes[14] = static_cast<std::uint8_t>(n >> 8);
    gid.bytes[15] = static_cast<std::uint8_t>(n);
    return gid;
}

TEST_F(NeighboursTest, TableIsBounded) {
    int error = 0;
    AhAttr attr = to("fd77::9", 2);
    std::size_t hosts = 0;
    for (; hosts < 5000; ++hosts) {
        attr.dgid = host_number(hosts).bytes;
        error = errno_of([&] { ah(attr); });
        if (error != 0) {
            break;
        }
    }
    EXPECT_EQ(error, ENOBUFS);
    EXPECT_EQ(hosts, Neighbours::kMaxEntries);
    attr.dgid = host_number(0).bytes;
    EXPECT_EQ(ah(attr), std::nullopt) << "this one is in it";
    for (int second = 0; second < 5; ++second) {
        now += Neighbours::kRetry;
        received();
    }
    EXPECT_EQ(ah(to("10.77.0.9")), std::nullopt) << "what failed makes room";
}

TEST_F(NeighboursTest, OldAnswersMakeRoomAndNewOnesDoNot) {
    received();
    Ndp ask;
    ask.type = Ndp::kSolicitation;
    ask.target = packet::parse_gid("fd77::1").value();
    ask.dst = solicited_node(ask.target);
    const auto hear_of = [&](std::size_t n) {
        ask.src = host_number(n);
        host.driver.neighbours().on_tapped_frame(ask.frame(kOurs, multicast_mac(ask.dst)));
    };
    const auto resolve = [&](std::size_t n) {
        AhAttr attr = to("fd77::9", 2);
        attr.dgid = host_number(n).bytes;
        return ah(attr);
    };
    for (std::size_t n = 0; n < Neighbours::kMaxEntries; ++n) {
        hear_of(n);
    }
    EXPECT_EQ(resolve(Neighbours::kMaxEntries - 1), kOurs) << "the last one is known";
    constexpr std::size_t kOneMore = Neighbours::kMaxEntries;
    hear_of(kOneMore);
    EXPECT_EQ(errno_of([&] { resolve(kOneMore); }), ENOBUFS);
    now += Neighbours::kFresh - 1;
    received();
    EXPECT_EQ(errno_of([&] { resolve(kOneMore); }), ENOBUFS) << "all are fresh";
    ++now;
    received();
    EXPECT_EQ(resolve(kOneMore), std::nullopt) << "it is asked for";
    EXPECT_EQ(resolve(1), std::nullopt) << "the old ones have gone";
}

TEST_F(NeighboursTest, Garbage) {
    received();
    Ndp ask;
    ask.type = Ndp::kSolicitation;
    ask.src = packet::parse_gid("fd77::9").value();
    ask.target = packet::parse_gid("fd77::1").value();
    ask.dst = solicited_node(ask.target);
    const auto solicitation = ask.frame(kOurs, mac);
    const auto arp = Arp{Arp::kRequest, kOurs, 0x0a4d0009, {}, 0x0a4d0001}.frame(kBroadcast);
    const std::vector<std::vector<std::byte>> seeds{
        {solicitation.begin(), solicitation.end()}, {arp.begin(), arp.end()}, ping4(mac, 40)};
    std::mt19937 random(1);
    for (int n = 0; n < 30'000; ++n) {
        auto frame = seeds[random() % seeds.size()];
        for (unsigned flips = random() % 4; flips != 0; --flips) {
            frame[random() % frame.size()] = static_cast<std::byte>(random());
        }
        frame.resize(
            std::max<std::size_t>(14, random() % 3 == 0 ? random() % frame.size() : frame.size()));
        frame.shrink_to_fit();
        host.driver.neighbours().on_tapped_frame(frame);
        if (n % 16 == 0) {
            received();
        }
    }
}

/// A wire that resolves by IP address and always sends from one port.
class ResolvingWire final : public Wire {
  public:
    std::span<std::byte> begin_frame(std::size_t max_len) override {
        return std::span(room_).first(std::min(max_len, room_.size()));
    }
    void end_frame(std::size_t) override {}
    [[nodiscard]] int fd() const override { return -1; }
    unsigned receive(FrameSink&, unsigned) override { return 0; }
    void flush() override {}
    void advance(Nanoseconds) override {}
    [[nodiscard]] bool resolves() const override { return true; }
    [[nodiscard]] std::uint16_t fixed_source_port() const override { return DINGO_ROCE_UDP_PORT; }
    [[nodiscard]] std::string describe() const override { return "test"; }
    [[nodiscard]] WireStats stats() const override { return {}; }

  private:
    std::array<std::byte, kMaxFrame> room_{};
};

TEST(ResolvingWireTest, NobodyIsAsked) {
    ResolvingWire wire;
    Host host(wire, 0x02'44'49'00'00'0A, {"10.77.0.1/32"});
    host.poll(1);
    Client client(host);
    auto qp = client.make_qp();
    Udata none;
    QpAttr attr;
    attr.qp_state = DINGO_QPS_INIT;
    attr.port_num = 1;
    qp.qp->modify(attr, DINGO_QPM_STATE | DINGO_QPM_PORT | DINGO_QPM_PKEY_INDEX | DINGO_QPM_ACCESS,
                  none);
    attr.qp_state = DINGO_QPS_RTR;
    attr.path_mtu = 3;
    attr.dest_qp_num = 0x123456;
    attr.max_dest_rd_atomic = 1;
    attr.ah.is_global = true;
    attr.ah.sgid_index = 1;
    attr.ah.dgid = packet::parse_gid("192.0.2.7").value().bytes;
    attr.ah.traffic_class = 0x68;
    attr.ah.flow_label = 0x12345;
    attr.ah.sl = 3;
    qp.qp->modify(attr,
                  DINGO_QPM_STATE | DINGO_QPM_AV | DINGO_QPM_PATH_MTU | DINGO_QPM_DEST_QPN |
                      DINGO_QPM_RQ_PSN | DINGO_QPM_MAX_DEST_RD_ATOMIC | DINGO_QPM_MIN_RNR_TIMER,
                  none);
    const QpAttr seen = qp.qp->query();
    EXPECT_EQ(seen.qp_state, DINGO_QPS_RTR);
    EXPECT_FALSE(packet::Mac{seen.dmac}.is_multicast());
    EXPECT_EQ(seen.ah.traffic_class, 0x68);
    EXPECT_EQ(seen.ah.flow_label, 0x12345U);
    EXPECT_EQ(seen.ah.sl, 3);
    EXPECT_EQ(seen.ah.hop_limit, 64);
    Udata udata;
    host.driver.create_ah(attr.ah, udata);
    dingo_create_ah_resp resp{};
    std::memcpy(&resp, udata.out.data(), sizeof resp);
    EXPECT_EQ(resp.udp_sport, DINGO_ROCE_UDP_PORT);
    EXPECT_TRUE(std::ranges::equal(seen.dmac, resp.dmac));
}

TEST(ParsePrefix, Texts) {
    EXPECT_EQ(parse_prefix("10.77.0.1/24").length, 120U);
    EXPECT_TRUE(parse_prefix("10.77.0.1/23").holds(packet::parse_gid("10.77.1.255").value()));
    EXPECT_FALSE(parse_prefix("10.77.0.1/23").holds(packet::parse_gid("10.77.2.0").value()));
    EXPECT_EQ(parse_prefix("fd77::1").length, 128U);
    EXPECT_EQ(parse_prefix("fd77::1/128").length, 128U);
    EXPECT_EQ(parse_prefix("10.77.0.1/32").length, 128U);
    EXPECT_EQ(parse_prefix("10.77.0.1/0").length, 96U);
    EXPECT_TRUE(parse_prefix("10.77.0.1/0").holds(packet::parse_gid("192.0.2.1").value()));
    EXPECT_TRUE(parse_prefix("fd77::1/0").holds(packet::parse_gid("2001:db8::1").value()));
    EXPECT_FALSE(parse_prefix("fd77::1/0").holds(packet::parse_gid("10.77.0.1").value()));
    EXPECT_FALSE(parse_prefix("10.77.0.1/0").holds(packet::parse_gid("fd77::1").value()));
    for (const char* bad :
         {"", "::", "ff02::1/8", "10.77.0.1/-1", "fd77::1/ 8", "10.77.0.1/33", "10.77.0.1/",
          "fd77::1/129", "10.77.0.1/2x", "224.0.0.1/4", "0.0.0.0/0", "host"}) {
        EXPECT_THROW(parse_prefix(bad), std::invalid_argument) << bad;
    }
}

}  // namespace
}  // namespace dingo::uverbs::test
