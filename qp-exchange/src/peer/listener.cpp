// SPDX-License-Identifier: BSD-2-Clause
#include "peer/listener.h"

#include <algorithm>

#include "backend/cm/cm.h"
#include "net/socket.h"
#include "peer/impl.h"

namespace qpx {

namespace {

constexpr std::size_t max_pending = 256, max_pending_of_address = 32, max_told = 100;

/// Time limit of a handshake, even if calls have none, so that no client blocks a place forever.
constexpr std::chrono::milliseconds patience{10'000};
constexpr std::chrono::milliseconds accept_pause{100};  // after running out of descriptors

}  // namespace

Listener::Impl::Impl(std::unique_ptr<net::Acceptor> acceptor, const PeerOptions& options)
    : options_(options),
      tls_(options.security),
      acceptor_(std::move(acceptor)),
      interrupt_(options.stop_on_signal) {
    // Throws for invalid options now, not at the first client.
    peer::make_hello(wire::feature_peer, wire::feature_peer, options);
    readiness_.watch(interrupt_.fd(), true, false);
    watch();
}

Connection Listener::Impl::accept(std::chrono::milliseconds timeout) {
    const auto deadline = net::Deadline::in(timeout, &interrupt_);
    for (;;) {
        if (auto connection = try_accept()) {
            return std::move(*connection);
        }
        pollfd ready = {readiness_.fd(), POLLIN, 0};
        if (!deadline.wait({&ready, 1})) {
            throw Error(ErrorCode::Timeout, "no client came");
        }
    }
}

std::optional<Connection> Listener::Impl::try_accept() {
    interrupt_.check();
    take_connections();
    auto session = step_all();
    drop_slow();
    watch();
    if (!session) {
        return std::nullopt;
    }
    return Connection(std::make_unique<Connection::Impl>(
        std::move(*session), options_, std::make_unique<net::Interrupt>(options_.stop_on_signal)));
}

void Listener::Impl::tell(const std::string& address, const std::string& what) {
    if (told_.size() < max_told) {
        told_.push_back(address + ": " + what);
    }
}

void Listener::Impl::take_connections() {
    while (pending_.size() < max_pending && !paused()) {
        std::unique_ptr<net::Stream> stream;
        try {
            stream = acceptor_->accept();
        } catch (const Error& error) {
            if (!std::exchange(short_of_descriptors_, true)) {
                tell("new clients wait", error.what());
            }
            resume_ = net::Clock::now() + accept_pause;
        }
        if (stream == nullptr) {
            return;
        }
        short_of_descriptors_ = false;
        const std::string address = stream->peer_address(), account = net::network_of(address);
        const auto held = std::count_if(pending_.begin(), pending_.end(), [&](const Pending& p) {
            return net::network_of(p.address) == account;
        });
        const bool busy = static_cast<std::size_t>(held) >= max_pending_of_address;
        std::string why_old;
        const auto tls = tls_.current(&why_old);
        if (!why_old.empty()) {
            tell("this side", why_old);
        }
        if (tls != nullptr && !busy) {
            stream = net::make_tls_stream(tls, std::move(stream));
        }
        Pending pending = {
            {std::move(stream), net::Role::Server,
             peer::make_hello(wire::feature_peer, wire::feature_peer, options_)},
            net::Deadline::in(options_.timeout.count() < 0 ? patience : options_.timeout),
            address,
            net::Want::Read,
            net::Want::Nothing};
        if (busy) {
            const std::string why = "too many unfinished connections from your address";
            pending.handshake.refuse(wire::Reason::Busy, why);
            tell(address, why);
        } else {
            pending_.push_back(std::move(pending));
        }
    }
}

std::optional<peer::Session> Listener::Impl::step_all() {
    for (auto p = pending_.begin(); p != pending_.end();) {
        try {
            p->want = p->handshake.step();
            if (p->want == net::Want::Nothing) {
                readiness_.forget(p->handshake.stream().fd());
                auto session = p->handshake.take();
                pending_.erase(p);
                return session;
            }
            ++p;
        } catch (const Error& error) {
            tell(p->address, error.what());
            p = pending_.erase(p);
        }
    }
    return std::nullopt;
}

void Listener::Impl::drop_slow() {
    std::erase_if(pending_, [&](Pending& p) {
        if (!p.deadline.passed()) {
            return false;
        }
        const std::string why = "sent " + std::to_string(p.handshake.received()) +
                                " bytes of its HELLO and nothing more in time";
        tell(p.address, why);
        p.handshake.refuse(wire::Reason::Timeout, "your HELLO did not come in time");
        return true;
    });
}

bool Listener::Impl::paused() {
    if (resume_ && *resume_ <= net::Clock::now()) {
        resume_.reset();
    }
    return resume_.has_value();
}

void Listener::Impl::watch() {
    std::optional<net::Clock::time_point> at = resume_;
    const auto sooner = [&](net::Clock::time_point other) {
        at = at ? std::min(*at, other) : other;
    };
    const bool pollable = acceptor_->pollable();
    const bool taking = pending_.size() < max_pending && !resume_;
    if (pollable && taking != taking_) {
        readiness_.watch(acceptor_->fd(), taking, false);
        taking_ = taking;
    }
    for (Pending& p : pending_) {
        sooner(p.deadline.at());
        if (pollable && p.want != p.watched) {
            readiness_.watch(p.handshake.stream().fd(), p.want != net::Want::Write,
                             p.want == net::Want::Write);
            p.watched = p.want;
        }
    }
    if (!pollable) {
        sooner(net::Clock::now() + net::Readiness::tick);
    }
    readiness_.wake_at(at);
}

namespace {

std::unique_ptr<net::Acceptor> acceptor_of(const Url& url, const PeerOptions& options) {
    if (url.scheme == "tcp") {
        return net::make_tcp_acceptor(url.host, url.port, options.family);
    }
    if (url.scheme == "cm") {
        return backend::cm::listen(url.host, url.port, options.family);
    }
    throw Error(ErrorCode::Unsupported, to_string(url) + ": a peer listens at tcp:// or cm://");
}

}  // namespace

Listener::Listener(const std::string& address, std::uint16_t port, const PeerOptions& options)
    : impl_(
          std::make_unique<Impl>(net::make_tcp_acceptor(address, port, options.family), options)) {}
Listener::Listener(const Url& url, const PeerOptions& options)
    : impl_(std::make_unique<Impl>(acceptor_of(url, options), options)) {}
Listener::Listener(Listener&&) noexcept = default;
Listener& Listener::operator=(Listener&&) noexcept = default;
Listener::~Listener() = default;

Connection Listener::accept(std::chrono::milliseconds timeout) {
    return impl_->accept(timeout);
}
std::optional<Connection> Listener::try_accept() {
    return impl_->try_accept();
}
void Listener::cancel() noexcept {
    impl_->cancel();
}
std::vector<std::string> Listener::turned_away() {
    return impl_->turned_away();
}
std::uint16_t Listener::port() const {
    return impl_->acceptor().port();
}
std::string Listener::url() const {
    return impl_->acceptor().url();
}
int Listener::fd() const {
    return impl_->fd();
}

}  // namespace qpx
