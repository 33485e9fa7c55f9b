// SPDX-License-Identifier: BSD-2-Clause
// Two peers on loopback: the server in the test's thread, the client in another.
#pragma once
#include <arpa/inet.h>

#include <future>
#include <string>
#include <utility>

#include "bytes.h"
#include "net/socket.h"
#include "qpx/peer.h"
#include "wire/messages.h"

namespace qpx::test {

using namespace std::chrono_literals;

inline Endpoint endpoint(std::uint32_t qpn = 7, QpType type = QpType::RC) {
    Endpoint e;
    e.device = "test0";
    e.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};
    e.qpn = qpn;
    e.psn = 0x123456;
    e.type = type;
    return e;
}

inline PeerOptions options(const std::string& name = {}) {
    PeerOptions o;
    o.name = name;
    o.timeout = 20s;
    return o;
}

/// A connected pair. Its calls run on both ends at the same time.
struct Peers {
    explicit Peers(const PeerOptions& at_server = options("server"),
                   const PeerOptions& at_client = options("client"),
                   const std::string& host = "127.0.0.1")
        : listener(host, 0, at_server) {
        auto connecting = std::async(std::launch::async, [&] {
            return Connection::connect(host, listener.port(), at_client);
        });
        server.emplace(listener.accept(20s));
        client.emplace(connecting.get());
    }

    template <class AtServer, class AtClient>
    void both(AtServer at_server, AtClient at_client) {
        auto other = std::async(std::launch::async, [&] { at_client(*client); });
        at_server(*server);
        other.get();
    }

    Listener listener;
    std::optional<Connection> server, client;
};

/// A client that sends raw bytes.
class Raw {
  public:
    explicit Raw(std::uint16_t port)
        : fd_(net::connect_tcp(net::resolve("127.0.0.1", port, 0), net::Deadline::in(20s))) {}
    /// Connects from another address of this host.
    Raw(std::uint16_t port, const std::string& source)
        : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const auto at = [](const std::string& host, std::uint16_t number) {
            sockaddr_in address{};
            address.sin_family = AF_INET;
            address.sin_port = htons(number);
            inet_pton(AF_INET, host.c_str(), &address.sin_addr);
            return address;
        };
        const sockaddr_in from = at(source, 0), to = at("127.0.0.1", port);
        EXPECT_EQ(bind(fd_.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from), 0);
        EXPECT_EQ(connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    }

    void send(const std::vector<std::byte>& bytes) {
        std::size_t sent = 0;
        while (sent < bytes.size()) {
            pollfd ready = {fd_.get(), POLLOUT, 0};
            poll(&ready, 1, 5000);
            const ssize_t count =
                ::send(fd_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
            if (count <= 0) {
                return;
            }
            sent += static_cast<std::size_t>(count);
        }
    }

    /// Receives the next frame; type 0 and no payload at the end of the stream.
    std::pair<wire::Header, std::vector<std::byte>> receive() {
        for (int i = 0; i < 1000; ++i) {
            if (const auto frame = reader_.next()) {
                return {frame->header, {frame->payload.begin(), frame->payload.end()}};
            }
            pollfd ready = {fd_.get(), POLLIN, 0};
            poll(&ready, 1, 20000);
            const auto space = reader_.space();
            const ssize_t count = recv(fd_.get(), space.data(), space.size(), 0);
            if (count <= 0) {
                break;
            }
            reader_.received(static_cast<std::size_t>(count));
        }
        return {};
    }

    wire::Refusal refusal() {
        const auto [header, payload] = receive();
        EXPECT_EQ(header.type, wire::Type::Refuse);
        return wire::decode_refusal(payload);
    }

    static std::vector<std::byte> hello(std::uint32_t nonce = 100,
                                        std::uint64_t required = wire::feature_peer) {
        std::vector<std::byte> bytes;
        wire::encode(
            bytes, wire::Hello{.required = required, .nonce = nonce, .limits = {}, .name = "raw"});
        return bytes;
    }

    /// Exchanges HELLOs. @return the sequence number of this side's next frame
    std::uint32_t shake_hands(std::uint32_t nonce = 100) {
        send(hello(nonce));
        const auto [header, payload] = receive();
        EXPECT_EQ(header.type, wire::Type::Hello);
        return wire::decode_hello(payload).nonce;
    }

    int fd() const { return fd_.get(); }
    void close() { fd_ = net::Fd(); }

  private:
    net::Fd fd_;
    wire::FrameReader reader_{1 << 20};
};

}  // namespace qpx::test
