// SPDX-License-Identifier: BSD-2-Clause
// Tests of one server with many clients, and of restarts.
#include "peer/listener.h"

#include <poll.h>

#include <algorithm>
#include <thread>

#include "loopback.h"
#include "scripted_stream.h"

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

/// A listener whose clients are scripted and, like those of librdmacm, have no descriptor.
class ScriptedListener : public ::testing::Test {
  protected:
    test::Script& client(int number) {
        arrivals.clients.emplace_back().address =
            "10.0." + std::to_string(number / 256) + "." + std::to_string(number % 256);
        return arrivals.clients.back();
    }
    std::string told() {
        const auto list = listener.turned_away();
        return list.empty() ? "" : list.front();
    }
    test::Arrivals arrivals;
    Listener::Impl listener{std::make_unique<test::ScriptedAcceptor>(arrivals), options("server")};
};

TEST_F(ScriptedListener, WakesByTimeAndTakesWhoIsReady) {
    pollfd ready = {listener.fd(), POLLIN, 0};
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(poll(&ready, 1, 20'000), 1);
        EXPECT_FALSE(listener.try_accept());
    }
    client(1);
    client(2).incoming = test::Raw::hello();
    const auto first = listener.accept(20s);
    EXPECT_EQ(first.peer_address(), "10.0.0.2") << "the one before it says nothing";
    EXPECT_EQ(first.peer_name(), "raw");
    arrivals.clients[0].incoming = test::Raw::hello();
    EXPECT_EQ(listener.accept(20s).peer_address(), "10.0.0.1");
    EXPECT_EQ(told(), "");
}

TEST_F(ScriptedListener, HoldsSoManyAndTakesMoreWhenSomeGo) {
    for (int i = 0; i < 300; ++i) {
        client(i);
    }
    EXPECT_FALSE(listener.try_accept());
    EXPECT_EQ(arrivals.taken, 256U);
    for (const std::size_t gone : {0, 100, 255}) {
        arrivals.clients[gone].ended = true;
    }
    EXPECT_FALSE(listener.try_accept());
    EXPECT_EQ(told().find("10.0.0.0: the other side closed"), 0U);
    EXPECT_FALSE(listener.try_accept());
    EXPECT_EQ(arrivals.taken, 259U);
    EXPECT_EQ(arrivals.clients[256].sent.size(), 0U);
}

TEST_F(ScriptedListener, HoldsFewerOfOneAddress) {
    for (int i = 0; i < 34; ++i) {
        client(5);
    }
    client(6);
    EXPECT_FALSE(listener.try_accept());
    EXPECT_EQ(arrivals.taken, 35U);
    EXPECT_EQ(listener.turned_away().size(), 2U);
    for (std::size_t i = 0; i < 35; ++i) {
        EXPECT_EQ(arrivals.clients[i].shutdowns, i == 32 || i == 33) << i;
    }
    arrivals.clients[0].ended = true;
    EXPECT_FALSE(listener.try_accept());
    client(5);
    EXPECT_FALSE(listener.try_accept());
    EXPECT_EQ(arrivals.clients[35].shutdowns, 0);
}

TEST_F(ScriptedListener, PausesWithoutDescriptorsAndSaysSoEachTimeOnce) {
    for (int times = 1; times < 3; ++times) {
        arrivals.no_descriptors = true;
        const int before = arrivals.asked;
        EXPECT_FALSE(listener.try_accept());
        EXPECT_EQ(told(), "new clients wait: no descriptors left");
        for (int i = 0; i < 3; ++i) {
            EXPECT_FALSE(listener.try_accept());
        }
        EXPECT_EQ(arrivals.asked, before + 1) << "not while it pauses";
        std::this_thread::sleep_for(150ms);
        EXPECT_FALSE(listener.try_accept());
        EXPECT_EQ(arrivals.asked, before + 2);
        EXPECT_EQ(told(), "") << "it is still the same shortage";
        arrivals.no_descriptors = false;
        client(times);
        std::this_thread::sleep_for(150ms);
        EXPECT_FALSE(listener.try_accept());
        EXPECT_EQ(arrivals.taken, static_cast<std::size_t>(times));
    }
}

}  // namespace
}  // namespace qpx
