// SPDX-License-Identifier: BSD-2-Clause
#include "wire/shm_places.h"

#include <algorithm>
#include <map>

namespace dingo {
namespace {

constexpr std::size_t kMaxSilent = 16;
constexpr Nanoseconds kAtLeast = 20'000'000;
constexpr Nanoseconds kShare = 20;  // waits take at most 1/N of the time
constexpr Nanoseconds kCareful = 60'000'000'000;

ShmPeer* least_wanted(std::span<const std::unique_ptr<ShmPeer>> peers, pid_t newcomer,
                      Nanoseconds now) {
    const auto may_go = [](const ShmPeer& peer) {
        return peer.fd() >= 0 && peer.ready() && !peer.gone();
    };
    std::map<pid_t, std::size_t> places;
    std::size_t most = 0;
    for (const auto& peer : peers)
        if (may_go(*peer))
            most = std::max(most, ++places[peer->process()]);
    const bool greedy = most > places[newcomer] + 1;
    ShmPeer* found = nullptr;
    for (const auto& peer : peers) {
        if (!may_go(*peer))
            continue;
        const bool never_sent = peer->rx().tail() == 0 && now - peer->accepted >= kShmHelloTime;
        if ((greedy ? places[peer->process()] == most : never_sent) &&
            (found == nullptr || peer->accepted < found->accepted))
            found = peer.get();
    }
    return found;
}

}  // namespace

ShmPlace shm_place(std::span<const std::unique_ptr<ShmPeer>> peers, const ShmPeer& newcomer,
                   Nanoseconds now) {
    std::size_t live = 0;
    std::size_t silents = 0;
    ShmPeer* oldest = nullptr;
    for (const auto& peer : peers) {
        live += peer->gone() ? 0 : 1;
        silents += peer->silent() ? 1 : 0;
        if (peer->silent() && (oldest == nullptr || peer->accepted < oldest->accepted))
            oldest = peer.get();
    }
    // one that we connected to gets its hello next
    const bool silent = newcomer.silent() && newcomer.address().empty();
    if (silent ? silents < kMaxSilent : live - silents < kMaxShmPeers)
        return {true, nullptr};
    ShmPeer* const loser = silent ? oldest : least_wanted(peers, newcomer.process(), now);
    return {loser != nullptr, loser};
}

std::chrono::nanoseconds ShmPatience::most(Nanoseconds now) {
    left_ = std::min(kMost, left_ + (now - counted_) / kShare);
    counted_ = now;
    return std::chrono::nanoseconds(std::max(left_, kAtLeast));
}

void ShmPatience::waited(std::chrono::nanoseconds time) {
    left_ -= std::min(left_, static_cast<Nanoseconds>(time.count()));
}

void ShmPatience::cut_one_off(Nanoseconds now) {
    careful_until_ = now + kCareful;
}

}  // namespace dingo
