// SPDX-License-Identifier: BSD-2-Clause
// Tests of TLS over a socket pair: which handshakes succeed, and the errors that each side reports.
#include <openssl/err.h>
#include <sys/socket.h>

#include <string>

#include "bytes.h"
#include "net/certificates.h"
#include "net/stream.h"
#include "net/tls_context.h"

namespace qpx::net {
namespace {

using test::expect_error;

Security psk(const std::string& identity, unsigned char fill) {
    Security security;
    security.mode = Security::Mode::Psk;
    security.psk = {{identity, std::vector<std::byte>(32, std::byte{fill})}};
    return security;
}

Security certificates(const test::Authority& authority, const test::Authority::Files& own) {
    Security security;
    security.mode = Security::Mode::Certificates;
    security.certificate = own.certificate;
    security.key = own.key;
    security.ca = authority.ca();
    return security;
}

/// Two ends of one socket pair.
struct Pair {
    Pair(const Security& at_client, const Security& at_server,
         const std::string& server_name = "server.example") {
        int fds[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0) {
            throw std::runtime_error("socketpair");
        }
        client = make_tls_stream(make_tls(at_client, Role::Client), make_tcp_stream(fds[0]),
                                 server_name);
        server = make_tls_stream(make_tls(at_server, Role::Server), make_tcp_stream(fds[1]));
    }

    /// Runs both handshakes until both are done or one has failed; with TLS 1.3, a client learns of
    /// its refusal from its first read.
    void run() {
        bool client_done = false, server_done = false;
        for (int i = 0; i < 50; ++i) {
            step(*client, client_done, client_error);
            step(*server, server_done, server_error);
        }
        if (client_done && client_error.empty() && !server_error.empty()) {
            try {
                std::byte byte{};
                client->read({&byte, 1});
            } catch (const Error& error) {
                client_error = error.what();
            }
        }
    }

    static void step(Stream& stream, bool& done, std::string& error) {
        if (done || !error.empty()) {
            return;
        }
        try {
            done = stream.handshake() == Want::Nothing;
        } catch (const Error& e) {
            EXPECT_EQ(e.code(), ErrorCode::Auth) << e.what();
            error = e.what();
        }
    }

    bool good() const {
        return client->secure() && server->secure() && client_error.empty() && server_error.empty();
    }

    std::unique_ptr<Stream> client, server;
    std::string client_error, server_error;
};

::testing::AssertionResult contains(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos
               ? ::testing::AssertionSuccess()
               : ::testing::AssertionFailure() << "\"" << text << "\"";
}

TEST(TlsPsk, SameKeyPassesAndIdentitiesAreKnown) {
    Security many = psk("other", 9);
    many.psk.push_back(psk("node-7", 1).psk[0]);
    Pair pair(psk("node-7", 1), many);
    pair.run();
    ASSERT_TRUE(pair.good()) << pair.client_error << " / " << pair.server_error;
    EXPECT_EQ(pair.server->identity(), "node-7");
    EXPECT_TRUE(contains(pair.client->security_text(), "TLSv1.3 TLS_"));
    EXPECT_TRUE(contains(pair.client->security_text(), "pre-shared key \"node-7\""));
    ASSERT_EQ(pair.client->write(test::bytes_of("hello")).bytes, 5U);
    std::vector<std::byte> got(16);
    EXPECT_EQ(pair.server->read(got).bytes, 5U);
}

TEST(TlsPsk, AnotherKeyUnderTheSameNameFailsOnBothSides) {
    Pair pair(psk("node-7", 1), psk("node-7", 2));
    pair.run();
    EXPECT_FALSE(pair.good());
    EXPECT_TRUE(contains(pair.server_error, "another key or identity"));
    EXPECT_TRUE(contains(pair.client_error, "another key or identity"));
}

TEST(TlsPsk, AnUnknownIdentityFails) {
    Pair pair(psk("node-8", 1), psk("node-7", 1));
    pair.run();
    EXPECT_FALSE(pair.good());
    EXPECT_TRUE(contains(pair.server_error, "another key or identity"));
}

TEST(TlsPsk, AllowedPeersNarrowsToIdentities) {
    Security server = psk("node-7", 1);
    server.allowed_peers = {"node-1"};
    Pair pair(psk("node-7", 1), server);
    pair.run();
    EXPECT_TRUE(contains(pair.server_error, "\"node-7\" is not in the list of allowed peers"));
}

TEST(TlsPsk, ShortKeysAreNotTaken) {
    Security security = psk("a", 1);
    security.psk[0].key.resize(15);
    expect_error(ErrorCode::Argument, "16 to 64 bytes", [&] { make_tls(security, Role::Client); });
    security.psk.clear();
    expect_error(ErrorCode::Argument, "needs a key, and there is none",
                 [&] { make_tls(security, Role::Server); });
}

TEST(TlsCertificates, OfOneAuthorityPassAndNamesAreKnown) {
    const test::Authority ca;
    Pair pair(certificates(ca, ca.issue("client-1", "DNS:client.example")),
              certificates(ca, ca.issue("server-1", "DNS:server.example")));
    pair.run();
    ASSERT_TRUE(pair.good()) << pair.client_error << " / " << pair.server_error;
    EXPECT_EQ(pair.server->identity(), "client-1");
    EXPECT_EQ(pair.client->identity(), "server-1");
}

TEST(TlsCertificates, AServerOfAnotherNameIsNotTaken) {
    const test::Authority ca;
    Pair pair(certificates(ca, ca.issue("c", "")),
              certificates(ca, ca.issue("server-1", "DNS:other.example")));
    pair.run();
    EXPECT_TRUE(contains(pair.client_error, "certificate is not accepted: hostname mismatch"));
    EXPECT_FALSE(pair.server_error.empty());
}

TEST(TlsCertificates, AServerIsFoundByItsAddress) {
    const test::Authority ca;
    const auto client = ca.issue("c", ""), server = ca.issue("s", "IP:127.0.0.1,IP:::1");
    for (const char* name : {"127.0.0.1", "::1"}) {
        Pair pair(certificates(ca, client), certificates(ca, server), name);
        pair.run();
        EXPECT_TRUE(pair.good()) << name << ": " << pair.client_error;
    }
    Pair pair(certificates(ca, client), certificates(ca, server), "127.0.0.2");
    pair.run();
    EXPECT_TRUE(contains(pair.client_error, "IP address mismatch"));
}

TEST(TlsCertificates, OfAnotherAuthorityAreNotTaken) {
    const test::Authority ours, theirs("other CA");
    Pair pair(certificates(ours, ours.issue("c", "")),
              certificates(theirs, theirs.issue("s", "DNS:server.example")));
    pair.run();
    EXPECT_TRUE(contains(pair.client_error, "the other side's certificate is not accepted"));
    Pair reverse(certificates(theirs, theirs.issue("c", "")), [&] {
        Security s = certificates(ours, theirs.issue("s", "DNS:server.example"));
        return s;
    }());
    reverse.run();
    EXPECT_TRUE(contains(reverse.server_error, "the other side's certificate is not accepted"));
    EXPECT_TRUE(contains(reverse.client_error, "does not take this side's certificate"));
}

TEST(TlsCertificates, ExpiredOnesAreNotTaken) {
    const test::Authority ca;
    Pair pair(certificates(ca, ca.issue("c", "", -60)),
              certificates(ca, ca.issue("s", "DNS:server.example")));
    pair.run();
    EXPECT_TRUE(contains(pair.server_error, "certificate has expired"));
    EXPECT_TRUE(contains(pair.client_error, "expired"));
}

TEST(TlsCertificates, AllowedPeersAreSubjectsOrAlternativeNames) {
    const test::Authority ca;
    const auto client =
        ca.issue("client-1", "DNS:n7.rack.example,IP:10.0.0.7,URI:spiffe://cluster/n7");
    const auto server = ca.issue("server-1", "DNS:server.example");
    struct Case {
        const char* allowed;
        bool passes;
    };
    for (const Case& c :
         {Case{"client-1", true}, Case{"CLIENT-1", true}, Case{"n7.rack.example", true},
          Case{"*.rack.example", true}, Case{"10.0.0.7", true}, Case{"spiffe://cluster/n7", true},
          Case{"client-2", false}, Case{"*.example", false}, Case{"rack.example", false}}) {
        Security security = certificates(ca, server);
        security.allowed_peers = {"nobody", c.allowed};
        Pair pair(certificates(ca, client), security);
        pair.run();
        EXPECT_EQ(pair.server_error.empty(), c.passes) << c.allowed << ": " << pair.server_error;
    }
    Security by_list = certificates(ca, client);
    by_list.allowed_peers = {"server-1"};
    Pair pair(by_list, certificates(ca, server), "whatever.example");
    pair.run();
    EXPECT_TRUE(pair.good()) << pair.client_error;
}

TEST(TlsCertificates, KeyAgainstCertificateFailsOnBothSides) {
    const test::Authority ca;
    Pair pair(psk("a", 1), certificates(ca, ca.issue("s", "DNS:server.example")));
    pair.run();
    EXPECT_FALSE(pair.good());
    EXPECT_FALSE(pair.client_error.empty());
    Pair reverse(certificates(ca, ca.issue("c", "")), psk("a", 1));
    reverse.run();
    EXPECT_FALSE(reverse.good());
    EXPECT_FALSE(reverse.server_error.empty());
}

TEST(TlsCertificates, FilesThatAreWrongAreNamed) {
    const test::Authority ca;
    const auto one = ca.issue("a", ""), two = ca.issue("b", "");
    Security security = certificates(ca, one);
    security.certificate = "/nonexistent/cert.pem";
    expect_error(ErrorCode::Argument, "certificate /nonexistent/cert.pem",
                 [&] { make_tls(security, Role::Client); });
    security = certificates(ca, one);
    security.key = two.key;
    expect_error(ErrorCode::Argument, two.key, [&] { make_tls(security, Role::Client); });
    security = certificates(ca, one);
    security.ca = ca.directory().write("text", "no certificate");
    expect_error(ErrorCode::Argument, "CA certificate", [&] { make_tls(security, Role::Client); });
    security.ca.clear();
    expect_error(ErrorCode::Argument, "CA certificate is not given",
                 [&] { make_tls(security, Role::Client); });
}

TEST(Tls, OldVersionsAreNotSpoken) {
    const auto tls = make_tls(psk("a", 1), Role::Server);
    EXPECT_EQ(SSL_CTX_get_min_proto_version(tls->context()), TLS1_3_VERSION);
    EXPECT_EQ(SSL_CTX_get_num_tickets(tls->context()), 0U);
    EXPECT_EQ(SSL_CTX_get_max_early_data(tls->context()), 0U);
}

TEST(Tls, ACutStreamIsNoOrderlyEnd) {
    Pair pair(psk("a", 1), psk("a", 1));
    pair.run();
    ASSERT_TRUE(pair.good());
    ::shutdown(pair.client->fd(), SHUT_RDWR);
    std::byte byte{};
    expect_error(ErrorCode::PeerGone, "without a TLS good-bye", [&] {
        pair.server->read({&byte, 1});
    });
}

TEST(Tls, AnOrderlyEndIsOne) {
    Pair pair(psk("a", 1), psk("a", 1));
    pair.run();
    ASSERT_TRUE(pair.good());
    pair.client->shutdown();
    std::byte byte{};
    EXPECT_TRUE(pair.server->read({&byte, 1}).closed);
}

TEST(Tls, NothingGoesInClear) {
    int fds[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    const auto transport = make_tcp_stream(fds[1]);
    const auto client =
        make_tls_stream(make_tls(psk("a", 1), Role::Client), make_tcp_stream(fds[0]), "s");
    EXPECT_EQ(client->handshake(), Want::Read);
    std::vector<std::byte> seen(8192);
    seen.resize(transport->read(seen).bytes);
    ASSERT_GT(seen.size(), 5U);
    EXPECT_EQ(seen[0], std::byte{0x16});
    const std::string text(reinterpret_cast<const char*>(seen.data()), seen.size());
    EXPECT_EQ(text.find("QPX1"), std::string::npos);
}

TEST(NameMatches, AStarStandsForOneLabel) {
    EXPECT_TRUE(name_matches("*.a.example", "x.a.example"));
    EXPECT_FALSE(name_matches("*.a.example", "x.y.a.example"));
    EXPECT_FALSE(name_matches("*.a.example", ".a.example"));
    EXPECT_FALSE(name_matches("*.a.example", "a.example"));
    EXPECT_FALSE(name_matches("a", "ab"));
}

}  // namespace
}  // namespace qpx::net
