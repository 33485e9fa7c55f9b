// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "base/unique_fd.h"
#include "dingo/packet/icrc.h"
#include "own_network.h"
#include "support.h"
#include "wire/icrc_id.h"

namespace dingo::test {
namespace {

/// Port 4791 of loopback addresses that are used only here.
std::string loopback(unsigned n) {
    return fmt::format("127.{}.{}.{}", 64 + ::getpid() % 100, ::getpid() / 100 % 250, n);
}

packet::NetworkPath path_between(const std::string& src, const std::string& dst) {
    packet::NetworkPath out = path(src, dst);
    out.udp_sport = 4791;
    out.hop_limit = 64;
    return out;
}

bool icrc_fits(const Frame& frame) {
    packet::Packet p;
    return packet::parse(frame, p) == packet::ParseResult::kRoce && packet::icrc_check(frame, p);
}

TEST(IcrcShift, ChangeOfTheIdentificationMovesTheIcrc) {
    std::mt19937 random(1);
    for (unsigned bytes : {0U, 4U, 64U, 255U, 1024U, 4096U}) {
        Frame frame = write_frame(1, 2, bytes);
        const std::size_t covered = frame.size() - 14 - 4;
        const IcrcShift shift(covered - 6);
        for (int i = 0; i < 50; i++) {
            const auto id = static_cast<std::uint16_t>(random());
            const std::span<std::byte> ip = std::span(frame).subspan(14, covered);
            packet::store_be16(&ip[4], 0);
            const std::uint32_t zero = packet::icrc(ip, packet::L3Kind::kIpv4);
            packet::store_be16(&ip[4], id);
            const std::uint32_t other = packet::icrc(ip, packet::L3Kind::kIpv4);
            EXPECT_EQ(zero ^ shift.change(id), other);
            EXPECT_EQ(shift.solve(zero ^ other), id);
        }
        unsigned solved = 0;
        for (int i = 0; i < 20'000; i++)
            solved += shift.solve(static_cast<std::uint32_t>(random())).has_value() ? 1 : 0;
        EXPECT_LE(solved, 5U) << "one in 65,536 is consistent by chance";
    }
}

class Roce : public ::testing::TestWithParam<const char*> {};

TEST_P(Roce, FramesArriveWithTheirIcrcAndAddresses) {
    const std::string gso = GetParam();
    const auto a = make("roce:" + loopback(1) + ",gso=" + gso);
    const auto b = make("roce:" + loopback(2) + ",gso=" + gso);
    std::vector<Frame> frames;
    packet::NetworkPath on = path_between(loopback(1), loopback(2));
    on.dscp = 12;
    for (unsigned i = 0; i < 1000; i++)
        frames.push_back(roce_frame(fmt::format("RC_RDMA_WRITE_MIDDLE qpn=5 psn={} "
                                                "payload=pattern:{}",
                                                i, i % 7 == 0 ? i : 1024),
                                    on));
    const auto got = pass(*a, *b, frames);
    ASSERT_EQ(got.size(), frames.size());
    std::vector<unsigned> expected;
    for (std::size_t i = 0; i < got.size(); i++) {
        expected.push_back(static_cast<unsigned>(i));
        EXPECT_TRUE(icrc_fits(got[i])) << i;
        ASSERT_EQ(got[i].size(), frames[i].size());
        EXPECT_EQ(std::memcmp(&got[i][26], &frames[i][26], 8), 0) << "IP addresses";
        EXPECT_EQ(got[i][15], frames[i][15]) << "TOS";
        EXPECT_EQ(std::memcmp(&got[i][42], &frames[i][42], frames[i].size() - 46), 0);
    }
    EXPECT_EQ(psns(got), expected);
    EXPECT_EQ(a->stats().tx_frames, frames.size());
    EXPECT_EQ(b->stats().rx_id_solved, 0U) << "own cards' identifications are known";
    EXPECT_TRUE(a->resolves());
    EXPECT_EQ(a->fixed_source_port(), 4791);
}

INSTANTIATE_TEST_SUITE_P(Gso, Roce, ::testing::Values("auto", "on", "off"));

TEST(RoceV6, FramesArriveWithTheirIcrc) {
    std::unique_ptr<Wire> a;
    try {
        a = make("roce:[::1]");
    } catch (const WireError& e) {
        GTEST_SKIP() << e.what();
    }
    std::vector<Frame> frames;
    for (unsigned i = 0; i < 100; i++)
        frames.push_back(roce_frame(fmt::format("RC_SEND_ONLY qpn=5 psn={} payload=pattern:100", i),
                                    path_between("::1", "::1")));
    const auto got = pass(*a, *a, frames);
    ASSERT_EQ(got.size(), frames.size());
    for (const Frame& frame : got)
        EXPECT_TRUE(icrc_fits(frame));
}

TEST(RoceForeign, IdentificationThatNobodyTellsIsFoundFromTheIcrc) {
    const auto card = make("roce:" + loopback(1));
    const UniqueFd peer(::socket(AF_INET, SOCK_DGRAM, 0));
    sockaddr_in from{};
    from.sin_family = AF_INET;
    from.sin_port = htons(50'000);
    ASSERT_EQ(::inet_pton(AF_INET, loopback(9).c_str(), &from.sin_addr), 1);
    ASSERT_EQ(::bind(peer.get(), reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
    sockaddr_in to = from;
    to.sin_port = htons(4791);
    ASSERT_EQ(::inet_pton(AF_INET, loopback(1).c_str(), &to.sin_addr), 1);
    packet::NetworkPath on = path_between(loopback(9), loopback(1));
    on.udp_sport = 50'000;
    const auto send_with_id = [&](std::uint16_t id, bool spoil) {
        Frame frame = roce_frame("RC_SEND_ONLY qpn=5 psn=1 payload=pattern:64", on);
        packet::store_be16(&frame[18], id);
        packet::icrc_append(frame, 14, packet::L3Kind::kIpv4);
        if (spoil)
            frame[60] ^= std::byte{1};
        ASSERT_GT(::sendto(peer.get(), &frame[42], frame.size() - 42, 0,
                           reinterpret_cast<sockaddr*>(&to), sizeof to),
                  0);
    };
    for (const unsigned id : {1U, 0x1234U, 0xffffU, 0x8000U})
        send_with_id(static_cast<std::uint16_t>(id), false);
    send_with_id(7, true);
    const auto got = pass(*card, *card, {}, 5);
    ASSERT_EQ(got.size(), 5U);
    for (std::size_t i = 0; i < 4; i++)
        EXPECT_TRUE(icrc_fits(got[i])) << i;
    EXPECT_FALSE(icrc_fits(got[4])) << "what is spoilt stays so";
    EXPECT_EQ(card->stats().rx_id_solved, 4U);
}

/// The errno of a program of another user that wants the port at another address, where it could
/// send in the name of every address of this host; 0: it has the port.
int bind_as_another_user(const std::string& address, int family, int share) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::setuid(65'534) != 0)
            ::_exit(255);
        const int fd = ::socket(family, SOCK_DGRAM, 0);
        const int on = 1;
        if (share != 0)
            ::setsockopt(fd, SOL_SOCKET, share, &on, sizeof on);
        sockaddr_storage at{};
        socklen_t length = 0;
        if (family == AF_INET) {
            auto* const v4 = reinterpret_cast<sockaddr_in*>(&at);
            v4->sin_family = AF_INET;
            v4->sin_port = htons(4791);
            ::inet_pton(AF_INET, address.c_str(), &v4->sin_addr);
            length = sizeof *v4;
        } else {
            auto* const v6 = reinterpret_cast<sockaddr_in6*>(&at);
            v6->sin6_family = AF_INET6;
            v6->sin6_port = htons(4791);
            ::inet_pton(AF_INET6, ("::ffff:" + address).c_str(), &v6->sin6_addr);
            length = sizeof *v6;
        }
        ::_exit(::bind(fd, reinterpret_cast<const sockaddr*>(&at), length) == 0 ? 0 : errno);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

// Cards of other tests guard the port as well.
class RoceGuardAlone : public InOwnNetwork<::testing::Test> {};

TEST_F(RoceGuardAlone, OtherUsersHaveThePortOfNoAddress) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can be another user";
    if (!run("ip link set lo up"))
        GTEST_SKIP() << "no ip command here (package iproute2)";
    for (const int family : {AF_INET, AF_INET6}) {
        for (const int share : {0, SO_REUSEADDR, SO_REUSEPORT}) {
            const auto card = make("roce:" + loopback(1));
            EXPECT_EQ(bind_as_another_user(loopback(9), family, share), EADDRINUSE)
                << family << " " << share;
        }
        const auto card = make("roce:" + loopback(1) + ",guard=off");
        EXPECT_EQ(bind_as_another_user(loopback(9), family, 0), 0) << family;
    }
}

TEST(RoceGuard, CardsOfOneUserLiveTogether) {
    const auto a = make("roce:" + loopback(1));
    const auto b = make("roce:" + loopback(2) + ",guard=off");
    const auto c = make("roce:" + loopback(3));
    const auto got = pass(
        *a, *b, {roce_frame("RC_SEND_ONLY qpn=5 psn=1", path_between(loopback(1), loopback(2)))});
    EXPECT_EQ(got.size(), 1U);
    expect_contains(error_of([] { make("roce:" + loopback(2)); }), "in use by process");
    expect_contains(error_of([] { make("roce:" + loopback(3)); }), "in use by process");
}

TEST(RoceErrors, WhatIsNoRoceIsCountedAndDropped) {
    const auto a = make("roce:" + loopback(1));
    EXPECT_TRUE(send(*a, plain_frame(100, 1)));
    a->flush();
    EXPECT_EQ(a->stats().tx_not_roce, 1U);
    EXPECT_EQ(a->stats().tx_frames, 0U);
}

TEST(RoceErrors, SourceAddressThatIsNotOursIsExplained) {
    const auto a = make("roce:" + loopback(1));
    ::testing::internal::CaptureStderr();
    send(*a, roce_frame("RC_SEND_ONLY qpn=5 psn=1", path_between("192.0.2.1", loopback(1))));
    a->flush();
    expect_contains(::testing::internal::GetCapturedStderr(), "--ip");
    EXPECT_EQ(a->stats().tx_errors + a->stats().tx_no_peer, 1U);
}

TEST(RoceErrors, BadSpecsSayWhatToDo) {
    const auto a = make("roce:" + loopback(1));
    const std::string used = error_of([] { make("roce:" + loopback(1)); });
    expect_contains(used, "in use by process");
    expect_contains(error_of([] { make("roce:192.0.2.1"); }), "127.0.0.1 (lo)");
    expect_contains(error_of([] { make("roce:localhost"); }), "numeric IP");
    expect_contains(error_of([] { make("roce:,gso=maybe"); }), "auto, on or off");
    expect_contains(error_of([] { make("roce:,guard=maybe"); }), "on or off");
    expect_contains(error_of([] { make("roce:127.0.0.1,fast"); }), "no option");
    expect_contains(error_of([] { make("roce:127.0.0.1%nowhere0"); }), "nowhere0");
}

}  // namespace
}  // namespace dingo::test
