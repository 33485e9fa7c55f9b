// SPDX-License-Identifier: BSD-2-Clause
//
// Sends frames: room in a peer's ring, and handling of full rings.
#include <algorithm>
#include <cstring>

#include "wire/shm_wire.h"

namespace dingo {
namespace {

constexpr std::size_t kPublishBytes = 32UL * 1024;  // the peer works while this side builds more
// A peer may be preempted for a few time slices. If it is the only peer, it may also be slow.
constexpr Nanoseconds kGiveUpAfter = 20'000'000;
constexpr Nanoseconds kGiveUpOnlyOneAfter = 200'000'000;
// Hold time for senders that do not announce the destination is refilled at 1/N of the time.
constexpr Nanoseconds kHoldShare = 10;
constexpr Nanoseconds kHoldAtLeast = 200'000;  // several rounds

constexpr std::uint64_t kGroupBit = 0x01'00'00'00'00'00;

/// Destination MAC of a frame of at least kMinFrame bytes.
std::uint64_t destination_of(std::span<const std::byte> frame) {
    std::uint64_t octets = 0;
    std::memcpy(&octets, frame.data(), sizeof octets);
    return __builtin_bswap64(octets) >> 16;
}

}  // namespace

std::span<std::byte> ShmWire::begin_frame(std::size_t max_len) {
    target_ = nullptr;
    packets_ = 1;
    if (max_len > kMaxFrame)
        return {};
    if (held_len_ != 0 && !send_held()) {
        stats_.tx_full++;
        return {};
    }
    ShmPeer* const peer = guess();
    // With only one peer no other sender is held up.
    return begin_at(peer, max_len, ready_peers() == 1);
}

std::span<std::byte> ShmWire::begin_frame_to(std::size_t max_len, std::uint64_t to) {
    target_ = nullptr;
    packets_ = 1;
    if (max_len > kMaxFrame)
        return {};
    if ((to & kGroupBit) != 0)
        return begin_at(guess(), max_len, ready_peers() == 1);
    ShmPeer* const peer = find(to);
    return begin_at(peer != nullptr ? peer : guess(), max_len, true);
}

std::optional<std::span<std::byte>> ShmWire::begin_train(std::size_t max_len, unsigned packets,
                                                         std::uint64_t to) {
    ShmPeer* const peer = find(to);
    if (peer == nullptr || !peer->ready() || peer->stuck || !may_refer(*peer) || needs_icrc_ ||
        max_len > kMaxTrain)
        return std::nullopt;
    target_ = nullptr;
    if (!reserve_at(*peer, max_len)) {
        stats_.tx_full++;
        return room_ = {};
    }
    packets_ = packets;
    return room_;
}

bool ShmWire::takes_references() const {
    return target_ != nullptr && may_refer(*target_) && !needs_icrc_;
}

void ShmWire::end_frame_referring(std::size_t len, std::size_t offset,
                                  std::span<const std::byte> payload, const Held& held) {
    const std::uint64_t mac = destination_of(room_);
    auto* const to = target_;
    const bool goes_there =
        to != nullptr && (packets_ > 1 || ((mac & kGroupBit) == 0 && find(mac) == to));
    std::optional<ShmReference> reference;
    if (goes_there && to->tx().local())
        reference = ShmReference{};
    else if (goes_there && !to->tx().refers_enough())
        reference = to->reference(payload);
    if (reference && reference->lent && held == nullptr)
        reference.reset();
    if (!reference) {
        std::memcpy(&room_[offset], payload.data(), payload.size());
        send(len, kShmNoIcrc);
        return;
    }
    guess_ = to;
    to->tx().commit_referring(len, offset, payload, held, *reference, packets_);
    if (to->tx().unpublished() >= kPublishBytes && !to->tx().local())
        to->publish();
    sent(len, packets_);
    stats_.tx_referred += packets_;
    target_ = nullptr;
}

void ShmWire::flush() {
    if (held_len_ != 0)
        send_held();
    for (const auto& peer : peers_)
        if (peer->ready() && peer->tx().unpublished() != 0)
            peer->publish();
}

ShmPeer* ShmWire::guess() {
    if (guess_ == nullptr || guess_->gone()) {
        guess_ = nullptr;
        for (const auto& peer : peers_)
            if (hears(*peer) && !peer->gone())
                guess_ = peer.get();
    }
    return guess_;
}

ShmPeer* ShmWire::find(std::uint64_t mac) {
    if (target_ != nullptr && target_->mac() == mac && !target_->gone())
        return target_;
    if (guess_ != nullptr && guess_->mac() == mac && !guess_->gone())
        return guess_;
    for (const auto& peer : peers_)
        if (peer->mac() == mac && !peer->gone())
            return peer.get();
    return nullptr;
}

Nanoseconds ShmWire::patience() const {
    return ready_peers() == 1 ? kGiveUpOnlyOneAfter : kGiveUpAfter;
}

std::size_t ShmWire::ready_peers() const {
    return static_cast<std::size_t>(std::count_if(
        peers_.begin(), peers_.end(), [this](const auto& peer) { return hears(*peer); }));
}

std::span<std::byte> ShmWire::begin_at(ShmPeer* peer, std::size_t len, bool waits) {
    if (peer != nullptr && reserve_at(*peer, len))
        return room_;
    if (peer != nullptr && waits && !peer->stuck) {
        stats_.tx_full++;
        return {};
    }
    return room_ = std::span(scratch_).first(len);
}

bool ShmWire::reserve_at(ShmPeer& peer, std::size_t len) {
    const std::span<std::byte> room = reserve(peer, len);
    if (room.empty())
        return false;
    target_ = &peer;
    room_ = room;
    return true;
}

void ShmWire::send(std::size_t len, std::uint32_t flags) {
    if (len == 0) {
        target_ = nullptr;
        return;
    }
    const std::span<const std::byte> frame = room_.first(len);
    const std::uint64_t mac = len >= kMinFrame ? destination_of(frame) : kGroupBit;
    ShmPeer* const to = (mac & kGroupBit) != 0 ? nullptr : find(mac);
    bool done = false;
    if (packets_ > 1 && target_ != nullptr) {
        guess_ = target_;
        done = commit(*target_, len, flags | shm_train_flags(packets_));
    } else if (to != nullptr) {
        guess_ = to;
        done = to == target_ ? commit(*to, len, flags) : copy(*to, frame, flags, true);
    } else {
        for (const auto& peer : peers_)
            if (peer.get() != target_ && hears(*peer))
                done |= copy(*peer, frame, flags, false);
        if (target_ != nullptr)  // last, as the frame is in its ring
            done |= commit(*target_, len, flags);
        else if (!done)
            stats_.tx_no_peer += ready_peers() == 0 ? 1 : 0;
    }
    target_ = nullptr;
    if (done)
        sent(len, packets_);
}

void ShmWire::sent(std::size_t len, unsigned packets) {
    stats_.tx_frames += packets;
    stats_.tx_bytes += len;
}

std::span<std::byte> ShmWire::reserve(ShmPeer& peer, std::size_t len) {
    // A stuck peer may have room for this frame, but no sender waits for it.
    const std::span<std::byte> room =
        peer.is_stuck() ? std::span<std::byte>() : peer.tx().reserve(len);
    if (!room.empty()) {
        peer.full_since = kNever;
        peer.stuck = false;
        return room;
    }
    any_gone_ |= peer.gone();
    if (peer.tx().unpublished() != 0)
        peer.publish();  // the peer must see these frames to free room
    if (peer.full_since == kNever || (peer.tx().moved() && !peer.stuck))
        peer.full_since = now_;
    if (!peer.stuck && (peer.gone() || now_ - peer.full_since >= patience()))
        peer.give_up();
    return {};
}

bool ShmWire::commit(ShmPeer& peer, std::size_t len, std::uint32_t flags) {
    peer.tx().commit(len, flags);
    if (peer.tx().unpublished() >= kPublishBytes)
        peer.publish();
    return true;
}

bool ShmWire::copy(ShmPeer& peer, std::span<const std::byte> frame, std::uint32_t flags,
                   bool hold) {
    const std::span<std::byte> room = reserve(peer, frame.size());
    if (!room.empty()) {
        std::memcpy(room.data(), frame.data(), frame.size());
        return commit(peer, frame.size(), flags);
    }
    if (!hold || peer.stuck || held_len_ != 0 || !may_hold()) {
        stats_.tx_dropped++;
        return false;
    }
    std::memcpy(held_.data(), frame.data(), frame.size());
    held_len_ = frame.size();
    held_flags_ = flags;
    held_for_ = &peer;
    held_since_ = now_;
    return false;
}

bool ShmWire::may_hold() {
    hold_left_ = std::min(kHoldAtOnce, hold_left_ + (now_ - hold_counted_) / kHoldShare);
    hold_counted_ = now_;
    return hold_left_ >= kHoldAtLeast || ready_peers() == 1;
}

void ShmWire::end_hold() {
    hold_left_ -= std::min(hold_left_, now_ - held_since_);
    hold_counted_ = now_;
    held_len_ = 0;
    held_for_ = nullptr;
}

bool ShmWire::send_held() {
    const std::span<std::byte> room = reserve(*held_for_, held_len_);
    const bool over = ready_peers() > 1 && now_ - held_since_ >= hold_left_;
    if (room.empty() && !held_for_->stuck && !over)
        return false;
    if (room.empty()) {
        stats_.tx_dropped++;
    } else {
        std::memcpy(room.data(), held_.data(), held_len_);
        commit(*held_for_, held_len_, held_flags_);
        sent(held_len_, 1);
    }
    end_hold();
    return true;
}

}  // namespace dingo
