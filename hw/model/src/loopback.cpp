// SPDX-License-Identifier: BSD-2-Clause
#include "loopback.h"

#include <algorithm>

#include "port.h"

namespace dingo::model {
void Loopback::set_port(const Port* port) noexcept {
    port_ = port;
    put_ = 0;
    taken_ = 0;
}

std::span<std::byte> Loopback::begin_frame(std::size_t max_len) {
    if (put_ - taken_ == kFrames - 1) {  // the frame last taken may still be in use
        return {};
    }
    cable_room_ = cable_.begin_frame(max_len);
    room_ = cable_room_;
    if (inside_ && !cable_room_.empty()) {
        std::vector<std::byte>& own = frames_[put_ % kFrames].room;
        if (own.size() < max_len) {
            own.resize(max_len);
        }
        room_ = std::span(own).first(max_len);
    }
    return room_;
}

void Loopback::end_frame(std::size_t len) {
    if (len == 0) {
        cable_.end_frame(0);
        return;
    }
    const bool guessed_inside = inside_;
    inside_ = port_ != nullptr && port_->turns_round(room_.first(len));
    if (!inside_) {
        if (guessed_inside) {
            std::ranges::copy(room_.first(len), cable_room_.begin());
        }
        cable_.end_frame(len);
        return;
    }
    Frame& frame = frames_[put_++ % kFrames];
    if (!guessed_inside) {
        frame.room.assign(room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(len));
    }
    frame.length = len;
    cable_.end_frame(0);
}

std::span<const std::byte> Loopback::take() noexcept {
    const Frame& frame = frames_[taken_++ % kFrames];
    return std::span(frame.room).first(frame.length);
}

}  // namespace dingo::model
