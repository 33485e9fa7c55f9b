// SPDX-License-Identifier: BSD-2-Clause
#include "backend/cm/cm.h"

#include <fcntl.h>
#include <poll.h>
#include <rdma/rsocket.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "net/socket.h"
#include "qpx/error.h"

namespace qpx::backend::cm {

namespace {

using net::Address;
using net::Deadline;
using net::Io;
using net::Want;

/// Owner of an rsocket.
class Rsocket {
  public:
    explicit Rsocket(int fd = -1) : fd_(fd) {}
    Rsocket(Rsocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Rsocket& operator=(Rsocket&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Rsocket() {
        if (fd_ >= 0) {
            rclose(fd_);
        }
    }
    int get() const { return fd_; }

  private:
    int fd_;
};

bool has_no_cm(int error) {
    return error == ENODEV || error == ENOENT || error == ENOSYS || error == EPROTONOSUPPORT;
}

/// @throws Error(Unsupported) on a host without a connection manager
Rsocket create(int family) {
    Rsocket created(rsocket(family, SOCK_STREAM, 0));
    if (created.get() < 0) {
        const int error = errno;
        throw Error(has_no_cm(error) ? ErrorCode::Unsupported : ErrorCode::Limit,
                    "cm:// does not work on this host: " + net::errno_text(error) +
                        " (needs an RDMA device with a connection manager: of the kernel's, the "
                        "module rdma_ucm)");
    }
    rfcntl(created.get(), F_SETFL, O_NONBLOCK);
    return created;
}

template <class Call>
Address name_of(int fd, Call call) {
    Address address;
    address.length = sizeof(address.storage);
    return call(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.length) == 0
               ? address
               : Address();
}

/// Calls rpoll() until the deadline without a timeout of its own: after one expires, a later call
/// spins forever in librdmacm 44.
int poll_until(pollfd* descriptors, nfds_t count, Deadline deadline) {
    constexpr std::chrono::milliseconds longest{16};
    for (std::chrono::milliseconds pause{1};; pause = std::min(2 * pause, longest)) {
        const int ready = rpoll(descriptors, count, 0);
        if (ready != 0 || deadline.passed()) {
            return ready;
        }
        deadline.pause(pause);
    }
}

/// @return false if the deadline passed
bool wait_for(int fd, short events, Deadline deadline) {
    pollfd ready = {fd, events, 0};
    for (;;) {
        const int count = poll_until(&ready, 1, deadline);
        if (count > 0) {
            return true;
        }
        if (count < 0 && errno != EINTR) {
            throw Error(ErrorCode::PeerGone, "rpoll: " + net::errno_text(errno));
        }
        if (deadline.passed()) {
            return false;
        }
    }
}

class CmStream final : public net::Stream {
  public:
    explicit CmStream(Rsocket socket)
        : socket_(std::move(socket)),
          peer_(name_of(socket_.get(), rgetpeername)),
          local_(name_of(socket_.get(), rgetsockname)) {}

    Want handshake() override { return Want::Nothing; }

    Io read(std::span<std::byte> into) override {
        const ssize_t count = rrecv(socket_.get(), into.data(), into.size(), MSG_DONTWAIT);
        if (count > 0) {
            return {.bytes = static_cast<std::size_t>(count)};
        }
        return count == 0 ? Io{.closed = true} : again(Want::Read);
    }

    Io write(std::span<const std::byte> from) override {
        const ssize_t count = rsend(socket_.get(), from.data(), from.size(), MSG_DONTWAIT);
        return count >= 0 ? Io{.bytes = static_cast<std::size_t>(count)} : again(Want::Write);
    }

    bool wait(bool readable, bool writable, Deadline deadline) override {
        return wait_for(socket_.get(),
                        static_cast<short>((readable ? POLLIN : 0) | (writable ? POLLOUT : 0)),
                        deadline);
    }

    void shutdown() noexcept override { rshutdown(socket_.get(), SHUT_WR); }
    int fd() const override { return socket_.get(); }
    bool pollable() const override { return false; }
    std::string peer_address() const override { return net::address_text(peer_); }
    std::uint16_t peer_port() const override { return net::port_of(peer_); }
    std::string local_address() const override { return net::address_text(local_); }

  private:
    static Io again(Want want) {
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == EINPROGRESS) {
            return {.want = want};
        }
        throw Error(ErrorCode::PeerGone, "the connection broke: " + net::errno_text(errno) +
                                             " (the peer's process or host ended)");
    }

    Rsocket socket_;
    Address peer_, local_;
};

class CmAcceptor final : public net::Acceptor {
  public:
    explicit CmAcceptor(Rsocket socket) : socket_(std::move(socket)) {}

    std::unique_ptr<net::Stream> accept() override {
        Rsocket accepted(raccept(socket_.get(), nullptr, nullptr));
        if (accepted.get() < 0) {
            return nullptr;
        }
        rfcntl(accepted.get(), F_SETFL, O_NONBLOCK);
        return std::make_unique<CmStream>(std::move(accepted));
    }
    int fd() const override { return socket_.get(); }
    bool pollable() const override { return false; }
    std::uint16_t port() const override {
        return net::port_of(name_of(socket_.get(), rgetsockname));
    }
    std::string url() const override {
        return "cm://" + net::address_port_text(name_of(socket_.get(), rgetsockname));
    }

  private:
    Rsocket socket_;
};

int connect_one(int fd, const Address& address, Deadline deadline) {
    if (rconnect(fd, address.get(), address.length) != 0 && errno != EINPROGRESS &&
        errno != EAGAIN) {
        return errno;
    }
    if (!wait_for(fd, POLLOUT, deadline)) {
        return ETIMEDOUT;
    }
    int error = 0;
    socklen_t length = sizeof(error);
    rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    return error;
}

}  // namespace

std::unique_ptr<net::Stream> connect(const std::string& host, std::uint16_t port, int family,
                                     Deadline deadline) {
    Rsocket connected;
    net::try_all(net::resolve(host, port, family), deadline, "cm://",
                 [&](const Address& address, Deadline until) {
                     Rsocket socket = create(address.storage.ss_family);
                     const int error = connect_one(socket.get(), address, until);
                     if (error == 0) {
                         connected = std::move(socket);
                     }
                     return error;
                 });
    return std::make_unique<CmStream>(std::move(connected));
}

std::unique_ptr<net::Acceptor> listen(const std::string& address, std::uint16_t port, int family) {
    const Address where = net::resolve(address, port, family, true).at(0);
    Rsocket socket = create(where.storage.ss_family);
    constexpr int on = 1, backlog = 128;
    rsetsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (rbind(socket.get(), where.get(), where.length) != 0 ||
        rlisten(socket.get(), backlog) != 0) {
        const int error = errno;
        if (has_no_cm(error)) {
            throw Error(ErrorCode::Unsupported, "cannot listen on cm://" +
                                                    net::address_port_text(where) +
                                                    ": no RDMA device has this address");
        }
        throw Error(ErrorCode::Refused, "cannot listen on cm://" + net::address_port_text(where) +
                                            ": " + net::why_no_listen(error, port));
    }
    return std::make_unique<CmAcceptor>(std::move(socket));
}

}  // namespace qpx::backend::cm
