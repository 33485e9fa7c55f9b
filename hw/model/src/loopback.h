// SPDX-License-Identifier: BSD-2-Clause
//
// The loopback of the card: frames for our own address never reach the wire, they come back as
// received ones. Two QPs of one card talk this way, as on any NIC. Such a frame has no ICRC: it is
// on no wire. Its payload may stay in host memory until the frame is taken, so that it is copied
// once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "dingo/engine.h"

namespace dingo::model {

struct Port;

class Loopback final : public WirePort {
  public:
    /// So few frames that they stay in the cache. When all are in use, begin_frame() returns
    /// nothing.
    static constexpr std::size_t kFrames = 64;

    /// Payload of a frame that is not in the frame.
    struct Payload {
        const std::byte* at = nullptr;  ///< host memory; null: the payload is in the frame
        std::size_t offset = 0;         ///< of its place in the frame
        std::size_t bytes = 0;
        Held held{};              ///< null: valid until the engine's call ends
        unsigned packets = 1;     ///< that the frame stands for: a train
        unsigned copies = 1;      ///< that it is received as: one for each member of a group
        std::uint32_t share = 0;  ///< share of the sender, for the scheduler
    };
    struct Taken {
        std::span<const std::byte> frame;    ///< with a hole where the payload is elsewhere
        std::span<const std::byte> payload;  ///< elsewhere; empty: it is in the frame
        Held held;
        unsigned packets;
        std::uint32_t share;
    };

    explicit Loopback(WirePort& wire) : wire_(wire), frames_(kFrames) {}

    /// Sets the port whose addresses are the card's own; nullptr: no address is.
    void set_port(const Port* port) noexcept;

    /// A frame that may be for the wire or for us.
    std::span<std::byte> begin_frame(std::size_t max_len) override;
    void end_frame(std::size_t len) override;

    /// The same for a frame that is known to be for us. Room whose frame does not end is given
    /// again.
    std::span<std::byte> begin_loopback(std::size_t max_len);
    void end_loopback(std::size_t len, Payload payload);

    /// Loses frames whose payload is still there and held by nobody.
    void lose_frames(const std::function<bool(const std::byte*)>& there);

    [[nodiscard]] bool empty() const noexcept { return taken_ == put_; }
    /// The oldest frame, valid until the next take(). Not when empty().
    Taken take() noexcept;
    /// Copies payloads that are still in memory that nothing holds into the frames: dma_pointer()
    /// addresses are valid only until the engine's call ends.
    void gather_frames();

  private:
    struct Frame {
        std::vector<std::byte> room;  // kept, and never smaller than it was
        std::size_t length = 0;
        Payload payload;
    };

    // The frame last taken may still be in use. Many copies of a few frames are as much work as
    // many frames, and later frames wait for that.
    [[nodiscard]] bool full() const noexcept {
        return put_ - taken_ == kFrames - 1 || copies_ >= kFrames;
    }

    WirePort& wire_;
    const Port* port_ = nullptr;
    std::span<std::byte> wire_room_;
    std::vector<Frame> frames_;  // a ring
    std::uint64_t put_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t copies_ = 0;  ///< of the frames between the two
};

}  // namespace dingo::model
