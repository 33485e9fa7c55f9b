// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <sys/socket.h>

#include <cstring>
#include <random>

#include "base/unique_fd.h"
#include "support.h"

namespace dingo::test {
namespace {

struct UdpPair {
    explicit UdpPair(int salt, std::string_view ip = "127.0.0.1") {
        const auto [p, q] = free_ports(salt);
        port_a = p;
        port_b = q;
        a = make(fmt::format("udp:{}:{},{}:{}", ip, p, ip, q));
        b = make(fmt::format("udp:{}:{},{}:{}", ip, q, ip, p));
    }
    int port_a = 0;
    int port_b = 0;
    std::unique_ptr<Wire> a;
    std::unique_ptr<Wire> b;
};

/// A plain UDP socket, as QEMU's -netdev dgram has: no segmentation offload, one datagram a call.
UniqueFd plain_socket(int local, int peer) {
    UniqueFd fd(::socket(AF_INET, SOCK_DGRAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(local));
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    address.sin_port = htons(static_cast<std::uint16_t>(peer));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
}

TEST(Udp, EqualFramesArriveIntactAndInOrder) {
    const UdpPair wire(0);
    std::vector<Frame> frames;
    for (unsigned i = 0; i < 500; i++)
        frames.push_back(plain_frame(4158, i));
    EXPECT_EQ(pass(*wire.a, *wire.b, frames), frames);
    EXPECT_EQ(wire.a->stats().tx_frames, 500U);
    EXPECT_EQ(wire.b->stats().rx_frames, 500U);
    EXPECT_EQ(wire.b->stats().rx_bytes, 500U * 4158U);
}

TEST(Udp, RunsOfMixedSizesArriveIntactAndInOrder) {
    const UdpPair wire(1);
    std::mt19937 random(7);
    const std::size_t sizes[] = {14, 60, 62, 98, 1082, 1500, 4158, 9216, kMaxFrame};
    std::vector<Frame> frames;
    while (frames.size() < 2000) {
        const std::size_t size = sizes[random() % std::size(sizes)];
        for (unsigned n = random() % 80; n > 0; n--)
            frames.push_back(plain_frame(size, static_cast<unsigned>(frames.size())));
    }
    EXPECT_EQ(pass(*wire.a, *wire.b, frames), frames);
}

TEST(Udp, AnswersFlowTheOtherWay) {
    const UdpPair wire(2);
    const std::vector<Frame> there = {plain_frame(100, 1)};
    const std::vector<Frame> back = {plain_frame(200, 2), plain_frame(200, 3)};
    EXPECT_EQ(pass(*wire.a, *wire.b, there), there);
    EXPECT_EQ(pass(*wire.b, *wire.a, back), back);
}

TEST(Udp, Ipv6Works) {
    std::unique_ptr<UdpPair> wire;
    try {
        wire = std::make_unique<UdpPair>(3, "[::1]");
    } catch (const WireError& e) {
        GTEST_SKIP() << "no IPv6 loopback here: " << e.what();
    }
    std::vector<Frame> frames;
    for (unsigned i = 0; i < 100; i++)
        frames.push_back(plain_frame(4178, i));
    EXPECT_EQ(pass(*wire->a, *wire->b, frames), frames);
}

TEST(Udp, SmallBudgetLosesNothing) {
    const UdpPair wire(4);
    std::vector<Frame> frames;
    for (unsigned i = 0; i < 64; i++) {
        frames.push_back(plain_frame(300, i));
        ASSERT_TRUE(send(*wire.a, frames.back()));
    }
    wire.a->flush();
    pollfd p{wire.b->fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&p, 1, 5000), 1);
    KeepingSink sink;
    for (unsigned i = 0; i < 64; i++)
        ASSERT_EQ(wire.b->receive(sink, 1), 1U);
    EXPECT_EQ(wire.b->receive(sink, 1), 0U);
    EXPECT_EQ(sink.frames, frames);
}

TEST(Udp, EveryFrameIsOneDatagramForAPeerWithoutOffload) {
    const auto [p, q] = free_ports(5);
    const auto wire = make(fmt::format("udp:127.0.0.1:{},127.0.0.1:{}", p, q));
    const UniqueFd peer = plain_socket(q, p);
    const std::vector<Frame> frames = {plain_frame(98, 0), plain_frame(98, 1), plain_frame(60, 2)};
    for (const Frame& frame : frames)
        ASSERT_TRUE(send(*wire, frame));
    wire->flush();
    for (const Frame& frame : frames) {
        Frame got(2000);
        got.resize(static_cast<std::size_t>(::recv(peer.get(), got.data(), got.size(), 0)));
        EXPECT_EQ(got, frame);
    }
    ASSERT_EQ(::send(peer.get(), frames[0].data(), frames[0].size(), 0), 98);
    KeepingSink sink;
    pollfd poll_in{wire->fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&poll_in, 1, 5000), 1);
    EXPECT_EQ(wire->receive(sink, 8), 1U);
    EXPECT_EQ(sink.frames, std::vector<Frame>{frames[0]});
}

TEST(Udp, ShortAndLongDatagramsAreDroppedAndCounted) {
    const auto [p, q] = free_ports(6);
    const auto wire = make(fmt::format("udp:127.0.0.1:{},127.0.0.1:{}", p, q));
    const UniqueFd peer = plain_socket(q, p);
    const Frame bytes(60'000);
    for (const std::size_t size : {std::size_t{0}, std::size_t{13}, kMaxFrame + 1, bytes.size()})
        ASSERT_EQ(::send(peer.get(), bytes.data(), size, 0), static_cast<ssize_t>(size));
    ASSERT_EQ(::send(peer.get(), bytes.data(), 14, 0), 14);
    KeepingSink sink;
    pollfd poll_in{wire->fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&poll_in, 1, 5000), 1);
    EXPECT_EQ(wire->receive(sink, 8), 1U);
    EXPECT_EQ(wire->stats().rx_short, 2U);
    EXPECT_EQ(wire->stats().rx_long, 2U);
}

TEST(Udp, FramesToAMissingPeerAreLostAndThePeerIsFoundWhenItComes) {
    const auto [p, q] = free_ports(7);
    const auto a = make(fmt::format("udp:127.0.0.1:{},127.0.0.1:{}", p, q));
    KeepingSink sink;
    for (unsigned i = 0; i < 10; i++) {
        ASSERT_TRUE(send(*a, plain_frame(100, i)));
        a->flush();
        EXPECT_EQ(a->receive(sink, 8), 0U);
    }
    const auto b = make(fmt::format("udp:127.0.0.1:{},127.0.0.1:{}", q, p));
    const std::vector<Frame> frames = {plain_frame(100, 77)};
    EXPECT_EQ(pass(*a, *b, frames), frames);
    EXPECT_EQ(a->stats().rx_errors, 0U);
}

TEST(Udp, FramesThatTheReceiverLeavesTooLongAreLostAndCounted) {
    const UdpPair wire(11);
    const Frame frame = plain_frame(4158, 1);
    for (unsigned i = 0; i < 30'000; i++)
        ASSERT_TRUE(send(*wire.a, frame));
    wire.a->flush();
    EXPECT_GT(wire.b->stats().rx_overrun, 0U);
    KeepingSink sink;
    while (wire.b->receive(sink, 64) != 0) {
    }
    EXPECT_LT(sink.frames.size(), 30'000U);
    const std::vector<Frame> frames = {plain_frame(100, 1)};
    EXPECT_EQ(pass(*wire.a, *wire.b, frames), frames);
}

TEST(Udp, StrangersAreNotHeard) {
    const UdpPair wire(8);
    const UniqueFd stranger = plain_socket(0, wire.port_a);
    const Frame frame = plain_frame(100, 0);
    ASSERT_EQ(::send(stranger.get(), frame.data(), frame.size(), 0), 100);
    const std::vector<Frame> frames = {plain_frame(100, 1)};
    EXPECT_EQ(pass(*wire.b, *wire.a, frames), frames);
}

TEST(Udp, RoomThatIsGivenBackSendsNothing) {
    const UdpPair wire(9);
    ASSERT_FALSE(wire.a->begin_frame(100).empty());
    wire.a->end_frame(0);
    const std::vector<Frame> frames = {plain_frame(100, 1)};
    EXPECT_EQ(pass(*wire.a, *wire.b, frames), frames);
    EXPECT_TRUE(wire.a->begin_frame(kMaxFrame + 1).empty());
}

TEST(Udp, BadSpecsSayWhatToDo) {
    expect_contains(error_of([] { make("udp"); }), "udp:LOCAL_IP:PORT,PEER_IP:PORT");
    expect_contains(error_of([] { make("udp:127.0.0.1:7001"); }), "one end only");
    expect_contains(error_of([] { make("udp:127.0.0.1,127.0.0.1:2"); }), "has no port");
    expect_contains(error_of([] { make("udp:127.0.0.1:0,127.0.0.1:2"); }), "bad port");
    expect_contains(error_of([] { make("udp:127.0.0.1:70000,127.0.0.1:2"); }), "bad port");
    expect_contains(error_of([] { make("udp:somewhere:1,127.0.0.1:2"); }), "not a numeric");
    expect_contains(error_of([] { make("udp:::1:7001,::1:7002"); }), "without brackets");
    expect_contains(error_of([] { make("udp:127.0.0.1:7001,[::1]:7002"); }), "both addresses");
    const UdpPair wire(10);
    expect_contains(
        error_of([&] { make(fmt::format("udp:127.0.0.1:{},127.0.0.1:9", wire.port_a)); }),
        "Address already in use");
}

}  // namespace
}  // namespace dingo::test
