// SPDX-License-Identifier: BSD-2-Clause
//
// The wires that end in the host's network stack, inside a network namespace made for each test.
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <sched.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>

#include "base/unique_fd.h"
#include "own_network.h"
#include "support.h"

namespace dingo::test {
namespace {

class HostWire : public InOwnNetwork<::testing::Test> {
  protected:
    void SetUp() override {
        InOwnNetwork::SetUp();
        if (IsSkipped())
            return;
        if (!run("ip link set lo up"))
            GTEST_SKIP() << "no ip command here (package iproute2)";
        // The kernel says nothing on its own.
        run("sysctl -qw net.ipv6.conf.default.autoconf=0 "
            "net.ipv6.conf.default.router_solicitations=0 "
            "net.ipv6.conf.default.addr_gen_mode=1");
    }

    /// v0 and v1, joined. Skips where the kernel has no veth.
    static bool make_veth() {
        if (!run("ip link add v0 mtu 9000 type veth peer name v1 mtu 9000") ||
            !run("ip link set v0 up") || !run("ip link set v1 up"))
            return false;
        // The kernel drops what is sent before it has noticed that both ends are up.
        for (int i = 0; i < 1000; i++) {
            if (run("test $(ip -o link show | grep -c 'v[01]@.*state UP') = 2"))
                return true;
            ::usleep(20'000);
        }
        return false;
    }

    static UniqueFd udp_socket(const char* ip, int port) {
        UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0));
        sockaddr_in address = ipv4(ip, port);
        EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0)
            << std::strerror(errno);
        return fd;
    }
    static sockaddr_in ipv4(const char* ip, int port) {
        sockaddr_in out{};
        out.sin_family = AF_INET;
        out.sin_port = htons(static_cast<std::uint16_t>(port));
        EXPECT_EQ(::inet_pton(AF_INET, ip, &out.sin_addr), 1);
        return out;
    }
    static void send_to(int fd, const char* ip, int port, const std::string& text) {
        const sockaddr_in to = ipv4(ip, port);
        EXPECT_EQ(::sendto(fd, text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&to),
                           sizeof to),
                  static_cast<ssize_t>(text.size()))
            << std::strerror(errno);
    }

    static std::vector<Frame> wait_for(Wire& wire, std::size_t count) {
        return pass(wire, wire, {}, count);
    }

    /// One's complement sum over the UDP pseudo header, header and data: 0xffff when right.
    static unsigned udp_sum(const Frame& f) {
        const auto at = [&](std::size_t i) {
            return i < f.size() ? std::to_integer<unsigned>(f[i]) : 0U;
        };
        const std::size_t udp = 34;
        unsigned sum = 17 + (at(udp + 4) << 8 | at(udp + 5));
        for (std::size_t i = 26; i < f.size(); i += 2)  // from the IP addresses on
            sum += at(i) << 8 | at(i + 1);
        while (sum >> 16 != 0)
            sum = (sum & 0xffff) + (sum >> 16);
        return sum;
    }
};

using PacketWireTest = HostWire;
using TapWireTest = HostWire;

TEST_F(PacketWireTest, FramesCrossAVethIntactAndInOrder) {
    if (!make_veth())
        GTEST_SKIP() << "no veth here";
    const auto a = make("packet:v0");
    const auto b = make("packet:v1");
    std::vector<Frame> frames;
    for (unsigned i = 0; i < 300; i++)
        frames.push_back(plain_frame(i % 2 == 0 ? 60 + i : 9000, i));
    EXPECT_EQ(pass(*a, *b, frames), frames);
    EXPECT_EQ(pass(*b, *a, frames), frames);
    KeepingSink own;
    EXPECT_EQ(a->receive(own, 64), 0U) << "own frames must not come back";
}

TEST_F(PacketWireTest, VlanTagsStayInTheFrame) {
    if (!make_veth())
        GTEST_SKIP() << "no veth here";
    const auto a = make("packet:v0");
    const auto b = make("packet:v1");
    auto on = path();
    on.has_vlan = true;
    on.vlan_tci = 0x6064;
    const std::vector<Frame> frames = {
        roce_frame("RC_SEND_ONLY qpn=9 psn=7 payload=pattern:100", on), write_frame(1, 1)};
    EXPECT_EQ(pass(*a, *b, frames), frames);
}

TEST_F(PacketWireTest, ChecksumsThatTheStackPostponedAreFinished) {
    if (!make_veth() || !run("ip addr add 10.9.0.1/24 dev v1") ||
        !run("ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev v1"))
        GTEST_SKIP() << "no veth here";
    const auto wire = make("packet:v0");
    const UniqueFd socket = udp_socket("10.9.0.1", 1000);
    for (const std::size_t size : {1, 2, 99, 1000})
        send_to(socket.get(), "10.9.0.2", 2000, std::string(size, 'x'));
    const auto frames = wait_for(*wire, 4);
    ASSERT_EQ(frames.size(), 4U);
    for (const Frame& frame : frames)
        EXPECT_EQ(udp_sum(frame), 0xffffU) << frame.size();
}

TEST_F(PacketWireTest, UdpLeftForSegmentationIsCut) {
    if (!make_veth() || !run("ip addr add 10.9.0.1/24 dev v1") ||
        !run("ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev v1"))
        GTEST_SKIP() << "no veth here";
    const auto wire = make("packet:v0");
    const UniqueFd socket = udp_socket("10.9.0.1", 1000);
    const int size = 1000;
    if (::setsockopt(socket.get(), SOL_UDP, UDP_SEGMENT, &size, sizeof size) != 0)
        GTEST_SKIP() << "no UDP_SEGMENT in this kernel";
    send_to(socket.get(), "10.9.0.2", 2000, std::string(3500, 'x'));
    const auto frames = wait_for(*wire, 4);
    ASSERT_EQ(frames.size(), 4U);
    for (std::size_t i = 0; i < 4; i++) {
        EXPECT_EQ(frames[i].size(), i < 3 ? 1042U : 542U);
        EXPECT_EQ(udp_sum(frames[i]), 0xffffU);
    }
}

TEST_F(PacketWireTest, TcpWithSegmentationOffloadCrossesTwoWires) {
    // kernel v1 - v0 (wire a) - this test - (wire b) v0 - v1 kernel, each kernel end in a
    // namespace.
    for (const bool v6 : {false, true}) {
        const auto enter = [&](const char* own) {
            EXPECT_EQ(::unshare(CLONE_NEWNET), 0);
            return make_veth() && run(v6 ? fmt::format("ip addr add fd00::{}/64 nodad dev v1", own)
                                         : fmt::format("ip addr add 10.9.0.{}/24 dev v1", own));
        };
        const int family = v6 ? AF_INET6 : AF_INET;
        if (!enter("1"))
            GTEST_SKIP() << "no veth here";
        const auto a = make("packet:v0");
        const UniqueFd client(::socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0));
        ASSERT_TRUE(enter("2"));
        const auto b = make("packet:v0");
        const UniqueFd listener(::socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0));
        ASSERT_EQ(::listen(listener.get(), 1), 0);  // on any address and a free port
        sockaddr_storage address{};
        socklen_t len = sizeof address;
        ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &len), 0);
        if (v6)
            ::inet_pton(family, "fd00::2", &reinterpret_cast<sockaddr_in6&>(address).sin6_addr);
        else
            ::inet_pton(family, "10.9.0.2", &reinterpret_cast<sockaddr_in&>(address).sin_addr);
        ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), len);

        class Forwarder final : public FrameSink {
          public:
            explicit Forwarder(Wire& wire) : to(wire) {}
            void on_frame(std::span<const std::byte> frame) override {
                longest = std::max(longest, frame.size());
                send(to, Frame(frame.begin(), frame.end()));
            }
            Wire& to;
            std::size_t longest = 0;
        } to_a(*a), to_b(*b);
        std::string sent(8'000'000, 0);
        for (std::size_t i = 0; i < sent.size(); i++)
            sent[i] = static_cast<char>(i * 31 + i / 997);
        std::string got;
        std::size_t written = 0;
        UniqueFd server;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
        while (got.size() < sent.size() && std::chrono::steady_clock::now() < end) {
            a->receive(to_b, 64);
            b->receive(to_a, 64);
            a->flush();
            b->flush();
            if (!server)
                server = UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK));
            const ssize_t w =
                ::send(client.get(), sent.data() + written,
                       std::min<std::size_t>(sent.size() - written, 65'536), MSG_NOSIGNAL);
            written += w > 0 ? static_cast<std::size_t>(w) : 0;
            char chunk[65'536];
            const ssize_t r = server ? ::recv(server.get(), chunk, sizeof chunk, 0) : -1;
            if (r > 0)
                got.append(chunk, static_cast<std::size_t>(r));
        }
        EXPECT_TRUE(got == sent) << got.size() << " bytes came";
        EXPECT_EQ(a->stats().rx_long + b->stats().rx_long, 0U);
        EXPECT_GT(to_b.longest, 8'000U);
        EXPECT_LE(to_b.longest, 9'014U) << "more than the MTU";
    }
}

TEST_F(PacketWireTest, InterfaceThatGoesAwayIsSurvived) {
    if (!make_veth())
        GTEST_SKIP() << "no veth here";
    const auto wire = make("packet:v0");
    ASSERT_TRUE(run("ip link del v0"));
    for (unsigned i = 0; i < 3; i++) {
        send(*wire, plain_frame(100, i));
        wire->flush();
        KeepingSink sink;
        EXPECT_EQ(wire->receive(sink, 8), 0U);
    }
    EXPECT_EQ(wire->stats().tx_no_peer, 3U);
}

TEST_F(PacketWireTest, MissingInterfaceIsNamed) {
    expect_contains(error_of([] { make("packet:nowhere0"); }), "no interface 'nowhere0'");
    expect_contains(error_of([] { make("packet:a/b"); }), "no interface name");
    expect_contains(error_of([] { make("packet:"); }), "no interface name");
}

TEST_F(TapWireTest, HostStackIsAtTheOtherEnd) {
    if (::access("/dev/net/tun", R_OK | W_OK) != 0)
        GTEST_SKIP() << "no /dev/net/tun here";
    const auto wire = make("tap:t0");
    ASSERT_TRUE(run("ip addr add 10.9.1.1/24 dev t0"));
    ASSERT_TRUE(run("ip link set t0 address 02:00:00:00:00:01"));
    ASSERT_TRUE(run("ip neigh add 10.9.1.2 lladdr 02:00:00:00:00:02 dev t0"));
    const UniqueFd socket = udp_socket("10.9.1.1", 1000);

    send_to(socket.get(), "10.9.1.2", 2000, "question");
    std::vector<Frame> got = wait_for(*wire, 1);
    ASSERT_EQ(got.size(), 1U);
    Frame frame = got[0];
    EXPECT_EQ(udp_sum(frame), 0xffffU);
    EXPECT_EQ(std::memcmp(&frame[42], "question", 8), 0);

    // The same datagram goes back: addresses and ports change places, the sums stay right.
    std::swap_ranges(frame.begin(), frame.begin() + 6, frame.begin() + 6);
    std::swap_ranges(frame.begin() + 26, frame.begin() + 30, frame.begin() + 30);
    std::swap_ranges(frame.begin() + 34, frame.begin() + 36, frame.begin() + 36);
    ASSERT_TRUE(send(*wire, frame));
    wire->flush();
    pollfd p{socket.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&p, 1, 5000), 1);
    char text[16] = {};
    EXPECT_EQ(::recv(socket.get(), text, sizeof text, 0), 8);
    EXPECT_STREQ(text, "question");
    EXPECT_EQ(wire->stats().tx_frames, 1U);
}

TEST_F(TapWireTest, InterfaceThatIsDownIsAPulledWire) {
    if (::access("/dev/net/tun", R_OK | W_OK) != 0)
        GTEST_SKIP() << "no /dev/net/tun here";
    const auto wire = make("tap:t0");
    ASSERT_TRUE(run("ip link set t0 down"));
    send(*wire, plain_frame(100, 1));
    wire->flush();
    EXPECT_EQ(wire->stats().tx_no_peer, 1U);
    KeepingSink sink;
    EXPECT_EQ(wire->receive(sink, 8), 0U);
}

TEST_F(TapWireTest, InterfaceInUseIsRefused) {
    if (::access("/dev/net/tun", R_OK | W_OK) != 0)
        GTEST_SKIP() << "no /dev/net/tun here";
    const auto wire = make("tap:t0");
    expect_contains(error_of([] { make("tap:t0"); }), "cannot attach to 't0'");
    expect_contains(error_of([] { make("tap:a-name-far-too-long"); }), "no interface name");
}

}  // namespace
}  // namespace dingo::test
