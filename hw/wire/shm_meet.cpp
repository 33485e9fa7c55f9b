// SPDX-License-Identifier: BSD-2-Clause
//
// How cards of a segment connect, exchange messages through their sockets, and disconnect.
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "base/errno_error.h"
#include "wire/shm_net.h"
#include "wire/shm_wire.h"
#include "wire/socket.h"

namespace dingo {
namespace {

// Budget for peers' messages in one pass, in kicks: a peer that sends without pause gets a small
// part of this thread's time.
constexpr unsigned kServiceBudget = 32;
constexpr unsigned kServiceShare = 8;    // most that one peer may use
constexpr unsigned kCostOfNewcomer = 2;  // in addition to its messages
constexpr Nanoseconds kReconnectEvery = 1'000'000'000;

}  // namespace

void ShmWire::join(const std::filesystem::path& dir) {
    static std::atomic<unsigned> serial{0};
    path_ = dir / fmt::format("{:x}-{:x}", ::getpid(), serial++);
    const UniqueFd lock = lock_shm_net(dir);
    const auto local = local_ != nullptr ? local_->on(dir) : std::vector<LocalMember*>();
    for (const auto& entry : std::filesystem::directory_iterator(dir))
        if (entry.is_socket() &&
            std::none_of(local.begin(), local.end(),
                         [&](const auto* member) { return member->path() == entry.path(); }) &&
            !connect(entry.path()) && errno == EAGAIN)
            lost_.push_back(entry.path());  // its queue of connections is full
    listener_ = listen_shm(path_, kMaxShmPeers);
    watch(listener_.get());
    if (local_ != nullptr) {
        meet_all(local);
        local_->add(*this);
    }
    ask_peers();
}

void ShmWire::meet_all(const std::vector<LocalMember*>& others) {
    std::vector<std::unique_ptr<ShmPeer>> theirs;
    for (LocalMember* const other : others) {
        if (peers_.size() >= kMaxShmPeers)
            break;
        auto pair = ShmPeer::local_pair(own_, other->card());
        peers_.push_back(std::move(pair.first));
        theirs.push_back(std::move(pair.second));
    }
    const Gate::Hold hold(local_->gate());
    for (std::size_t i = 0; i < theirs.size(); i++)
        others[i]->meet(std::move(theirs[i]));
}

void ShmWire::meet(std::unique_ptr<ShmPeer> peer) {
    if (sleeps_)
        static_cast<void>(peer->rx().arm());  // the ring is empty
    peers_.push_back(std::move(peer));
    ask_peers();
}

bool ShmWire::hears(const ShmPeer& peer) const {
    return peer.ready() &&
           (peer.met() || peer.accepted == 0 || now_ - peer.accepted < kShmHelloTime);
}

void ShmWire::ask_peers() {
    needs_icrc_ = own_.wants_icrc ||
                  std::any_of(peers_.begin(), peers_.end(),
                              [this](const auto& p) { return hears(*p) && p->wants_icrc(); });
}

bool ShmWire::connect(const std::filesystem::path& path) {
    auto peer = ShmPeer::connect(path, own_);
    if (peer != nullptr && !make_place(*peer)) {
        errno = EMFILE;
        return false;
    }
    if (peer != nullptr && peer->greet()) {
        peer->accepted = now_;
        watch(peer->fd());
        peers_.push_back(std::move(peer));
        return true;
    }
    const int error = errno;
    if (error == ECONNREFUSED)
        ::unlink(path.c_str());  // left by a killed card
    errno = error;
    return false;
}

void ShmWire::watch(int fd) {
    try {
        watched_.try_emplace(fd, *this, fd);
    } catch (const ErrnoError& e) {
        log_limit_.warn("shm wire: epoll: {}", e.what());
    }
}

void ShmWire::service() {
    service_due_ = false;
    serviced_ = now_;
    idle_rounds_ = 0;
    budget_ = kServiceBudget;
    Poller::Found found = poller_.collect(0);
    // Start with another socket each time.
    const auto count = static_cast<std::size_t>(std::max(found.count, 0));
    std::rotate(found.events.begin(), found.events.begin() + service_first_.among(count),
                found.events.begin() + count);
    poller_.tell(found);
    for (const auto& peer : peers_) {
        peer->tell();
        // Releases held payloads even if nothing more is sent to the peer.
        if (peer->ready())
            peer->tx().forget_received();
    }
    for (const auto& peer : peers_) {
        // The peer was accepted before the first advance().
        if (peer->accepted == 0 && !peer->met())
            peer->accepted = now_;
        if (peer->silent() && now_ - peer->accepted >= kShmHelloTime)
            turn_away(*peer);
    }
    if (!lost_.empty() && now_ - lost_looked_ >= kReconnectEvery)
        reconnect();
    ask_peers();
}

void ShmWire::service_one(int fd) {
    if (fd == listener_.get()) {
        accept_some();
        return;
    }
    unsigned share = std::min(budget_, kServiceShare);
    if (share == 0)
        return;
    budget_ -= share;
    for (const auto& peer : peers_) {
        if (peer->fd() != fd)
            continue;
        share = peer->service(share);
        any_gone_ |= peer->gone();
    }
    budget_ += share;
}

void ShmWire::reconnect() {
    lost_looked_ = now_;
    std::erase_if(lost_, [this](const std::string& address) {
        return connect(address) || errno == ENOENT || errno == ECONNREFUSED;
    });
}

void ShmWire::accept_some() {
    while (budget_ != 0) {
        ForeignSocket fd(
            ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!fd)
            return;
        auto peer = std::make_unique<ShmPeer>(std::move(fd), own_);
        peer->accepted = now_;
        budget_ -= std::min(budget_, kCostOfNewcomer);
        budget_ = peer->service(budget_);  // its hello usually arrived with the connection
        if (!peer->gone() && !make_place(*peer))
            continue;
        watch(peer->fd());
        any_gone_ |= peer->gone();
        peers_.push_back(std::move(peer));
    }
}

bool ShmWire::make_place(const ShmPeer& newcomer) {
    const ShmPlace place = shm_place(peers_, newcomer, now_);
    if (place.loser != nullptr)
        turn_away(*place.loser);
    return place.there;
}

void ShmWire::turn_away(ShmPeer& peer) {
    peer.turn_away();
    any_gone_ = true;
}

void ShmWire::bury() {
    any_gone_ = false;
    std::erase_if(peers_, [&](const auto& peer) {
        if (!peer->gone())
            return false;
        if (const std::string what = peer->stranger(); !what.empty())
            log_limit_.warn("shm wire: {}", what);
        if (peer->bad()) {
            stats_.rx_errors++;
        } else if (!peer->turned_away() && peer->ready() && peer->met() && !peer->rx().empty() &&
                   !peer->rx().gathering()) {
            any_gone_ = true;
            return false;
        }
        if (guess_ == peer.get())
            guess_ = nullptr;
        if (held_for_ == peer.get()) {
            stats_.tx_no_peer++;
            end_hold();
        }
        watched_.erase(peer->fd());  // the socket is closed later
        // A peer that has never answered may have dropped this card because it saw no hello.
        if (!peer->address().empty() && !peer->speaks_otherwise())
            lost_.push_back(peer->address());
        return true;
    });
    ask_peers();
}

}  // namespace dingo
