// SPDX-License-Identifier: BSD-2-Clause
//
// The turn inside the card: frames for our own address never reach the cable, they come back as
// received ones. Two QPs of one card talk this way, as on any NIC. Such a frame has no ICRC: it is
// on no wire.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dingo/engine.h"

namespace dingo::model {

struct Port;

class Loopback final : public WirePort {
  public:
    /// Then begin_frame() gives nothing until some are taken. So few that they stay in the cache.
    static constexpr std::size_t kFrames = 64;

    explicit Loopback(WirePort& cable) : cable_(cable), frames_(kFrames) {}

    /// Whose addresses are ours; nullptr: nobody's.
    void set_port(const Port* port) noexcept;

    std::span<std::byte> begin_frame(std::size_t max_len) override;
    void end_frame(std::size_t len) override;

    [[nodiscard]] bool empty() const noexcept { return taken_ == put_; }
    /// The oldest frame, valid until the next take(). Not when empty().
    std::span<const std::byte> take() noexcept;

  private:
    WirePort& cable_;
    const Port* port_ = nullptr;
    struct Frame {
        std::vector<std::byte> room;  // kept, and never smaller than it was
        std::size_t length = 0;
    };

    std::span<std::byte> cable_room_;
    std::span<std::byte> room_;
    std::vector<Frame> frames_;  // a ring
    bool inside_ = false;        // the last frame was for us: the next may be, too
    std::uint64_t put_ = 0;
    std::uint64_t taken_ = 0;
};

}  // namespace dingo::model
