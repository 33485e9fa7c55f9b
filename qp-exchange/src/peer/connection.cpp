// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>

#include <algorithm>
#include <utility>

#include "backend/cm/cm.h"
#include "peer/impl.h"

namespace qpx {

namespace {

std::unique_ptr<Connection::Impl> shake_hands(std::unique_ptr<net::Stream> stream,
                                              const std::string& host, const PeerOptions& options,
                                              net::Deadline deadline,
                                              std::unique_ptr<net::Interrupt> interrupt) {
    if (auto tls = net::make_tls(options.security, net::Role::Client)) {
        stream = net::make_tls_stream(std::move(tls), std::move(stream), host);
    }
    const std::string silent =
        stream->peer_address() +
        " accepted the connection but does not answer: it is busy, or it is not qp-exchange";
    auto session = peer::shake_hands(
        std::move(stream), peer::make_hello(wire::feature_peer, wire::feature_peer, options),
        deadline, silent, silent);
    return std::make_unique<Connection::Impl>(std::move(session), options, std::move(interrupt));
}

/// Connects; with retry_refused retries until the deadline.
template <class Connect>
std::unique_ptr<net::Stream> patiently(const PeerOptions& options, net::Deadline deadline,
                                       Connect connect) {
    constexpr std::chrono::milliseconds pause{100};
    for (;;) {
        try {
            return connect();
        } catch (const Error& error) {
            if (error.code() != ErrorCode::Refused || !options.retry_refused ||
                deadline.at() - net::Clock::now() < pause) {
                throw;
            }
        }
        deadline.pause(pause);
    }
}

}  // namespace

Connection Connection::connect(const std::string& host, std::uint16_t port,
                               const PeerOptions& options) {
    auto interrupt = std::make_unique<net::Interrupt>(options.stop_on_signal);
    const auto deadline = net::Deadline::in(options.timeout, interrupt.get());
    auto stream = patiently(options, deadline, [&] {
        return net::connect_tcp_stream(host, port, options.family, deadline);
    });
    return Connection(
        shake_hands(std::move(stream), host, options, deadline, std::move(interrupt)));
}

Connection Connection::connect(const Url& url, const PeerOptions& options) {
    if (url.host.empty() || url.port == 0) {
        throw Error(ErrorCode::Argument, to_string(url) + ": host and port are needed");
    }
    if (url.scheme == "tcp") {
        return connect(url.host, url.port, options);
    }
    if (url.scheme == "cm") {
        auto interrupt = std::make_unique<net::Interrupt>(options.stop_on_signal);
        const auto deadline = net::Deadline::in(options.timeout, interrupt.get());
        auto stream = patiently(options, deadline, [&] {
            return backend::cm::connect(url.host, url.port, options.family, deadline);
        });
        return Connection(
            shake_hands(std::move(stream), url.host, options, deadline, std::move(interrupt)));
    }
    throw Error(
        ErrorCode::Unsupported,
        to_string(url) + ": two peers meet at tcp:// or cm://; for a group see qpx/group.h");
}

bool should_connect(std::string_view mine, std::string_view theirs) {
    if (mine == theirs) {
        throw Error(ErrorCode::Argument,
                    "both sides are called '" + std::string(mine) + "': give each its own name");
    }
    return mine < theirs;
}

Connection::Connection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

Endpoint Connection::exchange(const Endpoint& mine) {
    auto theirs = impl_->exchange({&mine, 1});
    if (theirs.size() != 1) {
        const std::string why =
            "one side offers 1 queue pair, the other " + std::to_string(theirs.size());
        impl_->refuse(wire::Reason::Mismatch, why);
        throw Error(ErrorCode::Refused, why, static_cast<int>(wire::Reason::Mismatch));
    }
    return std::move(theirs.front());
}

std::vector<Endpoint> Connection::exchange(std::span<const Endpoint> mine) {
    return impl_->exchange(mine);
}
void Connection::send(std::span<const std::byte> message) {
    impl_->send(message);
}
std::vector<std::byte> Connection::receive() {
    return impl_->receive();
}
std::optional<std::vector<std::byte>> Connection::try_receive() {
    return impl_->try_receive();
}
void Connection::cancel() noexcept {
    impl_->cancel();
}
void Connection::barrier() {
    impl_->barrier();
}
void Connection::refuse(const std::string& reason) {
    impl_->refuse(wire::Reason::Application, reason);
}
void Connection::close() {
    impl_->close();
}
void Connection::set_timeout(std::chrono::milliseconds timeout) {
    impl_->set_timeout(timeout);
}
bool Connection::peer_gone() const {
    return impl_->peer_gone();
}
int Connection::fd() const {
    return impl_->fd();
}
std::string Connection::peer_address() const {
    return impl_->stream().peer_address();
}
std::string Connection::local_address() const {
    return impl_->stream().local_address();
}
std::uint16_t Connection::peer_port() const {
    return impl_->stream().peer_port();
}
std::string Connection::peer_name() const {
    return impl_->theirs().name;
}
std::string Connection::peer_identity() const {
    return impl_->stream().identity();
}
bool Connection::secure() const {
    return impl_->stream().secure();
}
std::string Connection::security_text() const {
    return impl_->stream().security_text();
}

}  // namespace qpx
