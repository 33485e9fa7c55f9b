// SPDX-License-Identifier: BSD-2-Clause
// Tests of two peers with security on both sides or on one side only.
#include <algorithm>
#include <thread>

#include "certificates.h"
#include "loopback.h"
#include "temporary.h"

namespace qpx {
namespace {

using test::endpoint;
using test::expect_error;
using test::options;
using test::Peers;
using test::Raw;
using namespace std::chrono_literals;

PeerOptions with_key(unsigned char fill, const std::string& identity = "cluster") {
    PeerOptions o = options();
    o.security.mode = Security::Mode::Psk;
    o.security.psk = {{identity, std::vector<std::byte>(32, std::byte{fill})}};
    return o;
}

PeerOptions with_certificate(const test::Authority& ca, const std::string& name) {
    PeerOptions o = options();
    const auto files = ca.issue(name, "DNS:" + name + ",IP:127.0.0.1");
    o.security.mode = Security::Mode::Certificates;
    o.security.certificate = files.certificate;
    o.security.key = files.key;
    o.security.ca = ca.ca();
    return o;
}

void exchange_all(Peers& peers) {
    std::vector<Endpoint> list(64, endpoint());
    for (auto& e : list) {
        e.application.resize(40 << 10, std::byte{9});
    }
    const auto talk = [&](Connection& c) {
        EXPECT_EQ(c.exchange(list), list);
        c.barrier();
        c.send(test::bytes_of("secret"));
        EXPECT_EQ(c.receive(), test::bytes_of("secret"));
    };
    peers.both(talk, talk);
}

TEST(Secure, PreSharedKeyCarriesEverything) {
    Peers peers(with_key(1), with_key(1));
    EXPECT_TRUE(peers.client->secure());
    EXPECT_TRUE(peers.server->secure());
    EXPECT_EQ(peers.server->peer_identity(), "cluster");
    exchange_all(peers);
    peers.server.reset();
    expect_error(ErrorCode::PeerGone, "has closed the connection",
                 [&] { peers.client->receive(); });
}

TEST(Secure, CertificatesCarryEverything) {
    const test::Authority ca;
    Peers peers(with_certificate(ca, "server.example"), with_certificate(ca, "client.example"));
    EXPECT_EQ(peers.server->peer_identity(), "client.example");
    EXPECT_EQ(peers.client->peer_identity(), "server.example");
    exchange_all(peers);
}

/// Returns the errors of server and client, which must fail to connect.
std::pair<std::string, std::string> both_errors(const PeerOptions& at_server,
                                                const PeerOptions& at_client,
                                                ErrorCode client_code = ErrorCode::Auth) {
    Listener listener("127.0.0.1", 0, at_server);
    auto connecting = std::async(std::launch::async, [&]() -> std::string {
        try {
            Connection::connect("127.0.0.1", listener.port(), at_client);
            return "connected";
        } catch (const Error& error) {
            EXPECT_EQ(to_string(error.code()), std::string(to_string(client_code))) << error.what();
            return error.what();
        }
    });
    std::string server;
    for (int i = 0; i < 100 && server.empty(); ++i) {
        try {
            listener.accept(100ms);
            server = "connected";
        } catch (const Error&) {
            const auto told = listener.turned_away();
            server = told.empty() ? "" : told.front();
        }
    }
    return {server, connecting.get()};
}

::testing::AssertionResult contains(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos
               ? ::testing::AssertionSuccess()
               : ::testing::AssertionFailure() << "\"" << text << "\"";
}

TEST(Secure, APlainClientIsToldToTurnItOn) {
    const auto [server, client] = both_errors(with_key(1), options());
    EXPECT_TRUE(contains(server, "the other side does not speak TLS"));
    EXPECT_TRUE(contains(client, "the peer refused: TLS is required here"));
}

TEST(Secure, APlainServerTellsASecureClient) {
    const auto [server, client] = both_errors(options(), with_key(1));
    EXPECT_TRUE(contains(server, "the other side speaks TLS, this side has no security"));
    EXPECT_TRUE(contains(client, "the peer refused: the other side speaks TLS"));
}

TEST(Secure, AnotherKeyIsToldOnBothSides) {
    const auto [server, client] = both_errors(with_key(1), with_key(2));
    EXPECT_TRUE(contains(server, "another key or identity"));
    EXPECT_TRUE(contains(client, "another key or identity"));
}

TEST(Secure, AnUnlistedPeerIsToldInWords) {
    const test::Authority ca;
    PeerOptions server = with_certificate(ca, "server.example");
    server.security.allowed_peers = {"n1.example", "n2.example"};
    const auto [at_server, at_client] = both_errors(server, with_certificate(ca, "n3.example"));
    EXPECT_TRUE(contains(at_server, "\"n3.example\" is not in the list of allowed peers"));
    EXPECT_TRUE(contains(at_client, "the peer refused: \"n3.example\" is not in the list"));
}

TEST(Secure, ACertificateOfAnotherAuthorityIsToldOnBothSides) {
    const test::Authority ours, theirs;
    PeerOptions client = with_certificate(theirs, "client.example");
    client.security.ca = ours.ca();
    const auto [at_server, at_client] =
        both_errors(with_certificate(ours, "server.example"), client);
    EXPECT_TRUE(contains(at_server, "the other side's certificate is not accepted"));
    EXPECT_TRUE(contains(at_client, "does not take this side's certificate"));
}

TEST(Secure, BothModesTogetherFailInWords) {
    const test::Authority ca;
    const auto [at_server, at_client] =
        both_errors(with_certificate(ca, "server.example"), with_key(1));
    EXPECT_FALSE(at_server.empty());
    EXPECT_TRUE(contains(at_client, "TLS"));
}

TEST(Secure, AListenerTakesKeysFromItsChangedFile) {
    const test::Directory directory;
    const auto write = [&](const char* digit) {
        std::string key = "node:";
        for (int i = 0; i < 64; ++i) {
            key += digit;
        }
        return directory.write("keys", key + "\n");
    };
    PeerOptions server = options(), client = options();
    server.security = parse_security("psk:" + write("1"));
    client.security = parse_security("psk:" + write("2"));
    Listener listener("127.0.0.1", 0, server);
    bool in = false;
    for (int i = 0; i < 100 && !in; ++i) {
        auto connecting = std::async(std::launch::async, [&] {
            try {
                Connection::connect("127.0.0.1", listener.port(), client).barrier();
                return true;
            } catch (const Error&) {
                return false;
            }
        });
        try {
            listener.accept(200ms).barrier();
        } catch (const Error&) {
            std::this_thread::sleep_for(50ms);
        }
        in = connecting.get();
    }
    EXPECT_TRUE(in) << "the new key is not taken";
    // An unusable file leaves the keys unchanged and is reported.
    directory.write("keys", "nonsense\n");
    std::this_thread::sleep_for(300ms);
    auto connecting = std::async(std::launch::async, [&] {
        Connection::connect("127.0.0.1", listener.port(), client).barrier();
    });
    listener.accept(20s).barrier();
    connecting.get();
    const auto told = listener.turned_away();
    EXPECT_TRUE(std::any_of(told.begin(), told.end(), [](const std::string& line) {
        return line.find("changed security files are not used") != std::string::npos;
    }));
}

/// A Listener whose security files are replaced, and clients that connect one after the other.
class Renewal : public ::testing::Test {
  protected:
    struct Met {
        std::string server;  ///< the name in its certificate
        std::string error;   ///< why the connection failed
    };

    Renewal() {
        PeerOptions o = options();
        o.security = files.security();
        listener.emplace("127.0.0.1", 0, o);
    }

    /// Waits until the listener checks its files again, then connects a client.
    Met meet(const PeerOptions& client) {
        std::this_thread::sleep_for(300ms);
        auto connecting = std::async(std::launch::async, [&]() -> Met {
            try {
                Connection c = Connection::connect("127.0.0.1", listener->port(), client);
                c.barrier();
                return {c.peer_identity(), {}};
            } catch (const Error& error) {
                return {{}, error.what()};
            }
        });
        while (connecting.wait_for(0s) != std::future_status::ready) {
            try {
                listener->accept(50ms).barrier();
            } catch (const Error&) {
                // No client came, or one that is refused.
            }
        }
        return connecting.get();
    }

    /// Returns the listener's messages about its files since the last call.
    std::string told() {
        std::string all;
        for (const std::string& line : listener->turned_away()) {
            if (line.find("changed security files are not used") != std::string::npos) {
                all += line + "\n";
            }
        }
        return all;
    }

    const test::Authority old_ca{"old CA"}, new_ca{"new CA"};
    const PeerOptions of_old = with_certificate(old_ca, "client"),
                      of_new = with_certificate(new_ca, "client");
    const test::RenewedFiles files{old_ca, old_ca.issue("first", "IP:127.0.0.1")};
    std::optional<Listener> listener;
};

TEST_F(Renewal, CertificateAndKeyAreTakenForClientsFromThenOn) {
    auto connecting = std::async(std::launch::async, [&] {
        return Connection::connect("127.0.0.1", listener->port(), of_old);
    });
    Connection server = listener->accept(20s), client = connecting.get();
    files.renew(old_ca, old_ca.issue("second", "IP:127.0.0.1"));
    EXPECT_EQ(meet(of_old).server, "second");
    EXPECT_EQ(told(), "");
    // The earlier connection still works.
    EXPECT_EQ(client.peer_identity(), "first");
    server.send(test::bytes_of("still here"));
    EXPECT_EQ(client.receive(), test::bytes_of("still here"));
}

TEST_F(Renewal, AnotherAuthorityDecidesWhoMayComeFromThenOn) {
    EXPECT_EQ(meet(of_old).server, "first");
    EXPECT_NE(meet(of_new).error, "");
    files.renew(new_ca, new_ca.issue("second", "IP:127.0.0.1"));
    EXPECT_EQ(meet(of_new).server, "second");
    EXPECT_NE(meet(of_old).error, "");
}

TEST_F(Renewal, FilesThatCannotBeUsedAreNamedOnceAndTheFormerStay) {
    for (const std::string& path :
         {files.security().certificate, files.security().key, files.security().ca}) {
        files.spoil(path);
        EXPECT_EQ(meet(of_old).server, "first") << path;
        const std::string why = told();
        EXPECT_TRUE(contains(why, path));
        EXPECT_EQ(std::count(why.begin(), why.end(), '\n'), 1) << why;
        EXPECT_EQ(meet(of_old).server, "first") << path;
        EXPECT_EQ(told(), "") << path;
        files.renew(old_ca, old_ca.issue("first", "IP:127.0.0.1"));
        EXPECT_EQ(meet(of_old).server, "first") << path;
        EXPECT_EQ(told(), "") << path;
    }
}

TEST_F(Renewal, ACertificateIsTakenWhenItsKeyIsThere) {
    const auto second = old_ca.issue("second", "IP:127.0.0.1");
    files.replace(second.certificate, files.security().certificate);
    EXPECT_EQ(meet(of_old).server, "first");
    EXPECT_TRUE(contains(told(), "private key"));
    files.replace(second.key, files.security().key);
    EXPECT_EQ(meet(of_old).server, "second");
    EXPECT_EQ(told(), "");
    std::filesystem::remove(files.security().key);
    EXPECT_EQ(meet(of_old).server, "second");
    EXPECT_TRUE(contains(told(), files.security().key));
}

TEST(Secure, NoEndpointCrossesInClear) {
    // A proxy between the two records every byte of both directions.
    Listener listener("127.0.0.1", 0, with_key(1));
    const net::Fd front = net::listen_tcp("127.0.0.1", 0, 0);
    const std::uint16_t front_port = net::port_of(net::local_address(front.get()));
    std::string recorded;
    auto recording = std::async(std::launch::async, [&] {
        net::Address peer;
        pollfd waiting = {front.get(), POLLIN, 0};
        poll(&waiting, 1, 20000);
        const net::Fd in = net::accept_tcp(front.get(), peer);
        const net::Fd out =
            net::connect_tcp(net::resolve("127.0.0.1", listener.port(), 0), net::Deadline::in(20s));
        for (int open = 2; open > 0;) {
            pollfd ready[2] = {{in.get(), POLLIN, 0}, {out.get(), POLLIN, 0}};
            if (poll(ready, 2, 20000) <= 0) {
                return;
            }
            for (int i = 0; i < 2; ++i) {
                char bytes[4096];
                const ssize_t count = ready[i].revents != 0
                                          ? recv(ready[i].fd, bytes, sizeof(bytes), MSG_DONTWAIT)
                                          : -1;
                if (count == 0) {
                    shutdown(ready[1 - i].fd, SHUT_WR);
                    return;
                }
                if (count > 0) {
                    recorded.append(bytes, static_cast<std::size_t>(count));
                    ::send(ready[1 - i].fd, bytes, static_cast<std::size_t>(count), MSG_NOSIGNAL);
                }
            }
        }
    });
    Endpoint e = endpoint();
    e.regions = {{0x1122334455667788, 1, 0xcafebabe, "a-tag-to-find"}};
    auto connecting = std::async(std::launch::async, [&] {
        Connection c = Connection::connect("127.0.0.1", front_port, with_key(1));
        EXPECT_EQ(c.exchange(e), e);
        c.barrier();
    });
    {
        Connection c = listener.accept(20s);
        EXPECT_EQ(c.exchange(e), e);
        c.barrier();
        connecting.wait();
    }
    recording.wait();
    EXPECT_GT(recorded.size(), 500U);
    for (const char* words : {"QPX1", "a-tag-to-find", "test0", "\x11\x22\x33\x44\x55\x66\x77\x88",
                              "\xca\xfe\xba\xbe"}) {
        EXPECT_EQ(recorded.find(words), std::string::npos) << words;
    }
}

TEST(Secure, ASlowTlsClientHoldsNobodyUp) {
    Listener listener("127.0.0.1", 0, with_key(1));
    Raw slow(listener.port());
    slow.send(test::hex("1603010100"));
    auto connecting = std::async(std::launch::async, [&] {
        return Connection::connect("127.0.0.1", listener.port(), with_key(1));
    });
    EXPECT_TRUE(listener.accept(15s).secure()) << "and the slow one has 20 s";
    connecting.wait();
}

}  // namespace
}  // namespace qpx
