// SPDX-License-Identifier: BSD-2-Clause
// One server, many clients, restarts.
#include <algorithm>

#include "loopback.h"

namespace qpx {
namespace {

using test::endpoint;
using test::expect_error;
using test::options;
using namespace std::chrono_literals;

TEST(Listener, ServesManyClientsAtATime) {
    Listener listener("127.0.0.1", 0, options());
    constexpr std::uint32_t clients = 24;
    std::vector<std::future<std::uint32_t>> calling;
    for (std::uint32_t i = 0; i < clients; ++i) {
        calling.push_back(std::async(std::launch::async, [&listener, i] {
            Connection c = Connection::connect("127.0.0.1", listener.port(), options());
            const std::uint32_t got = c.exchange(endpoint(i)).qpn;
            c.barrier();
            return got;
        }));
    }
    std::vector<Connection> held;
    std::vector<std::uint32_t> seen;
    for (std::uint32_t i = 0; i < clients; ++i) {
        held.push_back(listener.accept(20s));
    }
    for (Connection& c : held) {
        seen.push_back(c.exchange(endpoint(0x100 + static_cast<std::uint32_t>(seen.size()))).qpn);
        c.barrier();
    }
    std::sort(seen.begin(), seen.end());
    for (std::uint32_t i = 0; i < clients; ++i) {
        EXPECT_EQ(seen[i], i);
        EXPECT_GE(calling[i].get(), 0x100U);
    }
}

TEST(Listener, TellsWhenNobodyComes) {
    Listener listener("127.0.0.1", 0, options());
    expect_error(ErrorCode::Timeout, "no client came", [&] { listener.accept(10ms); });
}

TEST(Listener, RestartsAtOnceOnItsPort) {
    std::uint16_t port = 0;
    for (int round = 0; round < 5; ++round) {
        Listener listener("127.0.0.1", port, options());
        port = listener.port();
        auto connecting = std::async(
            std::launch::async, [&] { return Connection::connect("127.0.0.1", port, options()); });
        Connection server = listener.accept(20s);
        Connection client = connecting.get();
        // The server's side closes first and is left in TIME_WAIT.
        server.close();
        EXPECT_THROW(client.receive(), Error);
    }
}

TEST(Listener, ASecondOneIsToldThatThePortIsTaken) {
    const Listener first("127.0.0.1", 0, options());
    expect_error(ErrorCode::Refused, "another run of this one",
                 [&] { Listener("127.0.0.1", first.port(), options()); });
}

TEST(Listener, WithWrongLimitsIsNotStartedQuietly) {
    PeerOptions wrong = options();
    wrong.limits.max_frame = 100;
    expect_error(ErrorCode::Argument, "below 4096", [&] { Listener("127.0.0.1", 0, wrong); });
    wrong.limits = {};
    wrong.name = std::string(300, 'x');
    EXPECT_NO_THROW(Listener("127.0.0.1", 0, wrong));
}

}  // namespace
}  // namespace qpx
