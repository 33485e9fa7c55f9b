// SPDX-License-Identifier: BSD-2-Clause
#include "service/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <unordered_map>
#include <utility>

#include "net/socket.h"
#include "peer/handshake.h"
#include "service/http.h"
#include "service/link.h"

namespace qpx::service {
namespace {

constexpr int accept_at_a_time = 64;
constexpr size_t most_http = 32;
constexpr std::chrono::seconds http_timeout{5};
constexpr std::chrono::milliseconds accept_pause{100};  // after running out of descriptors

// Data of epoll events: kind in the upper 32 bits, number in the lower.
enum class Kind : uint32_t { Listener, Stop, HttpListener, Link, Http };
uint64_t token(Kind kind, uint32_t number) {
    return uint64_t{static_cast<uint32_t>(kind)} << 32 | number;
}

}  // namespace

class Server::Impl {
  public:
    explicit Impl(ServerOptions options)
        : options_(std::move(options)),
          registry_(options_.limits, options_.authorize),
          tls_(options_.security),
          listener_(net::listen_tcp(options_.address, options_.port, options_.family)),
          epoll_(epoll_create1(EPOLL_CLOEXEC)),
          stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        PeerOptions peer;
        peer.name = "qpxd";
        peer.limits.max_frame = static_cast<uint32_t>(options_.limits.max_value + beside_value);
        hello_ = peer::make_hello(wire::feature_service, wire::feature_service, peer);
        watch(listener_.get(), EPOLLIN, token(Kind::Listener, 0), EPOLL_CTL_ADD);
        watch(stop_.get(), EPOLLIN, token(Kind::Stop, 0), EPOLL_CTL_ADD);
        if (!options_.metrics.empty()) {
            http_listener_ = listen_http(options_.metrics);
            watch(http_listener_.get(), EPOLLIN, token(Kind::HttpListener, 0), EPOLL_CTL_ADD);
        }
    }

    ~Impl() {
        if (options_.metrics.rfind("unix:", 0) == 0) {
            unlink(options_.metrics.c_str() + 5);
        }
    }

    void run();
    void stop() noexcept {
        const uint64_t one = 1;
        // Fails only if the counter is full, that is, set already.
        [[maybe_unused]] const ssize_t count = write(stop_.get(), &one, sizeof one);
    }
    uint16_t port() const { return net::port_of(net::local_address(listener_.get())); }
    uint16_t metrics_port() const {
        return http_listener_.get() < 0 || options_.metrics.rfind("unix:", 0) == 0
                   ? 0
                   : net::port_of(net::local_address(http_listener_.get()));
    }

  private:
    using Clock = std::chrono::steady_clock;
    /// Time to check a link; `serial` tells whether the slot still has the same link.
    struct Timer {
        Time at;
        uint32_t link;
        uint64_t serial;
    };
    struct Slot {
        std::unique_ptr<Link> link;
        uint64_t serial = 0;
        bool write_watched = false;
        bool stall_watched = false;
        bool idle_watched = false;
        bool silence_watched = false;
        Time silence_from{};
    };

    void watch(int fd, uint32_t events, uint64_t data, int operation) {
        epoll_event event{};
        event.events = events;
        event.data.u64 = data;
        if (epoll_ctl(epoll_.get(), operation, fd, &event) != 0) {
            throw Error(ErrorCode::Limit, std::string("epoll_ctl: ") + std::strerror(errno));
        }
    }
    void log(LogLevel level, const std::string& text) const {
        if (options_.log) {
            options_.log(level, text);
        }
    }

    int wait_ms() const;
    void dispatch(uint64_t data);
    void accept_links();
    void watch_listeners(uint32_t events);
    void pause_accept(const Error& error);
    void accept_link(net::Fd fd, const net::Address& peer);
    void turn_away(net::Fd fd, const std::string& address, const std::string& why);
    void step(uint32_t number);
    void flush_ready();
    void after(uint32_t number, Link::State state);
    void end(uint32_t number);
    void expire();
    void expire_idle();
    void expire_silent();
    std::chrono::milliseconds keepalive() const {
        return std::max(std::chrono::seconds(1), options_.keepalive);
    }
    bool is_fair(uint32_t held) const;
    void accept_http();
    void step_http(uint32_t number);

    ServerOptions options_;
    Registry registry_;
    net::TlsFiles tls_;
    wire::Hello hello_;
    net::Fd listener_, http_listener_, epoll_, stop_;
    bool stopping_ = false;
    std::optional<Time> resume_accept_;
    std::vector<Slot> slots_;
    std::vector<uint32_t> free_;
    std::vector<uint32_t> slot_of_client_;
    std::vector<uint32_t> again_;  ///< links with bytes in TLS's buffer
    std::deque<Timer> handshakes_, stalls_, idle_, silences_;
    std::unordered_map<std::string, uint32_t> per_network_;  ///< links, by net::network_of()
    std::unordered_map<uint32_t, std::unique_ptr<HttpLink>> http_;
    uint32_t next_http_ = 0;
    uint64_t next_serial_ = 1;
    uint32_t links_ = 0;
    Time now_ = Clock::now();
};

void Server::Impl::run() {
    std::array<epoll_event, 512> events{};
    while (!stopping_) {
        const int count =
            epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms());
        if (count < 0 && errno != EINTR) {
            throw Error(ErrorCode::Limit, std::string("epoll_wait: ") + std::strerror(errno));
        }
        now_ = Clock::now();
        for (int i = 0; i < count; ++i) {
            dispatch(events[static_cast<size_t>(i)].data.u64);
        }
        for (uint32_t number : std::exchange(again_, {})) {
            if (slots_[number].link) {
                step(number);
            }
        }
        registry_.tick(now_);
        flush_ready();
        expire();
    }
    for (uint32_t number = 0; number < slots_.size(); ++number) {
        if (slots_[number].link) {
            slots_[number].link->refuse(wire::Reason::Busy, "qpxd is stopping", now_);
            end(number);
        }
    }
}

int Server::Impl::wait_ms() const {
    if (!again_.empty()) {
        return 0;
    }
    Time next = Time::max();
    for (const auto* timers : {&handshakes_, &stalls_, &idle_, &silences_}) {
        if (!timers->empty()) {
            next = std::min(next, timers->front().at);
        }
    }
    next = std::min(next, registry_.next_tick().value_or(Time::max()));
    next = std::min(next, resume_accept_.value_or(Time::max()));
    if (!http_.empty()) {
        next = std::min(next, now_ + std::chrono::seconds(1));
    }
    return net::Deadline(next).poll_ms();
}

void Server::Impl::dispatch(uint64_t data) {
    const auto number = static_cast<uint32_t>(data);
    switch (static_cast<Kind>(data >> 32)) {
        case Kind::Listener:
            accept_links();
            break;
        case Kind::Stop:
            stopping_ = true;
            break;
        case Kind::HttpListener:
            accept_http();
            break;
        case Kind::Link:
            // The link may have ended earlier in this batch.
            if (slots_[number].link) {
                step(number);
            }
            break;
        case Kind::Http:
            step_http(number);
            break;
    }
}

void Server::Impl::accept_links() {
    for (int i = 0; i < accept_at_a_time; ++i) {
        net::Address peer;
        try {
            net::Fd fd = net::accept_tcp(listener_.get(), peer);
            if (fd.get() < 0) {
                return;
            }
            accept_link(std::move(fd), peer);
        } catch (const Error& error) {
            pause_accept(error);
            return;
        }
    }
}

void Server::Impl::watch_listeners(uint32_t events) {
    watch(listener_.get(), events, token(Kind::Listener, 0), EPOLL_CTL_MOD);
    if (http_listener_.get() >= 0) {
        watch(http_listener_.get(), events, token(Kind::HttpListener, 0), EPOLL_CTL_MOD);
    }
}

// A listener stays ready while it has a connection that cannot be accepted.
void Server::Impl::pause_accept(const Error& error) {
    log(LogLevel::Warning, error.what());
    watch_listeners(0);
    resume_accept_ = now_ + accept_pause;
}

void Server::Impl::accept_link(net::Fd fd, const net::Address& peer) {
    ++registry_.counters().connections;
    const std::string host = net::address_text(peer);  // as Link::host()
    if (links_ >= options_.limits.max_clients) {
        turn_away(std::move(fd), host,
                  "qpxd serves " + std::to_string(links_) +
                      " clients, the most it is allowed (--max-clients)");
        return;
    }
    const std::string network = net::network_of(host);
    if (const auto found = per_network_.find(network);
        found != per_network_.end() && found->second >= options_.limits.max_clients_per_address) {
        turn_away(std::move(fd), host,
                  std::to_string(found->second) + " clients of " +
                      (network == host ? "this address" : network + "/64") +
                      ", the most allowed (--max-clients-per-address)");
        return;
    }
    if (const auto found = per_network_.find(network);
        found != per_network_.end() && !is_fair(found->second)) {
        ++registry_.counters().refused_share;
        turn_away(std::move(fd), host,
                  "qpxd is nearly full, and " + std::to_string(found->second) + " of " +
                      std::to_string(options_.limits.max_clients) +
                      " connections are from your address (--max-clients)");
        return;
    }
    const int raw = fd.get();
    auto stream = net::make_tcp_stream(fd.release());
    const int seconds = static_cast<int>(options_.keepalive.count());
    net::set_option(raw, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, seconds));
    net::set_option(raw, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, seconds / 3));
    net::set_option(raw, IPPROTO_TCP, TCP_KEEPCNT, 3);
    std::string why_old;
    const auto tls = tls_.current(&why_old);
    if (!why_old.empty()) {
        log(LogLevel::Warning, why_old);
    }
    if (tls) {
        stream = net::make_tls_stream(tls, std::move(stream));
    }
    // Each conversation has its own sequence numbers, against replay.
    hello_.nonce = peer::make_hello(0, 0, {}).nonce;
    uint32_t number = 0;
    if (free_.empty()) {
        number = static_cast<uint32_t>(slots_.size());
        slots_.emplace_back();
    } else {
        number = free_.back();
        free_.pop_back();
    }
    Slot& slot = slots_[number];
    slot = {std::make_unique<Link>(std::move(stream), hello_, registry_), next_serial_++};
    ++links_;
    ++per_network_[network];
    watch(raw, EPOLLIN, token(Kind::Link, number), EPOLL_CTL_ADD);
    handshakes_.push_back({now_ + options_.handshake_timeout, number, slot.serial});
    step(number);
}

// Returns false if a client with `held` connections from its network must not get one of the last
// eighth of the places: these are for networks that hold less than half of all.
bool Server::Impl::is_fair(uint32_t held) const {
    const uint32_t most = options_.limits.max_clients;
    return most - links_ > most / 8 || held < most / 2;
}

void Server::Impl::turn_away(net::Fd fd, const std::string& address, const std::string& why) {
    ++registry_.counters().refused_busy;
    ++registry_.counters().connections_closed;
    log(LogLevel::Debug, address + " turned away: " + why);
    auto stream = net::make_tcp_stream(fd.release());
    peer::Handshake(std::move(stream), net::Role::Server, hello_).refuse(wire::Reason::Busy, why);
}

void Server::Impl::step(uint32_t number) {
    Link& link = *slots_[number].link;
    const bool handshaking = link.handshaking();
    Link::State state = link.step(now_);
    if (state == Link::State::Open && handshaking && link.client()) {
        if (*link.client() >= slot_of_client_.size()) {
            slot_of_client_.resize(*link.client() + 1);
        }
        slot_of_client_[*link.client()] = number;
    }
    if (state == Link::State::Open && link.wants_write() && !link.handshaking()) {
        state = link.flush(now_);
    }
    after(number, state);
}

void Server::Impl::flush_ready() {
    for (ClientId client : registry_.take_ready()) {
        const uint32_t number = slot_of_client_[client];
        Link* link = slots_[number].link.get();
        // A client whose socket is full is served once it is writable.
        if (link && link->client() == client && !link->wants_write()) {
            after(number, link->flush(now_));
        }
    }
}

void Server::Impl::after(uint32_t number, Link::State state) {
    if (state == Link::State::Closed) {
        end(number);
        return;
    }
    Slot& slot = slots_[number];
    if (slot.link->wants_write() != slot.write_watched) {
        slot.write_watched = slot.link->wants_write();
        watch(slot.link->fd(), EPOLLIN | (slot.write_watched ? uint32_t{EPOLLOUT} : 0),
              token(Kind::Link, number), EPOLL_CTL_MOD);
    }
    if (!slot.idle_watched && slot.link->client() &&
        registry_.jobless_since(*slot.link->client())) {
        slot.idle_watched = true;
        idle_.push_back({now_ + options_.join_timeout, number, slot.serial});
    }
    if (!slot.silence_watched && !slot.link->handshaking()) {
        slot.silence_watched = true;
        slot.silence_from = now_;
        silences_.push_back({now_ + keepalive() / 2, number, slot.serial});
    }
    if (slot.link->wants_step()) {
        again_.push_back(number);
    }
    if (slot.link->stalled_since() && !slot.stall_watched) {
        slot.stall_watched = true;
        stalls_.push_back(
            {*slot.link->stalled_since() + options_.frame_timeout, number, slot.serial});
    }
}

void Server::Impl::end(uint32_t number) {
    Slot& slot = slots_[number];
    log(LogLevel::Debug, slot.link->address() + ": " + slot.link->end());
    const auto found = per_network_.find(net::network_of(slot.link->host()));
    if (--found->second == 0) {
        per_network_.erase(found);
    }
    // Closing the descriptor takes it out of epoll.
    slot = {};
    free_.push_back(number);
    --links_;
    ++registry_.counters().connections_closed;
}

void Server::Impl::expire() {
    while (!handshakes_.empty() && handshakes_.front().at <= now_) {
        const Timer timer = handshakes_.front();
        handshakes_.pop_front();
        Slot& slot = slots_[timer.link];
        if (slot.link && slot.serial == timer.serial && slot.link->handshaking()) {
            ++registry_.counters().refused_slow;
            ++registry_.counters().refused_handshake;
            slot.link->refuse(wire::Reason::Timeout, "the handshake took too long", now_);
            end(timer.link);
        }
    }
    while (!stalls_.empty() && stalls_.front().at <= now_) {
        const Timer timer = stalls_.front();
        stalls_.pop_front();
        Slot& slot = slots_[timer.link];
        if (!slot.link || slot.serial != timer.serial) {
            continue;
        }
        slot.stall_watched = false;
        const auto since = slot.link->stalled_since();
        if (since && *since + options_.frame_timeout <= now_) {
            ++registry_.counters().stalled_frames;
            slot.link->refuse(wire::Reason::Timeout,
                              "a message was begun and not completed in time", now_);
            end(timer.link);
        } else if (since) {
            slot.stall_watched = true;
            const Timer again = {*since + options_.frame_timeout, timer.link, timer.serial};
            stalls_.insert(
                std::upper_bound(stalls_.begin(), stalls_.end(), again,
                                 [](const Timer& a, const Timer& b) { return a.at < b.at; }),
                again);
        }
    }
    expire_idle();
    expire_silent();
    if (resume_accept_ && *resume_accept_ <= now_) {
        resume_accept_.reset();
        watch_listeners(EPOLLIN);
    }
    for (auto it = http_.begin(); it != http_.end();) {
        const bool late = it->second->since() + http_timeout <= now_;
        registry_.counters().http_refused += late ? 1 : 0;
        it = late ? http_.erase(it) : std::next(it);
    }
}

// Closes connections that have been in no job for join_timeout.
void Server::Impl::expire_idle() {
    while (!idle_.empty() && idle_.front().at <= now_) {
        const Timer timer = idle_.front();
        idle_.pop_front();
        Slot& slot = slots_[timer.link];
        if (!slot.link || slot.serial != timer.serial) {
            continue;
        }
        slot.idle_watched = false;
        const auto since = registry_.jobless_since(*slot.link->client());
        if (since && *since + options_.join_timeout <= now_) {
            ++registry_.counters().refused_idle;
            slot.link->refuse(wire::Reason::Timeout, "this connection has joined no job in time",
                              now_);
            end(timer.link);
        } else if (since) {
            slot.idle_watched = true;
            idle_.push_back({now_ + options_.join_timeout, timer.link, timer.serial});
        }
    }
}

// Closes connections to dead hosts while data is unacknowledged, when the kernel sends no keepalive
// probes. TCP_USER_TIMEOUT would also close those of living members that do not read.
void Server::Impl::expire_silent() {
    constexpr unsigned lost = 3;  // retries: a closed window is probed ever more rarely
    while (!silences_.empty() && silences_.front().at <= now_) {
        const Timer timer = silences_.front();
        silences_.pop_front();
        Slot& slot = slots_[timer.link];
        if (!slot.link || slot.serial != timer.serial) {
            continue;
        }
        const net::Unacknowledged data = net::unacknowledged(slot.link->fd());
        slot.silence_watched = data.some;
        if (!data.some) {
            continue;
        }
        // Before data was sent, silence meant nothing.
        const Time::duration silence =
            std::min<Time::duration>(data.silence, now_ - slot.silence_from);
        if (data.retries >= lost && silence >= 2 * keepalive()) {
            slot.link->close("does not answer: its host or network is down", now_);
            end(timer.link);
        } else {
            silences_.push_back({now_ + keepalive() / 2, timer.link, timer.serial});
        }
    }
}

void Server::Impl::accept_http() {
    try {
        net::Address peer;
        net::Fd fd = net::accept_tcp(http_listener_.get(), peer);
        if (fd.get() < 0) {
            return;
        }
        if (http_.size() >= most_http) {
            ++registry_.counters().http_refused;
            return;
        }
        const uint32_t number = next_http_++;
        watch(fd.get(), EPOLLIN, token(Kind::Http, number), EPOLL_CTL_ADD);
        http_.emplace(number, std::make_unique<HttpLink>(std::move(fd), registry_, now_));
    } catch (const Error& error) {
        pause_accept(error);
    }
}

void Server::Impl::step_http(uint32_t number) {
    const auto found = http_.find(number);
    if (found == http_.end()) {
        return;
    }
    const bool waited = found->second->wants_write();
    if (!found->second->step()) {
        http_.erase(found);
    } else if (!waited && found->second->wants_write()) {
        watch(found->second->fd(), EPOLLOUT, token(Kind::Http, number), EPOLL_CTL_MOD);
    }
}

Server::Server(ServerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Server::~Server() = default;
void Server::run() {
    impl_->run();
}
void Server::stop() noexcept {
    impl_->stop();
}
uint16_t Server::port() const {
    return impl_->port();
}
uint16_t Server::metrics_port() const {
    return impl_->metrics_port();
}

}  // namespace qpx::service
