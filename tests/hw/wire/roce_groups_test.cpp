// SPDX-License-Identifier: BSD-2-Clause
//
// Multicast groups on the wire `roce`: its sockets get what the card has joined, and nothing else.
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>

#include "base/unique_fd.h"
#include "dingo/packet/icrc.h"
#include "own_network.h"
#include "support.h"

namespace dingo::test {
namespace {

/// Port 4791 of loopback addresses that are used only here.
std::string loopback(unsigned n) {
    return fmt::format("127.{}.{}.{}", 64 + ::getpid() % 100, ::getpid() / 100 % 250, 100 + n);
}

/// A group that no other test of this host uses now.
std::string group4(unsigned n = 1) {
    return fmt::format("239.{}.{}.{}", 64 + ::getpid() % 100, ::getpid() / 100 % 250, n);
}
packet::Gid gid(const std::string& address) {
    return packet::parse_gid(address).value();
}
void join(Wire& wire, const std::string& group) {
    wire.join_group(gid(group).bytes);
}
void leave(Wire& wire, const std::string& group) {
    wire.leave_group(gid(group).bytes);
}

packet::Mac group_mac(const std::string& group) {
    const auto low = gid(group).ipv4();
    return packet::Mac::from_u64(gid(group).is_ipv4_mapped() ? 0x01005e000000 | (low & 0x7fffff)
                                                             : 0x333300000000 | low);
}

std::vector<Frame> datagrams(const std::string& src, const std::string& group, unsigned count) {
    packet::NetworkPath on = path(src, group);
    on.dmac = group_mac(group);
    on.udp_sport = 4791;
    on.hop_limit = 3;
    std::vector<Frame> out;
    for (unsigned i = 0; i < count; i++)
        out.push_back(roce_frame(
            fmt::format("UD_SEND_ONLY qpn=0xffffff psn={} qkey=1 srcqp=7 payload=pattern:100", i),
            on));
    return out;
}

void expect_whole(const std::vector<Frame>& got, const std::vector<Frame>& sent) {
    ASSERT_EQ(got.size(), sent.size());
    for (std::size_t i = 0; i < got.size(); i++) {
        packet::Packet p;
        ASSERT_EQ(packet::parse(got[i], p), packet::ParseResult::kRoce);
        EXPECT_TRUE(packet::icrc_check(got[i], p)) << i;
        EXPECT_EQ(std::memcmp(got[i].data(), sent[i].data(), 6), 0) << "the group's MAC address";
        EXPECT_EQ(got[i].size(), sent[i].size());
        EXPECT_TRUE(p.dgid.is_multicast());
    }
    EXPECT_EQ(psns(got), psns(sent));
}

/// A frame to the wire's own address behind what came before: nothing else was on its way.
void expect_nothing(Wire& from, Wire& to, const std::string& src, const std::string& dst) {
    packet::NetworkPath on = path(src, dst);
    on.udp_sport = 4791;
    const auto got = pass(from, to, {roce_frame("RC_SEND_ONLY qpn=5 psn=77", on)}, 1);
    EXPECT_EQ(psns(got), std::vector<unsigned>{77});
}

/// A card at all addresses keeps the port of those of other tests.
class RoceGroups : public InOwnNetwork<::testing::Test> {
  protected:
    void SetUp() override {
        InOwnNetwork::SetUp();
        if (!IsSkipped()) {
            ASSERT_TRUE(OwnNetwork::run("ip link set lo up"));
        }
    }
};

TEST_F(RoceGroups, TwoCardsOfAHostMeetInAGroup) {
    const auto a = make("roce:" + loopback(1));
    const auto b = make("roce:" + loopback(2));
    join(*a, group4());
    join(*b, group4());
    const auto sent = datagrams(loopback(1), group4(), 100);
    expect_whole(pass(*a, *b, sent), sent);
    const auto back = datagrams(loopback(2), group4(), 100);
    expect_whole(pass(*b, *a, back), back);
}

TEST_F(RoceGroups, SenderGetsNoneOfItsOwn) {
    const auto a = make("roce:" + loopback(1));
    const auto b = make("roce:" + loopback(2));
    join(*a, group4());
    join(*b, group4());
    pass(*a, *b, datagrams(loopback(1), group4(), 10));
    expect_nothing(*b, *a, loopback(2), loopback(1));
}

TEST_F(RoceGroups, OnlyJoinedGroupsCome) {
    const auto a = make("roce:" + loopback(1));
    const auto b = make("roce:" + loopback(2));
    join(*b, group4(2));
    for (const Frame& frame : datagrams(loopback(1), group4(1), 5))
        send(*a, frame);
    a->flush();
    expect_nothing(*a, *b, loopback(1), loopback(2));
    leave(*b, group4(2));
    for (const Frame& frame : datagrams(loopback(1), group4(2), 5))
        send(*a, frame);
    a->flush();
    expect_nothing(*a, *b, loopback(1), loopback(2));
    join(*b, group4(2));
    const auto sent = datagrams(loopback(1), group4(2), 5);
    expect_whole(pass(*a, *b, sent), sent);
}

TEST_F(RoceGroups, MoreGroupsThanASocketMayHave) {
    const auto a = make("roce:" + loopback(1));
    const auto b = make("roce:" + loopback(2));
    std::vector<Frame> sent;
    for (unsigned n = 1; n <= 30; n++) {  // net.ipv4.igmp_max_memberships is 20
        join(*b, group4(n));
        sent.push_back(datagrams(loopback(1), group4(n), 1)[0]);
    }
    EXPECT_EQ(pass(*a, *b, sent).size(), sent.size());
}

TEST_F(RoceGroups, SmallBudgetLosesNothing) {
    const auto a = make("roce:" + loopback(1));
    const auto b = make("roce:" + loopback(2));
    join(*b, group4());
    for (const Frame& frame : datagrams(loopback(1), group4(), 20))
        ASSERT_TRUE(send(*a, frame));
    a->flush();
    KeepingSink sink;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (sink.frames.size() < 20 && std::chrono::steady_clock::now() < end)
        EXPECT_LE(b->receive(sink, 3), 3U);
    EXPECT_EQ(sink.frames.size(), 20U);
}

TEST_F(RoceGroups, LayersOfTheWirePassThemOn) {
    WireOptions options;
    options.wire = "roce:" + loopback(2);
    options.faults = "drop:psn=0";
    const auto a = make("roce:" + loopback(1));
    const auto b = make_wire(options);
    join(*b, group4());
    const auto sent = datagrams(loopback(1), group4(), 3);
    expect_whole(pass(*a, *b, sent), sent);
}

TEST_F(RoceGroups, AllAddressesJoinAtAllInterfaces) {
    std::unique_ptr<Wire> all;
    try {
        all = make("roce");
    } catch (const WireError& e) {
        GTEST_SKIP() << e.what();
    }
    join(*all, group4());
    const auto sent = datagrams("127.0.0.1", group4(), 3);
    // Alone on the host, the card gets only its own datagrams, and these must not be delivered.
    for (const Frame& frame : sent)
        send(*all, frame);
    all->flush();
    EXPECT_EQ(all->stats().tx_frames, 3U);
    expect_nothing(*all, *all, "127.0.0.1", "127.0.0.1");
    expect_contains(error_of([] { make("roce"); }), "in use");
    leave(*all, group4());
}

/// A network namespace with two interfaces, each with two addresses of either version.
class RoceGroupsAt : public InOwnNetwork<::testing::TestWithParam<bool>> {
  protected:
    void SetUp() override {
        InOwnNetwork::SetUp();
        if (IsSkipped())
            return;
        for (const std::string n : {"0", "1"}) {
            if (!run("ip link add v" + n + " type veth peer name p" + n))
                GTEST_SKIP() << "no ip command (package iproute2), or no veth in this kernel";
            for (const std::string host : {"1", "2"})
                ASSERT_TRUE(run("ip addr add 10.78." + n + "." + host + "/24 dev v" + n) &&
                            run("ip addr add fd78:" + n + "::" + host + "/64 nodad dev v" + n));
            ASSERT_TRUE(run("ip link set v" + n + " up") && run("ip link set p" + n + " up"));
            // A route to groups appears with the carrier, a moment after the interface is up.
            const std::string ready = "ip -o link show v" + n +
                                      " | grep -q 'state UP' && ip -6 route show table local | "
                                      "grep -q 'ff00.*v" +
                                      n + "'";
            for (int i = 0; i < 1000 && !run(ready); i++)
                ::usleep(20'000);
        }
    }
    static std::string address(unsigned interface, unsigned host) {
        return GetParam() ? fmt::format("fd78:{}::{}", interface, host)
                          : fmt::format("10.78.{}.{}", interface, host);
    }
    static std::string group(unsigned n = 1) {
        return GetParam() ? fmt::format("ff0e::1:{:x}", n) : fmt::format("239.1.2.{}", n);
    }
    static std::unique_ptr<Wire> card(unsigned interface, unsigned host) {
        return make(fmt::format("roce:{}", address(interface, host)));
    }
};

TEST_P(RoceGroupsAt, TwoCardsOfAnInterfaceMeet) {
    const auto a = card(0, 1);
    const auto b = card(0, 2);
    join(*a, group());
    join(*b, group());
    const auto sent = datagrams(address(0, 1), group(), 50);
    expect_whole(pass(*a, *b, sent), sent);
    const auto back = datagrams(address(0, 2), group(), 50);
    expect_whole(pass(*b, *a, back), back);
}

TEST_P(RoceGroupsAt, DatagramsLeaveByTheInterfaceOfTheirSource) {
    for (const unsigned interface : {0U, 1U}) {
        const auto a = card(interface, 1);
        const auto same = card(interface, 2);
        const auto other = card(1 - interface, 2);
        join(*same, group());
        join(*other, group(2));
        const auto sent = datagrams(address(interface, 1), group(), 3);
        expect_whole(pass(*a, *same, sent), sent);
    }
}

TEST_P(RoceGroupsAt, AllAddressesMeetOneOfEachInterface) {
    const auto all = make("roce");
    join(*all, group());
    const UniqueFd peer(::socket(GetParam() ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    for (const unsigned interface : {0U, 1U}) {
        const std::string name = fmt::format("v{}", interface);
        const ip_mreqn by{{}, {}, static_cast<int>(::if_nametoindex(name.c_str()))};
        if (GetParam())
            ASSERT_EQ(::setsockopt(peer.get(), IPPROTO_IPV6, IPV6_MULTICAST_IF, &by.imr_ifindex,
                                   sizeof by.imr_ifindex),
                      0);
        else
            ASSERT_EQ(::setsockopt(peer.get(), IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by), 0);
        sockaddr_storage to{};
        if (GetParam()) {
            auto& six = reinterpret_cast<sockaddr_in6&>(to);
            six.sin6_family = AF_INET6;
            six.sin6_port = htons(4791);
            ASSERT_EQ(::inet_pton(AF_INET6, group().c_str(), &six.sin6_addr), 1);
        } else {
            auto& four = reinterpret_cast<sockaddr_in&>(to);
            four.sin_family = AF_INET;
            four.sin_port = htons(4791);
            ASSERT_EQ(::inet_pton(AF_INET, group().c_str(), &four.sin_addr), 1);
        }
        const Frame frame = datagrams(address(interface, 1), group(), 1)[0];
        const std::size_t headers = GetParam() ? 62 : 42;
        ASSERT_GT(::sendto(peer.get(), &frame[headers], frame.size() - headers, 0,
                           reinterpret_cast<sockaddr*>(&to), sizeof to),
                  0)
            << std::strerror(errno);
        const auto got = pass(*all, *all, {}, 1);
        ASSERT_EQ(got.size(), 1U) << name;
        EXPECT_EQ(std::memcmp(got[0].data(), frame.data(), 6), 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Ip, RoceGroupsAt, ::testing::Bool(),
                         [](const auto& version) { return version.param ? "v6" : "v4"; });

}  // namespace
}  // namespace dingo::test
