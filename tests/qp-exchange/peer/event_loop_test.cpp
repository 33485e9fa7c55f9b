// SPDX-License-Identifier: BSD-2-Clause
// Tests of Listener and Connection in an event loop, of cancelled calls, and of a process without
// free descriptors.
#include <dirent.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <thread>

#include "loopback.h"
#include "peer/impl.h"

namespace qpx {
namespace {

using test::endpoint;
using test::expect_error;
using test::options;
using test::Peers;
using test::Raw;
using namespace std::chrono_literals;

bool readable(int fd, std::chrono::milliseconds time = 0ms) {
    pollfd ready = {fd, POLLIN, 0};
    return poll(&ready, 1, static_cast<int>(time.count())) == 1;
}

std::vector<std::byte> bytes(std::string_view text) {
    const auto* at = reinterpret_cast<const std::byte*>(text.data());
    return {at, at + text.size()};
}

PeerOptions with_key(PeerOptions options) {
    options.security.mode = Security::Mode::Psk;
    options.security.psk = {{"loop", std::vector<std::byte>(32, std::byte{7})}};
    return options;
}

/// Acts as an event loop, which calls try_accept() only when fd() is readable.
std::optional<Connection> loop_until_accepted(Listener& listener, int rounds = 200) {
    for (int i = 0; i < rounds; ++i) {
        if (!readable(listener.fd(), 20s)) {
            return std::nullopt;
        }
        if (auto connection = listener.try_accept()) {
            return connection;
        }
    }
    return std::nullopt;
}

class EventLoop : public ::testing::TestWithParam<bool> {
  protected:
    PeerOptions peer() const { return GetParam() ? with_key(options()) : options(); }
};

TEST_P(EventLoop, AListenersDescriptorWakesForEveryStepOfAHandshake) {
    Listener listener("127.0.0.1", 0, peer());
    for (int i = 0; i < 2; ++i) {
        auto connecting = std::async(std::launch::async, [&] {
            return Connection::connect("127.0.0.1", listener.port(), peer());
        });
        auto server = loop_until_accepted(listener);
        ASSERT_TRUE(server.has_value());
        Connection client = connecting.get();
        client.send(bytes("hello"));
        EXPECT_EQ(server->receive(), bytes("hello"));
        EXPECT_FALSE(readable(listener.fd()));
    }
}

TEST_P(EventLoop, AConnectionsDescriptorTellsOfMessagesThatWereReadAlready) {
    Peers peers(peer(), peer());
    const int fd = peers.server->fd();
    EXPECT_FALSE(readable(fd));
    EXPECT_EQ(peers.server->try_receive(), std::nullopt);
    for (const char* text : {"one", "two", "three"}) {
        peers.client->send(bytes(text));
    }
    // All three follow the first in this side's buffer.
    peers.client->set_timeout(20s);
    for (const char* text : {"one", "two", "three"}) {
        std::optional<std::vector<std::byte>> got;
        for (int i = 0; i < 100 && !got; ++i) {
            ASSERT_TRUE(readable(fd, 20s)) << text;
            got = peers.server->try_receive();
        }
        EXPECT_EQ(got, bytes(text));
    }
    EXPECT_FALSE(readable(fd));
    EXPECT_FALSE(peers.server->peer_gone());
    peers.client->close();
    ASSERT_TRUE(readable(fd, 20s));
    for (int i = 0; i < 1000 && !peers.server->peer_gone(); ++i) {
        std::this_thread::sleep_for(10ms);
    }
    EXPECT_TRUE(peers.server->peer_gone());
    expect_error(ErrorCode::PeerGone, "", [&] {
        for (int i = 0; i < 100; ++i) {
            peers.server->try_receive();
            readable(fd, 100ms);
        }
    });
    EXPECT_TRUE(readable(fd)) << "an ended connection stays readable";
}

TEST_P(EventLoop, WhatAnotherCallLeftIsTold) {
    Peers peers(peer(), peer());
    const int fd = peers.server->fd();
    peers.both([](Connection& c) { c.barrier(); },
               [](Connection& c) {
                   c.barrier();
                   c.send(bytes("behind the barrier"));
               });
    ASSERT_TRUE(readable(fd, 20s));
    EXPECT_EQ(peers.server->receive(), bytes("behind the barrier"));
    EXPECT_FALSE(readable(fd));
}

INSTANTIATE_TEST_SUITE_P(Plain, EventLoop, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Tls, EventLoop, ::testing::Values(true));

TEST(EventLoops, TheEndOfASilentClientsTimeWakes) {
    PeerOptions impatient = options();
    impatient.timeout = 100ms;
    Listener listener("127.0.0.1", 0, impatient);
    Raw silent(listener.port());
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(readable(listener.fd(), 20s));
        EXPECT_FALSE(listener.try_accept().has_value());
        if (const auto told = listener.turned_away(); !told.empty()) {
            EXPECT_NE(told[0].find("0 bytes"), std::string::npos);
            return;
        }
    }
    ADD_FAILURE() << "it wakes, and the client stays";
}

/// A stream without a descriptor to wait on, such as that of librdmacm.
class Unpollable final : public net::Stream {
  public:
    explicit Unpollable(std::unique_ptr<net::Stream> inner) : inner_(std::move(inner)) {}
    net::Want handshake() override { return inner_->handshake(); }
    net::Io read(std::span<std::byte> into) override { return inner_->read(into); }
    net::Io write(std::span<const std::byte> from) override { return inner_->write(from); }
    bool wait(bool readable, bool writable, net::Deadline deadline) override {
        return inner_->wait(readable, writable, deadline);
    }
    void shutdown() noexcept override { inner_->shutdown(); }
    int fd() const override { return -1; }
    bool pollable() const override { return false; }
    std::string peer_address() const override { return inner_->peer_address(); }
    std::uint16_t peer_port() const override { return inner_->peer_port(); }
    std::string local_address() const override { return inner_->local_address(); }

  private:
    std::unique_ptr<net::Stream> inner_;
};

TEST(EventLoops, AConnectionWithoutADescriptorWakesByTime) {
    Listener listener("127.0.0.1", 0, options());
    auto accepting = std::async(std::launch::async, [&] { return listener.accept(20s); });
    const auto deadline = net::Deadline::in(20s);
    auto session = peer::shake_hands(
        std::make_unique<Unpollable>(
            net::connect_tcp_stream("127.0.0.1", listener.port(), AF_INET, deadline)),
        peer::make_hello(wire::feature_peer, wire::feature_peer, options()), deadline, "", "");
    Connection client(std::make_unique<Connection::Impl>(std::move(session), options(),
                                                         std::make_unique<net::Interrupt>()));
    Connection server = accepting.get();
    const int fd = client.fd();
    EXPECT_EQ(client.try_receive(), std::nullopt);
    for (const char* text : {"one", "two"}) {
        server.send(bytes(text));
        std::optional<std::vector<std::byte>> got;
        for (int i = 0; i < 1000 && !got; ++i) {
            ASSERT_TRUE(readable(fd, 20s)) << text;
            got = client.try_receive();
        }
        EXPECT_EQ(got, bytes(text));
    }
}

TEST(Cancel, EndsAnAcceptThatWouldWaitForEver) {
    Listener listener("127.0.0.1", 0, options());
    auto accepting = std::async(std::launch::async, [&] {
        expect_error(ErrorCode::Cancelled, "", [&] { listener.accept(-1ms); });
    });
    std::this_thread::sleep_for(20ms);
    listener.cancel();
    accepting.get();
    listener.cancel();  // no call is waiting, so the next one is cancelled
    EXPECT_TRUE(readable(listener.fd()));
    expect_error(ErrorCode::Cancelled, "", [&] { listener.accept(-1ms); });
    expect_error(ErrorCode::Timeout, "", [&] { listener.accept(1ms); });
}

TEST(Cancel, WakesAConnectionsEventLoop) {
    Peers peers;
    const int fd = peers.server->fd();
    EXPECT_FALSE(readable(fd));
    peers.server->cancel();
    ASSERT_TRUE(readable(fd));
    expect_error(ErrorCode::Cancelled, "", [&] { peers.server->try_receive(); });
    EXPECT_FALSE(readable(fd));
    peers.client->send(bytes("still here"));
    ASSERT_TRUE(readable(fd, 20s));
    EXPECT_EQ(peers.server->receive(), bytes("still here"));
}

TEST(Cancel, AReceiveCanBeRepeatedAndAnExchangeCannot) {
    Peers peers;
    auto receiving = std::async(std::launch::async, [&] {
        expect_error(ErrorCode::Cancelled, "", [&] { peers.server->receive(); });
    });
    std::this_thread::sleep_for(20ms);
    peers.server->cancel();
    receiving.get();
    peers.client->send(bytes("still here"));
    EXPECT_EQ(peers.server->receive(), bytes("still here"));
    peers.server->cancel();
    expect_error(ErrorCode::Cancelled, "", [&] { peers.server->exchange(endpoint()); });
    expect_error(ErrorCode::PeerGone, "has already ended",
                 [&] { peers.server->exchange(endpoint()); });
    expect_error(ErrorCode::Refused, "cancelled", [&] { peers.client->exchange(endpoint()); });
}

/// Checks that a signal ends CALL.
template <class Call>
void ended_by_a_signal(Call call) {
    struct sigaction action {
    }, before{};
    action.sa_handler = [](int) {};
    sigaction(SIGUSR1, &action, &before);
    std::atomic<bool> done{false};
    std::thread calling([&] {
        expect_error(ErrorCode::Cancelled, "signal", call);
        done = true;
    });
    for (int i = 0; i < 2000 && !done; ++i) {
        pthread_kill(calling.native_handle(), SIGUSR1);
        std::this_thread::sleep_for(5ms);
    }
    calling.join();
    sigaction(SIGUSR1, &before, nullptr);
}

TEST(Cancel, ASignalEndsCallsWhereThatIsWanted) {
    PeerOptions stopping = options();
    stopping.stop_on_signal = true;
    Listener listener("127.0.0.1", 0, stopping);
    ended_by_a_signal([&] { listener.accept(20s); });
}

TEST(Cancel, ASignalEndsAConnectThatWaitsForItsServer) {
    std::uint16_t port = 0;
    {
        const Listener probe("127.0.0.1", 0);
        port = probe.port();
    }
    PeerOptions stopping = options();
    stopping.stop_on_signal = stopping.retry_refused = true;
    ended_by_a_signal([&] { Connection::connect("127.0.0.1", port, stopping); });
}

TEST(Descriptors, WithNoneLeftAcceptWaitsAndSaysSoOnce) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "UBSan looks at memory through a pipe, for which there are no descriptors";
#endif
    Listener listener("127.0.0.1", 0, options());
    Raw client(listener.port());
    client.send(Raw::hello());
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    // The lowest free descriptor becomes the limit.
    const int next = dup(0);
    close(next);
    rlimit none = before;
    none.rlim_cur = static_cast<rlim_t>(next);
    setrlimit(RLIMIT_NOFILE, &none);
    for (int i = 0; i < 3; ++i) {
        expect_error(ErrorCode::Timeout, "no client came", [&] { listener.accept(150ms); });
    }
    setrlimit(RLIMIT_NOFILE, &before);
    const auto told = listener.turned_away();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_NE(told[0].find("ulimit -n"), std::string::npos) << told[0];
    EXPECT_NO_THROW(listener.accept(20s)) << "who waited is served";
}

}  // namespace
}  // namespace qpx
