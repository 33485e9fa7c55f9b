// SPDX-License-Identifier: BSD-2-Clause
//
// Frames for the host's neighbour table, on their way from the card's thread to the driver's.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "host/local_card.h"

namespace dingo::uverbs {

class TapQueue final : public FrameTap {
  public:
    /// Further frames are dropped: their senders retry.
    static constexpr std::size_t kMost = 256;

    explicit TapQueue(LocalCard& card) : card_(card) {}

    bool on_tapped_frame(std::span<const std::byte> frame) override {
        if (frames_.size() >= kMost) {
            dropped_.fetch_add(1, std::memory_order_relaxed);
        } else {
            frames_.emplace_back(frame.begin(), frame.end());
            waiting_.store(true, std::memory_order_relaxed);
        }
        return true;
    }

    /// Returns true if frames wait for hand_over(). Thread-safe.
    [[nodiscard]] bool waiting() const { return waiting_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

    /// Passes each frame to `to`, and to the engine if `to` does not consume it. Returns true if
    /// there were any.
    bool hand_over(FrameTap& to) {
        if (!waiting()) {
            return false;
        }
        std::vector<std::vector<std::byte>> frames;
        card_.gate()->run([&] {  // one visit for all answers
            frames.swap(frames_);
            waiting_.store(false, std::memory_order_relaxed);
            for (const auto& frame : frames) {
                if (!to.on_tapped_frame(frame)) {
                    card_.pass_frame(frame);
                }
            }
            card_.flush_frames();
        });
        return true;
    }

  private:
    LocalCard& card_;
    std::vector<std::vector<std::byte>> frames_;  ///< with the gate held
    std::atomic<bool> waiting_ = false;
    std::atomic<std::uint64_t> dropped_ = 0;
};

}  // namespace dingo::uverbs
