// SPDX-License-Identifier: BSD-2-Clause
// Tests of one side's handshake, with the other side scripted byte by byte.
#include "peer/handshake.h"

#include "bytes.h"
#include "scripted_stream.h"

namespace qpx::peer {
namespace {

using net::Role;
using net::Want;
using test::expect_error;
using test::Script;

wire::Hello hello(std::uint32_t nonce, const std::string& name) {
    return {.features = wire::feature_peer,
            .required = wire::feature_peer,
            .nonce = nonce,
            .limits = {},
            .name = name};
}

std::vector<std::byte> bytes_of(const wire::Hello& hello) {
    std::vector<std::byte> bytes;
    wire::encode(bytes, hello);
    return bytes;
}

std::optional<wire::Refusal> refusal_in(std::span<const std::byte> bytes) {
    wire::FrameReader reader;
    std::copy(bytes.begin(), bytes.end(), reader.space().begin());
    reader.received(bytes.size());
    const auto frame = reader.next();
    if (!frame || frame->header.type != wire::Type::Refuse) {
        return std::nullopt;
    }
    return wire::decode_refusal(frame->payload);
}

class HandshakeOf : public ::testing::TestWithParam<Role> {
  protected:
    Script script;
    const wire::Hello mine = hello(11, "mine"), theirs = hello(22, "theirs");
};

TEST_P(HandshakeOf, GoesOnWithEveryByte) {
    Handshake handshake(std::make_unique<test::ScriptedStream>(script), GetParam(), mine);
    const auto all = bytes_of(theirs);
    script.piece = 1;
    script.takes = 0;
    std::size_t given = 0;
    Want want = handshake.step();
    for (int i = 0; i < 1000 && want != Want::Nothing; ++i) {
        if (want == Want::Write) {
            EXPECT_EQ(given, GetParam() == Role::Client ? 0 : all.size());
            script.takes = 1;
        } else {
            EXPECT_EQ(script.sent.size(), GetParam() == Role::Client ? bytes_of(mine).size() : 0);
            EXPECT_EQ(handshake.received(), given);
            ASSERT_LT(given, all.size());
            script.incoming.push_back(all[given++]);
        }
        want = handshake.step();
    }
    ASSERT_EQ(want, Want::Nothing);
    EXPECT_EQ(script.sent, bytes_of(mine));
    const Session session = handshake.take();
    EXPECT_EQ(session.theirs.name, "theirs");
    EXPECT_EQ(session.next_send, 22U) << "a side counts from the other's nonce";
    EXPECT_EQ(session.next_receive, 11U);
}

TEST_P(HandshakeOf, TellsWhoClosedBeforeAndWhoInTheMiddle) {
    for (const bool began : {false, true}) {
        Handshake handshake(std::make_unique<test::ScriptedStream>(script), GetParam(), mine);
        script.incoming.assign(began ? 1 : 0, std::byte{'Q'});
        script.ended = true;
        expect_error(ErrorCode::PeerGone, began ? "in the middle of its HELLO" : "at once",
                     [&] { handshake.step(); });
    }
}

INSTANTIATE_TEST_SUITE_P(Client, HandshakeOf, ::testing::Values(Role::Client));
INSTANTIATE_TEST_SUITE_P(Server, HandshakeOf, ::testing::Values(Role::Server));

// A client without TLS gets a plain refusal; a peer with another protocol gets an end of file.
TEST(Handshakes, APlainClientOfASecureServerIsTold) {
    for (const auto& [plain, told] : {std::pair{"QPX1", true},
                                      {"QPX1\x01\x01\x01", true},
                                      {"QPX", false},
                                      {"QPX2", false},
                                      {"", false},
                                      {"GET / HTTP", false}}) {
        Script script;
        script.no_tls = Error(ErrorCode::Auth, "no TLS");
        script.plain = test::bytes_of(plain);
        script.incoming = test::bytes_of("unread");
        Handshake handshake(std::make_unique<test::ScriptedStream>(script), Role::Server,
                            hello(1, "server"));
        expect_error(ErrorCode::Auth, "no TLS", [&] { handshake.step(); });
        const auto refusal = refusal_in(script.sent);
        EXPECT_EQ(refusal.has_value(), told) << plain;
        EXPECT_EQ(script.sent.empty(), !told) << plain;
        if (refusal) {
            EXPECT_EQ(refusal->reason, wire::Reason::Auth);
        }
        EXPECT_EQ(script.shutdowns, 1) << plain;
        EXPECT_TRUE(script.incoming.empty()) << "unread bytes would make the kernel send a reset";
    }
}

// The refusal may arrive in two parts: the bytes that OpenSSL has read, and the rest.
TEST(Handshakes, ASecureClientHearsThePlainServersRefusal) {
    std::vector<std::byte> refusal;
    wire::encode(refusal, wire::Refusal{wire::Reason::Auth, "no TLS here"}, 0);
    for (const std::size_t read : {std::size_t{4}, std::size_t{5}, refusal.size()}) {
        const auto split = refusal.begin() + static_cast<std::ptrdiff_t>(read);
        Script script;
        script.no_tls = Error(ErrorCode::Auth, "no TLS");
        script.plain.assign(refusal.begin(), split);
        script.incoming.assign(split, refusal.end());
        Handshake handshake(std::make_unique<test::ScriptedStream>(script), Role::Client,
                            hello(1, "client"));
        expect_error(ErrorCode::Auth, "no TLS here", [&] { handshake.step(); });
        EXPECT_TRUE(script.sent.empty());
    }
}

// Only a complete REFUSE counts as the server's refusal.
TEST(Handshakes, OtherPlainFramesAreNoRefusal) {
    std::vector<std::byte> part;
    wire::encode(part, wire::Refusal{wire::Reason::Busy, "too many"}, 0);
    part.pop_back();
    for (const auto& bytes : {bytes_of(hello(1, "server")), part, test::bytes_of("QPX1")}) {
        Script script;
        script.no_tls = Error(ErrorCode::Auth, "no TLS");
        script.plain = bytes;
        Handshake handshake(std::make_unique<test::ScriptedStream>(script), Role::Client,
                            hello(1, "client"));
        expect_error(ErrorCode::Auth, "no TLS", [&] { handshake.step(); });
    }
}

TEST(Handshakes, ARefusalEndsTheStream) {
    for (const bool by_itself : {false, true}) {
        Script script;
        script.incoming = test::bytes_of("GET / HTTP");
        Handshake handshake(std::make_unique<test::ScriptedStream>(script), Role::Server,
                            hello(1, "server"));
        if (by_itself) {
            expect_error(ErrorCode::Protocol, "not qp-exchange", [&] { handshake.step(); });
        } else {
            handshake.refuse(wire::Reason::Timeout, "too slow");
        }
        const auto refusal = refusal_in(script.sent);
        ASSERT_TRUE(refusal);
        EXPECT_EQ(refusal->reason, by_itself ? wire::Reason::Protocol : wire::Reason::Timeout);
        EXPECT_EQ(script.shutdowns, 1);
        EXPECT_TRUE(script.incoming.empty());
    }
}

}  // namespace
}  // namespace qpx::peer
