// SPDX-License-Identifier: BSD-2-Clause
// Streams and acceptors on TCP sockets.
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "net/socket.h"
#include "qpx/error.h"

namespace qpx::net {

bool Stream::wait(bool readable, bool writable, Deadline deadline) {
    if (readable && pending()) {
        return true;
    }
    pollfd ready = {fd(), static_cast<short>((readable ? POLLIN : 0) | (writable ? POLLOUT : 0)),
                    0};
    return deadline.wait({&ready, 1});
}

void end(Stream& stream) noexcept {
    try {
        stream.shutdown();
        std::array<std::byte, 4096> unread{};
        for (int i = 0; i < 16 && stream.read(unread).bytes > 0; ++i) {
        }
    } catch (const std::exception&) {
        // The other side has closed already.
        return;
    }
}

namespace {

class TcpStream final : public Stream {
  public:
    explicit TcpStream(int fd) : fd_(fd) {
        // Messages are small, and the sender waits for an answer.
        set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
        // Detects the death of the peer's host within two minutes.
        set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
        set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
        set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 15);
        set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 6);
        peer_ = net::peer_address(fd);
        local_ = net::local_address(fd);
    }

    Want handshake() override { return Want::Nothing; }

    Io read(std::span<std::byte> into) override {
        const ssize_t count = recv(fd_.get(), into.data(), into.size(), MSG_DONTWAIT);
        if (count > 0) {
            return {.bytes = static_cast<std::size_t>(count)};
        }
        if (count == 0) {
            return {.closed = true};
        }
        return again(Want::Read);
    }

    Io write(std::span<const std::byte> from) override {
        const ssize_t count =
            send(fd_.get(), from.data(), from.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        return count >= 0 ? Io{.bytes = static_cast<std::size_t>(count)} : again(Want::Write);
    }

    void shutdown() noexcept override { ::shutdown(fd_.get(), SHUT_WR); }
    int fd() const override { return fd_.get(); }
    std::string peer_address() const override { return address_text(peer_); }
    std::uint16_t peer_port() const override { return port_of(peer_); }
    std::string local_address() const override { return address_text(local_); }

  private:
    static Io again(Want want) {
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
            return {.want = want};
        }
        throw Error(ErrorCode::PeerGone, "the connection broke: " + errno_text(errno) +
                                             " (the peer's process or host ended)");
    }

    Fd fd_;
    Address peer_, local_;
};

}  // namespace

std::unique_ptr<Stream> make_tcp_stream(int fd) {
    return std::make_unique<TcpStream>(fd);
}

std::unique_ptr<Stream> connect_tcp_stream(const std::string& host, std::uint16_t port, int family,
                                           Deadline deadline) {
    return make_tcp_stream(connect_tcp(resolve(host, port, family), deadline).release());
}

namespace {

class TcpAcceptor final : public Acceptor {
  public:
    TcpAcceptor(const std::string& address, std::uint16_t port, int family)
        : fd_(listen_tcp(address, port, family)), any_(address.empty()) {}

    std::unique_ptr<Stream> accept() override {
        Address peer;
        Fd fd = accept_tcp(fd_.get(), peer);
        return fd.get() < 0 ? nullptr : make_tcp_stream(fd.release());
    }
    int fd() const override { return fd_.get(); }
    std::uint16_t port() const override { return port_of(net::local_address(fd_.get())); }
    std::string url() const override {
        return "tcp://" + (any_ ? "localhost:" + std::to_string(port())
                                : address_port_text(net::local_address(fd_.get())));
    }

  private:
    Fd fd_;
    bool any_;
};

}  // namespace

std::unique_ptr<Acceptor> make_tcp_acceptor(const std::string& address, std::uint16_t port,
                                            int family) {
    return std::make_unique<TcpAcceptor>(address, port, family);
}

}  // namespace qpx::net
