// SPDX-License-Identifier: BSD-2-Clause
#include "loopback.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dingo/touch.h"
#include "port.h"

namespace dingo::model {
void Loopback::set_port(const Port* port) noexcept {
    port_ = port;
    for (Frame& frame : frames_) {
        frame.payload = {};
    }
    put_ = 0;
    taken_ = 0;
    copies_ = 0;
}

std::span<std::byte> Loopback::begin_frame(std::size_t max_len) {
    if (full()) {
        return {};
    }
    wire_room_ = wire_.begin_frame(max_len);
    return wire_room_;
}

void Loopback::end_frame(std::size_t len) {
    if (port_ == nullptr || !port_->loops_back(wire_room_.first(len))) {
        wire_.end_frame(len);
        return;
    }
    std::ranges::copy(wire_room_.first(len), begin_loopback(len).begin());
    end_loopback(len, {});
    wire_.end_frame(0);
}

std::span<std::byte> Loopback::begin_loopback(std::size_t max_len) {
    if (full()) {
        return {};
    }
    std::vector<std::byte>& room = frames_[put_ % kFrames].room;
    if (room.size() < max_len) {
        room.resize(max_len);
    }
    return std::span(room).first(max_len);
}

void Loopback::end_loopback(std::size_t len, Payload payload) {
    Frame& frame = frames_[put_++ % kFrames];
    frame.length = len;
    frame.payload = std::move(payload);
    copies_ += frame.payload.copies;
}

Loopback::Taken Loopback::take() noexcept {
    Frame& frame = frames_[taken_++ % kFrames];
    copies_ -= frame.payload.copies;
    Taken taken{std::span(frame.room).first(frame.length),
                {},
                std::move(frame.payload.held),
                frame.payload.packets,
                frame.payload.share};
    if (frame.payload.at != nullptr) {
        taken.payload = {frame.payload.at, frame.payload.bytes};
    }
    return taken;
}

void Loopback::lose_frames(const std::function<bool(const std::byte*)>& there) {
    std::uint64_t kept = taken_;
    for (std::uint64_t i = taken_; i != put_; ++i) {
        Frame& frame = frames_[i % kFrames];
        if (frame.payload.at != nullptr && frame.payload.held == nullptr &&
            there(frame.payload.at)) {
            copies_ -= frame.payload.copies;
            frame.payload = {};
        } else {
            std::swap(frames_[kept++ % kFrames], frame);
        }
    }
    put_ = kept;
}

void Loopback::gather_frames() {
    for (std::uint64_t i = taken_; i != put_; ++i) {
        Frame& frame = frames_[i % kFrames];
        if (frame.payload.at != nullptr && frame.payload.held == nullptr) {
            touches(frame.payload.at, frame.payload.bytes);
            std::memcpy(frame.room.data() + frame.payload.offset, frame.payload.at,
                        frame.payload.bytes);
            frame.payload.at = nullptr;
        }
    }
}

}  // namespace dingo::model
