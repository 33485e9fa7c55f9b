// SPDX-License-Identifier: BSD-2-Clause
// Tests of clients that send raw bytes: other versions, other programs, random, replayed, too
// large, too slow.
#include <random>

#include "loopback.h"

namespace qpx {
namespace {

using test::bytes_of;
using test::endpoint;
using test::expect_error;
using test::hex;
using test::options;
using test::Raw;
using namespace std::chrono_literals;

/// Polls the listener until it has turned away a client. @return why
std::string turned_away(Listener& listener) {
    std::vector<std::string> list;
    const auto deadline = net::Deadline::in(20s);
    while (list.empty() && !deadline.passed()) {
        EXPECT_THROW(listener.accept(20ms), Error);
        list = listener.turned_away();
    }
    return list.empty() ? std::string("nobody was turned away") : list.front();
}

/// Checks that the listener keeps silent clients and turns none of them away.
void expect_held(Listener& listener) {
    EXPECT_THROW(listener.accept(50ms), Error);
    EXPECT_EQ(listener.turned_away(), std::vector<std::string>());
}

::testing::AssertionResult contains(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos
               ? ::testing::AssertionSuccess()
               : ::testing::AssertionFailure() << "\"" << text << "\"";
}

TEST(Hostile, AnotherMajorVersionIsRefusedInWords) {
    Listener listener("127.0.0.1", 0, options());
    Raw raw(listener.port());
    auto hello = Raw::hello();
    hello[4] = std::byte{2};
    raw.send(hello);
    EXPECT_TRUE(
        contains(turned_away(listener), "speaks version 2.0 of the protocol, this side 1.0"));
    const auto refusal = raw.refusal();
    EXPECT_EQ(refusal.reason, wire::Reason::Version);
    EXPECT_TRUE(contains(refusal.text, "version 2.0"));
}

TEST(Hostile, ALaterMinorVersionIsServed) {
    Listener listener("127.0.0.1", 0, options());
    Raw raw(listener.port());
    auto hello = Raw::hello();
    hello[5] = std::byte{9};
    raw.send(hello);
    EXPECT_EQ(listener.accept(20s).peer_name(), "raw");
}

TEST(Hostile, AClientOfTheServiceIsSentThere) {
    Listener listener("127.0.0.1", 0, options());
    Raw raw(listener.port());
    raw.send(Raw::hello(1, wire::feature_service));
    EXPECT_TRUE(contains(turned_away(listener), "use tcp://"));
    EXPECT_EQ(raw.refusal().reason, wire::Reason::Feature);
}

TEST(Hostile, AnotherProtocolIsNamed) {
    Listener listener("127.0.0.1", 0, options());
    Raw raw(listener.port());
    raw.send(bytes_of("GET / HTTP/1.1\r\n\r\n"));
    EXPECT_TRUE(contains(turned_away(listener), "not qp-exchange: it sent \"GET / HT\""));
    EXPECT_EQ(raw.refusal().reason, wire::Reason::Protocol);
}

TEST(Hostile, RandomBytesAreTurnedAway) {
    std::mt19937 random(4791);
    Listener listener("127.0.0.1", 0, options());
    for (int round = 0; round < 50; ++round) {
        Raw raw(listener.port());
        std::vector<std::byte> bytes(random() % 2000 + 1);
        for (auto& byte : bytes) {
            byte = static_cast<std::byte>(random());
        }
        if (round % 2 == 1) {
            // With a valid header in front, the payload is parsed too.
            const auto header = hex("51505831 01000100 00000000 00000400");
            bytes.insert(bytes.begin(), header.begin(), header.end());
            bytes.resize(1040);
        }
        raw.send(bytes);
        EXPECT_FALSE(contains(turned_away(listener), "nobody was turned away")) << round;
    }
}

TEST(Hostile, AHelloAboveItsSizeIsRefusedByItsHeader) {
    Listener listener("127.0.0.1", 0, options());
    Raw raw(listener.port());
    raw.send(hex("51505831 01000100 00000000 00001001"));
    EXPECT_TRUE(contains(turned_away(listener), "4097 bytes is too long: at most 4096"));
    EXPECT_EQ(raw.refusal().reason, wire::Reason::Limit);
}

TEST(Hostile, ASlowClientHoldsNobodyUp) {
    PeerOptions brief = options();
    brief.timeout = 2s;
    Listener listener("127.0.0.1", 0, brief);
    Raw slow(listener.port());
    slow.send(hex("515058"));
    auto connecting = std::async(std::launch::async, [&] {
        return Connection::connect("127.0.0.1", listener.port(), options("quick"));
    });
    EXPECT_EQ(listener.accept(20s).peer_name(), "quick");
    connecting.wait();
    EXPECT_TRUE(
        contains(turned_away(listener), "sent 3 bytes of its HELLO and nothing more in time"));
    EXPECT_EQ(slow.refusal().reason, wire::Reason::Timeout);
}

TEST(Hostile, ManyUnfinishedClientsOfOneAddressAreRefused) {
    Listener listener("127.0.0.1", 0, options());
    std::vector<Raw> held;
    for (int i = 0; i < 32; ++i) {
        held.emplace_back(listener.port());
    }
    expect_held(listener);
    Raw one_more(listener.port());
    EXPECT_TRUE(contains(turned_away(listener), "too many unfinished connections"));
    EXPECT_EQ(one_more.refusal().reason, wire::Reason::Busy);
    // A client that leaves makes room.
    held.pop_back();
    EXPECT_TRUE(contains(turned_away(listener), "the other side closed"));
    Raw late(listener.port());
    late.send(Raw::hello());
    EXPECT_EQ(listener.accept(20s).peer_name(), "raw");
}

TEST(Hostile, UnfinishedClientsOfManyAddressesMakeTheNextWait) {
    Listener listener("127.0.0.1", 0, options());
    std::vector<Raw> held;
    for (int address = 2; address < 10; ++address) {
        for (int i = 0; i < 32; ++i) {
            held.emplace_back(listener.port(), "127.0.0." + std::to_string(address));
        }
        expect_held(listener);
    }
    Raw next(listener.port());
    next.send(Raw::hello());
    expect_held(listener);
    held.pop_back();
    EXPECT_EQ(listener.accept(20s).peer_name(), "raw") << "who goes makes room";
}

/// Shakes hands, sends the bytes that MAKE returns for the sequence number, and runs CALL.
template <class Make, class Call>
void after_handshake(Make make, Call call) {
    Listener listener("127.0.0.1", 0, options());
    Raw raw(listener.port());
    auto accepting = std::async(std::launch::async, [&] { return listener.accept(20s); });
    const std::uint32_t sequence = raw.shake_hands();
    Connection connection = accepting.get();
    raw.send(make(sequence));
    call(connection, raw);
}

std::vector<std::byte> frame(wire::Type type, std::uint32_t sequence, const char* payload) {
    std::vector<std::byte> bytes;
    wire::FrameWriter writer(bytes, type);
    writer.raw(hex(payload));
    writer.finish(sequence);
    return bytes;
}

std::vector<std::byte> endpoints(std::uint32_t sequence, const Endpoint& e) {
    std::vector<std::byte> bytes;
    wire::encode(bytes, std::span(&e, 1), sequence);
    return bytes;
}

TEST(Hostile, AnEndpointWithNonsenseIsRefusedInWords) {
    after_handshake(
        [](std::uint32_t sequence) {
            Endpoint e = endpoint();
            e.mtu = 9000;
            return endpoints(sequence, e);
        },
        [](Connection& c, Raw& raw) {
            expect_error(ErrorCode::Protocol, "MTU 9000 is none of",
                         [&] { c.exchange(endpoint()); });
            EXPECT_EQ(raw.receive().first.type, wire::Type::Endpoints);
            const auto refusal = raw.refusal();
            EXPECT_EQ(refusal.reason, wire::Reason::Protocol);
            EXPECT_TRUE(contains(refusal.text, "MTU 9000"));
        });
}

TEST(Hostile, ARecordedConversationIsNotServedAgain) {
    Listener listener("127.0.0.1", 0, options());
    std::vector<std::byte> recorded;
    {
        Raw raw(listener.port());
        auto accepting = std::async(std::launch::async, [&] { return listener.accept(20s); });
        const std::uint32_t sequence = raw.shake_hands();
        Connection connection = accepting.get();
        recorded = endpoints(sequence, endpoint());
        const auto accept = frame(wire::Type::Accept, sequence + 1, "");
        recorded.insert(recorded.end(), accept.begin(), accept.end());
        raw.send(recorded);
        EXPECT_EQ(connection.exchange(endpoint()).qpn, 7U);
    }
    Raw replay(listener.port());
    auto accepting = std::async(std::launch::async, [&] { return listener.accept(20s); });
    replay.shake_hands();
    Connection connection = accepting.get();
    replay.send(recorded);
    EXPECT_EQ(expect_error(ErrorCode::Protocol, "replayed from another connection",
                           [&] { connection.exchange(endpoint()); }),
              static_cast<int>(wire::Reason::Replay));
    replay.receive();
    EXPECT_EQ(replay.refusal().reason, wire::Reason::Replay);
}

TEST(Hostile, AFrameSentTwiceIsRefused) {
    after_handshake(
        [](std::uint32_t sequence) {
            auto bytes = frame(wire::Type::Data, sequence, "0001 0001 00000000");
            const auto again = bytes;
            bytes.insert(bytes.end(), again.begin(), again.end());
            return bytes;
        },
        [](Connection& c, Raw&) {
            EXPECT_TRUE(c.receive().empty());
            expect_error(ErrorCode::Protocol, "out of order", [&] { c.receive(); });
        });
}

TEST(Hostile, AFrameAboveTheStatedLimitIsRefusedByItsHeader) {
    after_handshake([](std::uint32_t) { return hex("51505831 01000500 00000000 7fffffff"); },
                    [](Connection& c, Raw& raw) {
                        expect_error(ErrorCode::Limit, "2147483647 bytes", [&] { c.receive(); });
                        EXPECT_EQ(raw.refusal().reason, wire::Reason::Limit);
                    });
}

TEST(Hostile, AnUnknownTypeIsRefused) {
    after_handshake(
        [](std::uint32_t sequence) { return frame(static_cast<wire::Type>(0x33), sequence, ""); },
        [](Connection& c, Raw& raw) {
            expect_error(ErrorCode::Protocol, "another call", [&] { c.receive(); });
            EXPECT_EQ(raw.refusal().reason, wire::Reason::Protocol);
        });
}

TEST(Hostile, WhatMustBeUnderstoodAndIsNotIsRefused) {
    after_handshake(
        [](std::uint32_t sequence) {
            return frame(wire::Type::Data, sequence,
                         "0001 0001 00000001 41 | 0077 0000 00000000 | 0078 0001 00000000");
        },
        [](Connection& c, Raw&) {
            expect_error(ErrorCode::Protocol, "field 120", [&] { c.receive(); });
        });
}

TEST(Hostile, ABarrierIsOfThisRoundAndWellFormed) {
    struct Case {
        const char* payload;
        const char* words;  // nullptr: it is accepted
    };
    for (const auto& [payload, words] : std::initializer_list<Case>{
             {"0001 0001 00000004 00000001", "does not match the peer's"},
             {"", "does not match the peer's"},
             {"0002 0000 00000004 00000000", "does not match the peer's"},
             {"0001 0001 00000002 0000", "2 bytes instead of 4"},
             {"0001 0001 00000004 00000000 | 0077 0001 00000000", "field 119 is unknown"},
             {"0001 0001 00000004 00000000", nullptr},
             {"0077 0000 00000001 00 | 0001 0001 00000004 00000000", nullptr}}) {
        after_handshake(
            [&](std::uint32_t sequence) { return frame(wire::Type::Barrier, sequence, payload); },
            [&](Connection& c, Raw&) {
                if (words == nullptr) {
                    EXPECT_NO_THROW(c.barrier()) << payload;
                } else {
                    expect_error(ErrorCode::Protocol, words, [&] { c.barrier(); });
                }
            });
    }
}

TEST(Hostile, AnAcceptThatMustBeUnderstoodAndIsNotIsRefused) {
    for (const bool must : {false, true}) {
        after_handshake(
            [&](std::uint32_t sequence) {
                auto bytes = endpoints(sequence, endpoint());
                const auto accept = frame(wire::Type::Accept, sequence + 1,
                                          must ? "0077 0001 00000000" : "0077 0000 00000000");
                bytes.insert(bytes.end(), accept.begin(), accept.end());
                return bytes;
            },
            [&](Connection& c, Raw&) {
                if (must) {
                    expect_error(ErrorCode::Protocol, "field 119", [&] { c.exchange(endpoint()); });
                } else {
                    EXPECT_EQ(c.exchange(endpoint()).qpn, 7U);
                }
            });
    }
}

TEST(Hostile, RandomBytesAfterTheHandshakeEndTheConversationOnly) {
    std::mt19937 random(18515);
    for (int round = 0; round < 30; ++round) {
        after_handshake(
            [&](std::uint32_t sequence) {
                auto bytes = endpoints(sequence, endpoint());
                for (int flips = 0; flips < 4; ++flips) {
                    bytes[random() % bytes.size()] ^= static_cast<std::byte>(1U << (random() % 8));
                }
                return bytes;
            },
            [](Connection& c, Raw& raw) {
                c.set_timeout(2s);
                raw.send(frame(wire::Type::Bye, 0, ""));
                raw.close();
                EXPECT_THROW(c.exchange(endpoint()), Error);
            });
    }
}

}  // namespace
}  // namespace qpx
