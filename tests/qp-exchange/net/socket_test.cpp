// SPDX-License-Identifier: BSD-2-Clause
// Tests of name resolution, ports and restarts, all on loopback.
#include "net/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "bytes.h"

namespace qpx::net {
namespace {

using test::expect_error;
using namespace std::chrono_literals;

bool has_ipv6_loopback() {
    try {
        listen_tcp("::1", 0, AF_INET6);
        return true;
    } catch (const Error&) {
        return false;
    }
}

std::uint16_t port_of_fd(int fd) {
    return port_of(local_address(fd));
}

TEST(Resolve, NumericAddressesOfBothFamilies) {
    EXPECT_EQ(address_port_text(resolve("192.0.2.1", 7, 0).at(0)), "192.0.2.1:7");
    EXPECT_EQ(address_port_text(resolve("2001:db8::1", 7, 0).at(0)), "[2001:db8::1]:7");
    EXPECT_EQ(address_text(resolve("::ffff:192.0.2.1", 7, 0).at(0)), "192.0.2.1");
}

TEST(Resolve, ALinkLocalAddressKeepsItsInterface) {
    EXPECT_EQ(address_text(resolve("fe80::1%lo", 7, 0).at(0)), "fe80::1%lo");
}

TEST(NetworkOf, IsTheAddressOrItsSubnet) {
    EXPECT_EQ(network_of("192.0.2.1"), "192.0.2.1");
    EXPECT_EQ(network_of("2001:db8::1"), network_of("2001:db8::ffff:1"));
    EXPECT_NE(network_of("2001:db8::1"), network_of("2001:db8:0:1::1"));
    EXPECT_EQ(network_of("fe80::1%lo"), "fe80::");
}

TEST(Resolve, LocalhostIsKnown) {
    EXPECT_FALSE(resolve("localhost", 7, 0).empty());
}

TEST(Resolve, ErrorsSayWhatIsWrong) {
    expect_error(ErrorCode::Resolve, "no host is given", [] { resolve("", 7, 0); });
    expect_error(ErrorCode::Resolve, "host \"192.0.2.1\"",
                 [] { resolve("192.0.2.1", 7, AF_INET6); });
    // The reserved name (RFC 6761) never resolves; without a name server the error text differs.
    expect_error(ErrorCode::Resolve, "host \"qpx.invalid\"", [] { resolve("qpx.invalid", 7, 0); });
}

TEST(Connect, AClosedPortIsRefusedWithAllAddressesTried) {
    const Fd listener = listen_tcp("127.0.0.1", 0, 0);
    const std::uint16_t port = port_of_fd(listener.get());
    // Bound but not listening, so that no other program can take the port.
    const Fd bound(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(bind(bound.get(), reinterpret_cast<sockaddr*>(&any), sizeof(any)), 0);
    const auto closed = resolve("127.0.0.1", port_of_fd(bound.get()), 0).at(0);
    expect_error(ErrorCode::Refused, "nobody listens on this port",
                 [&] { connect_tcp({closed}, Deadline::in(5s)); });
    const auto open = resolve("127.0.0.1", port, 0).at(0);
    EXPECT_GE(connect_tcp({closed, open}, Deadline::in(5s)).get(), 0);
}

TEST(Connect, APortThatDropsIsATimeout) {
    // A full backlog drops further connections silently.
    const Fd listener = listen_tcp("127.0.0.1", 0, 0, 0);
    const auto address = resolve("127.0.0.1", port_of_fd(listener.get()), 0);
    std::vector<Fd> held;
    try {
        for (int i = 0; i < 8; ++i) {
            held.push_back(connect_tcp(address, Deadline::in(200ms)));
        }
        ADD_FAILURE() << "the backlog never filled";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::Timeout) << error.what();
        EXPECT_NE(std::string(error.what()).find("no answer in time"), std::string::npos)
            << error.what();
    }
}

TEST(Connect, ToItselfIsNobody) {
    // A bound socket that connects to its own address is connected to itself (RFC 9293,
    // simultaneous open).
    const Fd bound(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(bind(bound.get(), reinterpret_cast<sockaddr*>(&any), sizeof(any)), 0);
    const auto own = local_address(bound.get());
    EXPECT_EQ(try_connect(bound.get(), own, Deadline::in(5s)), ECONNREFUSED);
}

TEST(Listen, ATakenPortIsNamed) {
    const Fd first = listen_tcp("127.0.0.1", 0, 0);
    const std::uint16_t port = port_of_fd(first.get());
    expect_error(ErrorCode::Refused, "is taken: another program",
                 [&] { listen_tcp("127.0.0.1", port, 0); });
    expect_error(ErrorCode::Refused, "is taken", [&] { listen_tcp("", port, AF_INET); });
}

TEST(Listen, AnAddressOfAnotherHostIsNamed) {
    expect_error(ErrorCode::Refused, "does not have that address",
                 [] { listen_tcp("192.0.2.1", 0, 0); });
}

TEST(Listen, ARestartNeverMeetsTimeWait) {
    std::uint16_t port = 0;
    for (int round = 0; round < 5; ++round) {
        const Fd listener = listen_tcp("127.0.0.1", port, 0);
        port = port_of_fd(listener.get());
        const Fd client = connect_tcp(resolve("127.0.0.1", port, 0), Deadline::in(5s));
        pollfd ready = {listener.get(), POLLIN, 0};
        ASSERT_EQ(poll(&ready, 1, 5000), 1);
        Address peer;
        // The server closes first: its side of the connection stays in TIME_WAIT.
        const Fd accepted = accept_tcp(listener.get(), peer);
        ASSERT_GE(accepted.get(), 0);
        ASSERT_EQ(::shutdown(accepted.get(), SHUT_RDWR), 0);
    }
}

TEST(Listen, WithoutAnAddressTakesBothFamilies) {
    const Fd listener = listen_tcp("", 0, 0);
    const std::uint16_t port = port_of_fd(listener.get());
    EXPECT_GE(connect_tcp(resolve("127.0.0.1", port, 0), Deadline::in(5s)).get(), 0);
    if (!has_ipv6_loopback()) {
        GTEST_SKIP() << "this host has no IPv6 loopback";
    }
    EXPECT_GE(connect_tcp(resolve("::1", port, 0), Deadline::in(5s)).get(), 0);
}

TEST(Deadline, NegativeIsNever) {
    EXPECT_EQ(Deadline::in(-1ms).poll_ms(), -1);
    EXPECT_FALSE(Deadline::in(-1ms).passed());
    EXPECT_EQ(Deadline::in(0ms).poll_ms(), 0);
    EXPECT_TRUE(Deadline::in(0ms).passed());
}

}  // namespace
}  // namespace qpx::net
