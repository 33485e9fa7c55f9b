// SPDX-License-Identifier: BSD-2-Clause
//
// Receives frames from each peer in turn.
#include <algorithm>
#include <cstring>
#include <utility>

#include "dingo/touch.h"
#include "wire/shm_wire.h"

namespace dingo {
namespace {

constexpr std::size_t kReleaseBytes = kShmRingBytes / 8;
constexpr unsigned kIdleRounds = 64;
constexpr Nanoseconds kServiceEvery = 1'000'000;

}  // namespace

unsigned ShmWire::receive(FrameSink& sink, unsigned budget) {
    if (service_due_ || now_ - serviced_ >= kServiceEvery || ++idle_rounds_ >= kIdleRounds)
        service();
    unsigned done = 0;
    const std::size_t count = peers_.size();
    for (std::size_t i = 0; i < count && done < budget; i++) {
        ShmPeer& peer = *peers_[(first_ + i) % count];
        if (peer.ready() && peer.met())
            done += receive_from(peer, sink, budget - done);
    }
    if (count != 0)
        first_ = (first_ + 1) % count;
    if (any_gone_)
        bury();
    if (done != 0)
        idle_rounds_ = 0;
    return done;
}

unsigned ShmWire::receive_from(ShmPeer& peer, FrameSink& sink, unsigned budget) {
    ShmConsumer& rx = peer.rx();
    unsigned done = 0;
    while (done < budget && !should_leave()) {
        const std::span<const std::byte> frame = rx.front();
        if (frame.empty())
            break;
        if (frame.size() < kMinFrame) {
            stats_.rx_short++;
        } else {
            stats_.rx_frames += rx.packets();
            stats_.rx_bytes += frame.size();
            deliver(peer, frame, sink);
        }
        done += std::min(rx.packets(), budget - done);
        rx.pop();
        if (std::exchange(gather_due_, false))
            gather();
        if (rx.unreleased() >= kReleaseBytes)
            peer.release();
    }
    peer.release();
    any_gone_ |= peer.gone();
    return done;
}

void ShmWire::deliver(ShmPeer& peer, std::span<const std::byte> frame, FrameSink& sink) {
    ShmConsumer& rx = peer.rx();
    Elsewhere payload;
    if ((rx.flags() & kShmElsewhere) != 0) {
        const std::uint64_t address = rx.payload();
        std::memcpy(&payload.at, &address, sizeof payload.at);
        payload.held = peer.holder();
    } else if ((rx.flags() & kShmHandedOver) != 0) {
        const std::uint64_t where = rx.payload();
        payload.at = peer.referred(where);
        if (payload.at == nullptr) {
            peer.break_off();
            return;
        }
        payload.held = peer.hold(where, payload.at, frame.size());
        stats_.rx_held += payload.held != nullptr ? rx.packets() : 0;
    }
    reads_ = (rx.flags() & kShmHandedOver) != 0;
    // The engine detects a missing ICRC if it was requested.
    if (rx.packets() > 1 && !own_.wants_icrc)
        sink.on_train(frame, payload, rx.packets());
    else if (rx.packets() > 1)
        stats_.rx_errors++;
    else if (rx.flags() == 0 || own_.wants_icrc)
        sink.on_frame(frame);
    else
        sink.on_frame_without_icrc(frame, payload);
    reads_ = false;
}

}  // namespace dingo
