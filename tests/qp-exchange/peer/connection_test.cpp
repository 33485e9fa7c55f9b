// SPDX-License-Identifier: BSD-2-Clause
// Tests of two well-behaved peers, and of the errors reported if their versions, options or calls
// do not match.
#include "qpx/peer.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>

#include "loopback.h"
#include "peer/impl.h"
#include "scripted_stream.h"

namespace qpx {
namespace {

using test::endpoint;
using test::expect_error;
using test::options;
using test::Peers;
using namespace std::chrono_literals;

TEST(Connection, KnowsItsPeer) {
    Peers peers;
    EXPECT_EQ(peers.server->peer_name(), "client");
    EXPECT_EQ(peers.client->peer_name(), "server");
    EXPECT_EQ(peers.client->peer_address(), "127.0.0.1");
    EXPECT_EQ(peers.client->local_address(), "127.0.0.1");
    EXPECT_EQ(peers.client->peer_port(), peers.listener.port());
    EXPECT_FALSE(peers.client->secure());
    EXPECT_EQ(peers.client->security_text(), "not encrypted");
    EXPECT_EQ(peers.client->peer_identity(), "");
}

TEST(Connection, WithoutANameGivesHostAndProcess) {
    Peers peers(options(), options());
    EXPECT_NE(peers.server->peer_name().find("pid " + std::to_string(getpid())), std::string::npos);
}

TEST(Exchange, GivesEachTheOthersEndpoint) {
    Peers peers;
    Endpoint mine = endpoint(1), theirs = endpoint(2);
    mine.regions = {{0x1000, 64, 5, "tag"}};
    theirs.application = test::bytes_of("application");
    peers.both([&](Connection& c) { EXPECT_EQ(c.exchange(mine), theirs); },
               [&](Connection& c) { EXPECT_EQ(c.exchange(theirs), mine); });
}

TEST(Exchange, IsRepeatedOnOneConnection) {
    Peers peers;
    const auto many = [](std::uint32_t first) {
        return [first](Connection& c) {
            for (std::uint32_t i = 0; i < 200; ++i) {
                ASSERT_EQ(c.exchange(endpoint(first + i)).qpn, (first ^ 0x1000U) + i);
            }
        };
    };
    peers.both(many(0x1000), many(0));
}

TEST(Exchange, OfManyEndpointsWithLargeMessagesDoesNotDeadlock) {
    Peers peers;
    std::vector<Endpoint> list(200, endpoint());
    for (auto& e : list) {
        e.application.resize(60 << 10, std::byte{7});
    }
    // 12 MB both ways at once is more than the sockets hold.
    const auto exchange = [&](Connection& c) { EXPECT_EQ(c.exchange(list), list); };
    peers.both(exchange, exchange);
}

TEST(Exchange, OfDifferentTypesIsRefusedByBothWithOneReason) {
    Peers peers;
    const auto refused = [](QpType type) {
        return [type](Connection& c) {
            EXPECT_EQ(expect_error(ErrorCode::Refused, "QP types differ",
                                   [&] { c.exchange(endpoint(1, type)); }),
                      static_cast<int>(wire::Reason::Mismatch));
            expect_error(ErrorCode::PeerGone, "QP types differ", [&] { c.barrier(); });
        };
    };
    peers.both(refused(QpType::RC), refused(QpType::UD));
}

TEST(Exchange, OfListsThatDoNotFitIsRefusedInWords) {
    using enum QpType;
    using Types = std::vector<QpType>;
    struct Case {
        Types server, client;
        const char* words;
    };
    for (const auto& [at_server, at_client, words] : std::initializer_list<Case>{
             {{RC, RC}, {RC, RC, RC}, "one side offers 2 queue pairs, the other 3"},
             {{UD, UD}, {UD, RC, UD}, "one side offers 2 queue pairs, the other 3"},
             {{UD, RC}, {UD, UD, UD}, "one side offers 2 queue pairs, the other 3"},
             {{UC}, {RC}, "QP types differ"},
             {{UC, RC}, {RC, RC}, "queue pair 0: QP types differ"},
             {{RC, UC}, {RC, RC}, "queue pair 1: QP types differ"},
             {{RC, UC, UD}, {RC, UC, UC}, "queue pair 2: QP types differ"}}) {
        Peers peers;
        const auto refused = [words = words](const Types& types) {
            return [words, types](Connection& c) {
                std::vector<Endpoint> list;
                for (const QpType type : types) {
                    list.push_back(endpoint(1, type));
                }
                expect_error(ErrorCode::Refused, words, [&] { c.exchange(list); });
            };
        };
        peers.both(refused(at_server), refused(at_client));
    }
}

TEST(Exchange, OfDatagramsMayHaveMoreOnOneSide) {
    Peers peers;
    const auto taken = [](std::size_t count, std::size_t expected) {
        return [=](Connection& c) {
            const std::vector<Endpoint> list(count, endpoint(1, QpType::UD));
            EXPECT_EQ(c.exchange(list).size(), expected);
        };
    };
    peers.both(taken(2, 3), taken(3, 2));
}

TEST(Exchange, OfOneEndpointThatCannotBeSendsNothing) {
    Peers peers;
    Endpoint wrong = endpoint();
    wrong.mtu = 1500;
    expect_error(ErrorCode::Argument, "MTU 1500", [&] { peers.client->exchange(wrong); });
    wrong = endpoint();
    wrong.device = std::string(64, 'd');
    expect_error(ErrorCode::Argument, "longer than 63 bytes",
                 [&] { peers.client->exchange(wrong); });
    expect_error(ErrorCode::Argument, "needs an endpoint",
                 [&] { peers.client->exchange(std::span<const Endpoint>()); });
    // The connection remains usable.
    peers.both([](Connection& c) { c.exchange(endpoint()); },
               [](Connection& c) { c.exchange(endpoint()); });
}

TEST(Exchange, BeyondThePeersLimitsIsToldBeforeSending) {
    PeerOptions small = options("server");
    small.limits = {.max_frame = 8192, .max_endpoints = 2, .max_regions = 1, .max_application = 16};
    Peers peers(small);
    const std::vector<Endpoint> three(3, endpoint());
    expect_error(ErrorCode::Limit, "at most 2 endpoints", [&] { peers.client->exchange(three); });
    Endpoint regions = endpoint();
    regions.regions.resize(2);
    expect_error(ErrorCode::Limit, "at most 1 regions", [&] { peers.client->exchange(regions); });
    Endpoint application = endpoint();
    application.application.resize(17);
    expect_error(ErrorCode::Limit, "16 application bytes",
                 [&] { peers.client->exchange(application); });
    expect_error(ErrorCode::Limit, "the peer takes 8184",
                 [&] { peers.client->send(std::vector<std::byte>(8185)); });
    peers.both([](Connection& c) { EXPECT_EQ(c.receive().size(), 8184U); },
               [](Connection& c) { c.send(std::vector<std::byte>(8184)); });
    std::vector<Endpoint> largest(2, endpoint());
    largest[0].regions.resize(1);
    largest[0].application.resize(16);
    peers.both([&](Connection& c) { EXPECT_EQ(c.exchange(largest), largest); },
               [&](Connection& c) { EXPECT_EQ(c.exchange(largest), largest); });
}

TEST(Exchange, OfOneWantsOneBack) {
    Peers peers;
    const std::vector<Endpoint> two(2, endpoint(1, QpType::UD));
    peers.both(
        [&](Connection& c) {
            c.exchange(two);
            expect_error(ErrorCode::Refused, "one side offers 1 queue pair, the other 2",
                         [&] { c.receive(); });
        },
        [](Connection& c) {
            EXPECT_EQ(expect_error(ErrorCode::Refused, "one side offers 1 queue pair, the other 2",
                                   [&] { c.exchange(endpoint(1, QpType::UD)); }),
                      static_cast<int>(wire::Reason::Mismatch));
        });
}

TEST(Exchange, FillsThePeersFrameToTheLastByte) {
    PeerOptions small = options("server");
    small.limits.max_frame = 8192;
    Peers peers(small);
    std::vector<Endpoint> list(2, endpoint());
    const std::size_t bare = wire::encoded_size(list[0]) + wire::encoded_size(list[1]);
    list[0].application.resize(4000, std::byte{7});
    list[1].application.resize(8192 - bare - 2 * wire::field_header_size - 4000 + 1);
    expect_error(ErrorCode::Limit, "the endpoints make 8193 bytes, the peer takes 8192",
                 [&] { peers.client->exchange(list); });
    list[1].application.pop_back();
    const auto talk = [&](Connection& c) { EXPECT_EQ(c.exchange(list), list); };
    peers.both(talk, talk);
}

TEST(Exchange, AgainstABarrierIsNamedOnBothSides) {
    Peers peers;
    peers.both(
        [](Connection& c) {
            expect_error(ErrorCode::Protocol, "the same calls in the same order",
                         [&] { c.exchange(endpoint()); });
        },
        [](Connection& c) {
            try {
                c.barrier();
                ADD_FAILURE();
            } catch (const Error& error) {
                // The side that notices first reports the error; the other is told or notices on
                // its own.
                EXPECT_NE(std::string(error.what()).find("the same calls in the same order"),
                          std::string::npos)
                    << error.what();
            }
        });
}

TEST(Messages, ComeWholeAndInOrder) {
    Peers peers;
    peers.both(
        [](Connection& c) {
            for (int i = 0; i < 100; ++i) {
                c.send(test::bytes_of("message " + std::to_string(i)));
            }
            c.send({});
        },
        [](Connection& c) {
            for (int i = 0; i < 100; ++i) {
                EXPECT_EQ(c.receive(), test::bytes_of("message " + std::to_string(i)));
            }
            EXPECT_TRUE(c.receive().empty());
        });
}

TEST(Messages, OfMegabytesBothWaysAtOnce) {
    Peers peers;
    const std::vector<std::byte> large(8 << 20, std::byte{3});
    const auto talk = [&](Connection& c) {
        c.send(large);
        EXPECT_EQ(c.receive(), large);
    };
    peers.both(talk, talk);
}

TEST(Messages, MeetTheSameCallOnly) {
    using Calls = std::map<std::string, void (*)(Connection&)>;
    const auto exchange = [](Connection& c) { c.exchange(endpoint()); };
    const auto barrier = [](Connection& c) { c.barrier(); };
    const auto receive = [](Connection& c) { c.receive(); };
    const auto send = [](Connection& c) { c.send({}); };
    for (const auto& [mine, call] :
         Calls{{"exchange()", exchange}, {"barrier()", barrier}, {"receive()", receive}}) {
        for (const auto& [theirs, frame] :
             Calls{{"exchange()", exchange}, {"barrier()", barrier}, {"send()", send}}) {
            if (mine == theirs || (mine == "receive()" && theirs == "send()")) {
                continue;
            }
            Peers peers;
            auto other = std::async(std::launch::async, [&] {
                try {
                    frame(*peers.client);
                } catch (const Error&) {  // the side that is told
                }
            });
            pollfd there = {peers.server->fd(), POLLIN, 0};
            ASSERT_EQ(poll(&there, 1, 20'000), 1) << "its frame";
            expect_error(ErrorCode::Protocol, "one side is in " + mine + ", the other in " + theirs,
                         [&] { call(*peers.server); });
            other.get();
        }
    }
}

TEST(Barrier, NumbersItsRounds) {
    Listener listener("127.0.0.1", 0, options());
    test::Raw raw(listener.port());
    auto accepting = std::async(std::launch::async, [&] { return listener.accept(20s); });
    const std::uint32_t sequence = raw.shake_hands();
    Connection connection = accepting.get();
    for (std::uint32_t round = 0; round < 3; ++round) {
        std::vector<std::byte> bytes;
        wire::FrameWriter writer(bytes, wire::Type::Barrier);
        writer.u32(wire::tag::round, round, wire::must_understand);
        writer.finish(sequence + round);
        raw.send(bytes);
        connection.barrier();
        const auto [header, payload] = raw.receive();
        EXPECT_EQ(header.type, wire::Type::Barrier);
        EXPECT_EQ(payload, std::vector(bytes.begin() + wire::header_size, bytes.end()));
    }
}

TEST(Barrier, HoldsUntilBothAreThere) {
    Peers peers;
    std::atomic<int> reached = 0;
    for (int i = 1; i <= 50; ++i) {
        const auto meet = [&](Connection& c) {
            ++reached;
            c.barrier();
            EXPECT_GE(reached.load(), 2 * i);
        };
        peers.both(meet, meet);
    }
}

TEST(Timeout, OfReceiveLosesNothing) {
    Peers peers;
    peers.client->set_timeout(20ms);
    expect_error(ErrorCode::Timeout, "has not called send()", [&] { peers.client->receive(); });
    peers.server->send(test::bytes_of("late"));
    peers.client->set_timeout(20s);
    EXPECT_EQ(peers.client->receive(), test::bytes_of("late"));
}

TEST(Timeout, OfExchangeEndsAndThePeerIsTold) {
    Peers peers;
    peers.client->set_timeout(20ms);
    expect_error(ErrorCode::Timeout, "has not called exchange()",
                 [&] { peers.client->exchange(endpoint()); });
    EXPECT_EQ(expect_error(ErrorCode::Refused, "the peer refused",
                           [&] {
                               peers.server->exchange(endpoint());
                               peers.server->barrier();
                           }),
              static_cast<int>(wire::Reason::Timeout));
}

TEST(Timeout, OfAPeerThatTakesNothing) {
    Peers peers;
    peers.client->set_timeout(100ms);
    expect_error(ErrorCode::Timeout, "has not called receive()", [&] {
        const std::vector<std::byte> large(1 << 20);
        for (int i = 0; i < 200; ++i) {
            peers.client->send(large);
        }
    });
}

TEST(End, OfThePeersObjectIsAGoodBye) {
    Peers peers;
    peers.server.reset();
    expect_error(ErrorCode::PeerGone, "has closed the connection",
                 [&] { peers.client->receive(); });
    expect_error(ErrorCode::PeerGone, "has already ended", [&] { peers.client->receive(); });
}

TEST(End, OfThePeersProcessIsNoGoodBye) {
    Listener listener("127.0.0.1", 0, options());
    test::Raw dying(listener.port());
    dying.send(test::Raw::hello());
    Connection connection = listener.accept(20s);
    dying.receive();  // unread bytes would make the kernel send a reset
    dying.close();
    expect_error(ErrorCode::PeerGone, "process died", [&] { connection.receive(); });
}

TEST(End, OfThisSideIsSaidOnce) {
    Peers peers;
    peers.client->close();
    peers.client->close();
    peers.client->refuse("too late");
    expect_error(ErrorCode::PeerGone, "this side closed it", [&] { peers.client->receive(); });
    expect_error(ErrorCode::PeerGone, "this side closed it", [&] { peers.client->send({}); });
    expect_error(ErrorCode::PeerGone, "has closed the connection",
                 [&] { peers.server->receive(); });
}

TEST(End, ByTheApplicationsRefusalCarriesItsText) {
    Peers peers;
    peers.server->refuse("the model has 12 layers, yours 24");
    EXPECT_EQ(
        expect_error(ErrorCode::Refused, "the peer refused: the model has 12 layers, yours 24",
                     [&] { peers.client->exchange(endpoint()); }),
        static_cast<int>(wire::Reason::Application));
}

TEST(End, ARefusalIsHeardBySomebodyWhoIsSending) {
    Peers peers;
    peers.server->refuse("enough");
    peers.server.reset();
    expect_error(ErrorCode::Refused, "enough", [&] {
        const std::vector<std::byte> message(1 << 16);
        for (int i = 0; i < 1000; ++i) {
            peers.client->send(message);
        }
    });
}

TEST(End, ARefusalEndsTheStreamThoughTheObjectLives) {
    Listener listener("127.0.0.1", 0, options());
    test::Raw raw(listener.port());
    auto accepting = std::async(std::launch::async, [&] { return listener.accept(20s); });
    raw.shake_hands();
    Connection connection = accepting.get();
    connection.refuse("enough");
    connection.close();  // ending it again changes nothing
    connection.refuse("too late");
    expect_error(ErrorCode::PeerGone, "this side refused: enough", [&] { connection.receive(); });
    EXPECT_EQ(raw.refusal().text, "enough");
    pollfd end = {raw.fd(), POLLRDHUP, 0};
    EXPECT_EQ(poll(&end, 1, 20'000), 1) << "nothing tells the peer that no more follows";
    EXPECT_EQ(raw.receive().first.type, wire::Type{}) << "a refusal is the last frame";
}

/// A connection whose stream is scripted.
class ScriptedConnection : public ::testing::Test {
  protected:
    static peer::Session session(test::Script& script) {
        return {.stream = std::make_unique<test::ScriptedStream>(script),
                .reader = wire::FrameReader(1 << 20),
                .theirs = {},
                .next_send = 1,
                .next_receive = 1};
    }
    test::Script script;
    Connection::Impl connection{session(script), options(),
                                std::make_unique<net::Interrupt>(false)};
};

TEST_F(ScriptedConnection, ThatBreaksWhileThisSideSendsIsGone) {
    script.broken = true;
    expect_error(ErrorCode::PeerGone, "the connection broke",
                 [&] { connection.send(test::bytes_of("x")); });
    EXPECT_TRUE(connection.peer_gone());
}

TEST_F(ScriptedConnection, ThatBreaksHasItsLastWordsHeard) {
    script.broken = true;
    wire::encode(script.incoming, wire::Refusal{wire::Reason::Application, "enough"}, 0);
    expect_error(ErrorCode::Refused, "enough", [&] { connection.send(test::bytes_of("x")); });
}

TEST_F(ScriptedConnection, ThatEndsAndTakesNoMoreIsGone) {
    script.takes = 5;
    script.ended = true;
    expect_error(ErrorCode::PeerGone, "ended while this side was sending",
                 [&] { connection.send(test::bytes_of("x")); });
    EXPECT_TRUE(connection.peer_gone());
}

// The peer's socket remains open, but the connection can no longer send to it.
TEST(End, ByAnErrorOfThePeerIsSeenByPeerGone) {
    Listener listener("127.0.0.1", 0, options());
    test::Raw raw(listener.port());
    auto accepting = std::async(std::launch::async, [&] { return listener.accept(20s); });
    raw.shake_hands();
    Connection connection = accepting.get();
    EXPECT_FALSE(connection.peer_gone());
    raw.send(test::hex("51505831 01000500 00000000 7fffffff"));
    expect_error(ErrorCode::Limit, "", [&] { connection.receive(); });
    EXPECT_EQ(raw.refusal().reason, wire::Reason::Limit);
    EXPECT_TRUE(connection.peer_gone());
}

TEST(Connect, OverRdmaCmIsARoadToo) {
    const Url url = parse_url("cm://127.0.0.1:1");
    PeerOptions brief = options();
    brief.timeout = 2s;
    const auto why = [](auto call) {
        try {
            call();
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    // Without a card it fails, but not with the error for a scheme that peers cannot use.
    EXPECT_EQ(why([&] { Connection::connect(url, brief); }).find("two peers meet"),
              std::string::npos);
    EXPECT_EQ(why([&] { Listener(url, brief); }).find("a peer listens at"), std::string::npos);
    const Url other = parse_url("qpxd://127.0.0.1:1/job");
    EXPECT_NE(why([&] { Connection::connect(other, brief); }).find("two peers meet"),
              std::string::npos);
    EXPECT_NE(why([&] { Listener(other, brief); }).find("a peer listens at"), std::string::npos);
}

TEST(Connect, OneOfTwoThatBothCouldIsTo) {
    EXPECT_TRUE(should_connect("10.0.0.1:5", "10.0.0.2:5"));
    EXPECT_FALSE(should_connect("10.0.0.2:5", "10.0.0.1:5"));
    EXPECT_TRUE(should_connect("", "a"));
    EXPECT_FALSE(should_connect("ab", "a"));
    expect_error(ErrorCode::Argument, "both sides are called 'a'",
                 [] { should_connect("a", "a"); });
}

TEST(Connect, OverIpv6) {
    try {
        net::listen_tcp("::1", 0, AF_INET6);
    } catch (const Error&) {
        GTEST_SKIP() << "this host has no IPv6 loopback";
    }
    Peers peers(options("server"), options("client"), "::1");
    EXPECT_EQ(peers.server->peer_address(), "::1");
    EXPECT_EQ(peers.listener.url(), "tcp://[::1]:" + std::to_string(peers.listener.port()));
}

TEST(Connect, ByUrl) {
    Listener listener(parse_url("tcp://127.0.0.1"), options("server"));
    auto connecting = std::async(std::launch::async, [&] {
        return Connection::connect(parse_url(listener.url()), options());
    });
    EXPECT_EQ(listener.accept(20s).peer_address(), "127.0.0.1");
    connecting.wait();
    expect_error(ErrorCode::Unsupported, "qpx/group.h",
                 [] { Connection::connect(parse_url("qpxd://h:1/j")); });
    expect_error(ErrorCode::Argument, "host and port",
                 [] { Connection::connect(parse_url("tcp://h")); });
    expect_error(ErrorCode::Unsupported, "tcp:// or cm://",
                 [] { Listener(parse_url("redis://h:1")); });
}

TEST(Connect, WaitsForAServerThatStartsLater) {
    std::uint16_t port = 0;
    {
        const Listener probe("127.0.0.1", 0);
        port = probe.port();
    }
    expect_error(ErrorCode::Refused, "nobody listens",
                 [&] { Connection::connect("127.0.0.1", port, options()); });
    PeerOptions patient = options("patient");
    patient.retry_refused = true;
    auto connecting = std::async(std::launch::async,
                                 [&] { return Connection::connect("127.0.0.1", port, patient); });
    std::this_thread::sleep_for(150ms);
    Listener listener("127.0.0.1", port, options());
    EXPECT_EQ(listener.accept(20s).peer_name(), "patient");
    connecting.get();
    patient.timeout = 250ms;
    listener = Listener("127.0.0.1", 0, options());
    expect_error(ErrorCode::Refused, "nobody listens",
                 [&] { Connection::connect("127.0.0.1", port, patient); });
}

TEST(Connect, TriesAgainOnlyWhatIsWorthIt) {
    std::uint16_t port = 0;
    {
        const Listener probe("127.0.0.1", 0);
        port = probe.port();
    }
    for (const bool retry : {false, true}) {
        PeerOptions other = options();
        other.retry_refused = retry;
        other.family = retry ? AF_INET6 : AF_INET;  // not this address's family
        const auto began = net::Clock::now();
        expect_error(retry ? ErrorCode::Resolve : ErrorCode::Refused, "",
                     [&] { Connection::connect("127.0.0.1", port, other); });
        EXPECT_LT(net::Clock::now() - began, other.timeout / 2);
    }
}

TEST(Connect, ToSomethingSilentIsATimeout) {
    const net::Fd silent = net::listen_tcp("127.0.0.1", 0, 0);
    PeerOptions brief = options();
    brief.timeout = 1s;
    expect_error(ErrorCode::Timeout, "accepted the connection but does not answer", [&] {
        Connection::connect("127.0.0.1", net::port_of(net::local_address(silent.get())), brief);
    });
}

}  // namespace
}  // namespace qpx
