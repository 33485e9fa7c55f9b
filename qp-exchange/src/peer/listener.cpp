// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <list>
#include <utility>

#include "backend/cm/cm.h"
#include "net/socket.h"
#include "peer/impl.h"

namespace qpx {

namespace {

constexpr std::size_t max_pending = 256, max_pending_of_address = 32, max_told = 100;

/// For a handshake, also when calls have no limit: nobody may hold a place for ever.
constexpr std::chrono::milliseconds patience{10'000};

struct Pending {
    peer::Handshake handshake;
    net::Deadline deadline;
    std::string address;
    net::Want want;
};

}  // namespace

class Listener::Impl {
  public:
    Impl(std::unique_ptr<net::Acceptor> acceptor, const PeerOptions& options)
        : options_(options),
          tls_(net::make_tls(options.security, net::Role::Server)),
          acceptor_(std::move(acceptor)) {
        // What is wrong with the options is told now, not to the first client.
        peer::make_hello(wire::feature_peer, wire::feature_peer, options);
    }

    Connection accept(net::Deadline deadline) {
        for (;;) {
            take_connections();
            if (auto session = step_all()) {
                return Connection(
                    std::make_unique<Connection::Impl>(std::move(*session), options_));
            }
            drop_slow();
            if (deadline.passed()) {
                throw Error(ErrorCode::Timeout, "no client came");
            }
            wait(deadline);
        }
    }

    std::vector<std::string> turned_away() { return std::exchange(told_, {}); }
    const net::Acceptor& acceptor() const { return *acceptor_; }

  private:
    void tell(const std::string& address, const std::string& what) {
        if (told_.size() < max_told) {
            told_.push_back(address + ": " + what);
        }
    }

    void take_connections() {
        while (pending_.size() < max_pending) {
            auto stream = acceptor_->accept();
            if (stream == nullptr) {
                return;
            }
            const std::string address = stream->peer_address(), account = net::network_of(address);
            const auto held = std::count_if(
                pending_.begin(), pending_.end(),
                [&](const Pending& p) { return net::network_of(p.address) == account; });
            const bool busy = static_cast<std::size_t>(held) >= max_pending_of_address;
            if (tls_ != nullptr && !busy) {
                stream = net::make_tls_stream(tls_, std::move(stream));
            }
            Pending pending = {
                {std::move(stream), net::Role::Server,
                 peer::make_hello(wire::feature_peer, wire::feature_peer, options_)},
                net::Deadline::in(options_.timeout.count() < 0 ? patience : options_.timeout),
                address,
                net::Want::Read};
            if (busy) {
                const std::string why = "too many unfinished connections from your address";
                pending.handshake.refuse(wire::Reason::Busy, why);
                tell(address, why);
            } else {
                pending_.push_back(std::move(pending));
            }
        }
    }

    /// One step for each; the first that is done.
    std::optional<peer::Session> step_all() {
        for (auto p = pending_.begin(); p != pending_.end();) {
            try {
                p->want = p->handshake.step();
                if (p->want == net::Want::Nothing) {
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

    void drop_slow() {
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

    void wait(net::Deadline deadline) {
        std::vector<pollfd> ready;
        // A negative descriptor is one that poll() passes by.
        ready.push_back({pending_.size() < max_pending ? acceptor_->fd() : -1, POLLIN, 0});
        for (const Pending& p : pending_) {
            ready.push_back({p.handshake.stream().fd(),
                             static_cast<short>(p.want == net::Want::Write ? POLLOUT : POLLIN), 0});
            deadline = net::Deadline(std::min(deadline.at(), p.deadline.at()));
        }
        acceptor_->poll(ready.data(), ready.size(), deadline.poll_ms());
    }

    PeerOptions options_;
    std::shared_ptr<const net::Tls> tls_;
    std::unique_ptr<net::Acceptor> acceptor_;
    std::list<Pending> pending_;
    std::vector<std::string> told_;
};

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
    return impl_->accept(net::Deadline::in(timeout));
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
    return impl_->acceptor().fd();
}

}  // namespace qpx
