// SPDX-License-Identifier: BSD-2-Clause
#include "loopback.h"

#include "port.h"

namespace dingo::model {
namespace {

constexpr std::size_t kMacBytes = 6;

bool is_unicast(std::byte first_octet) noexcept {
    return (first_octet & std::byte{1}) == std::byte{0};
}

}  // namespace

void Loopback::set_port(const Port* port) noexcept {
    port_ = port;
    put_ = 0;
    taken_ = 0;
}

std::span<std::byte> Loopback::begin_frame(std::size_t max_len) {
    if (put_ - taken_ == kFrames - 1) {  // the frame last taken may still be in use
        return {};
    }
    room_ = cable_.begin_frame(max_len);
    return room_;
}

void Loopback::end_frame(std::size_t len) {
    if (len < kMacBytes || port_ == nullptr || !is_unicast(room_[0]) ||
        !port_->takes_roce(mac_number(reinterpret_cast<const std::uint8_t*>(room_.data())))) {
        cable_.end_frame(len);
        return;
    }
    std::vector<std::byte>& frame = frames_[put_ % kFrames];
    frame.assign(room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(len));
    ++put_;
    cable_.end_frame(0);
}

std::span<const std::byte> Loopback::take() noexcept {
    return frames_[taken_++ % kFrames];
}

}  // namespace dingo::model
