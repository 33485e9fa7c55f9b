// SPDX-License-Identifier: BSD-2-Clause
//
// The loopback of the card: frames to its own addresses never reach the wire but are received
// again, so two QPs of one card can communicate, as on any NIC. Such a frame has no ICRC. Its
// payload may stay in host memory until the frame is taken, so that it is copied only once.
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
    /// Few enough to stay in the cache. While all are in use, begin_frame() returns nothing.
    static constexpr std::size_t kFrames = 64;

    /// Payload of a frame, possibly outside of it.
    struct Payload {
        const std::byte* at = nullptr;  ///< host memory; null: the payload is in the frame
        std::size_t offset = 0;         ///< of the payload in the frame
        std::size_t bytes = 0;
        Held held{};           ///< null: valid until the engine's call ends
        unsigned packets = 1;  ///< number of packets in the frame: more than 1 for a train
        /// number of receptions: one for each member of a multicast group
        unsigned copies = 1;
        std::uint32_t share = 0;  ///< share of the sender, for the scheduler
    };
    struct Taken {
        std::span<const std::byte> frame;  ///< with a gap if the payload is elsewhere
        /// the payload if it is elsewhere; empty: in the frame
        std::span<const std::byte> payload;
        Held held;
        unsigned packets;
        std::uint32_t share;
    };

    explicit Loopback(WirePort& wire) : wire_(wire), frames_(kFrames) {}

    /// Sets the port whose addresses loop back; nullptr: none does.
    void set_port(const Port* port) noexcept;

    /// Begins a frame that may go to the wire or loop back.
    std::span<std::byte> begin_frame(std::size_t max_len) override;
    void end_frame(std::size_t len) override;

    /// Begins a frame that is known to loop back. Room that is not ended is returned again by the
    /// next call.
    std::span<std::byte> begin_loopback(std::size_t max_len);
    void end_loopback(std::size_t len, Payload payload);

    /// Loses frames whose payload is still there and held by nobody.
    void lose_frames(const std::function<bool(const std::byte*)>& there);

    [[nodiscard]] bool empty() const noexcept { return taken_ == put_; }
    /// Removes the oldest frame, valid until the next take(). Must not be empty().
    Taken take() noexcept;
    /// Copies payloads that nothing holds into their frames: dma_pointer() addresses are valid only
    /// until the engine's call ends.
    void gather_frames();

  private:
    struct Frame {
        std::vector<std::byte> room;  // kept for reuse, never shrinks
        std::size_t length = 0;
        Payload payload;
    };

    // The frame last taken may still be in use. Many copies of a few frames cause as much work as
    // many frames, so they count as such.
    [[nodiscard]] bool full() const noexcept {
        return put_ - taken_ == kFrames - 1 || copies_ >= kFrames;
    }

    WirePort& wire_;
    const Port* port_ = nullptr;
    std::span<std::byte> wire_room_;
    std::vector<Frame> frames_;  // a ring
    std::uint64_t put_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t copies_ = 0;  ///< sum of Payload::copies of the queued frames
};

}  // namespace dingo::model
