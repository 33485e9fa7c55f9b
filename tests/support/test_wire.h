// SPDX-License-Identifier: BSD-2-Clause
//
// The wire between cards under test: collects frames, and carries them with explicit time.
//
// With DINGO_TEST_NO_ICRC in the environment engines need not make ICRCs, as between the cards of
// one host, and frames with a right one are received without it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "dingo/engine.h"

namespace dingo::test {

using FrameBytes = std::vector<std::byte>;

/// What the environment says.
bool without_icrc();

/// Packets of a frame that a TestWire with `trains` has sent.
unsigned packets_of_train(std::span<const std::byte> frame);
/// Calls fn(frame) for each of them.
void cut_train(std::span<const std::byte> frame,
               const std::function<void(std::span<const std::byte>)>& fn);

/// An engine receives a frame.
void deliver(Engine& to, std::span<const std::byte> frame);

/// The transmit side of one card.
class TestWire final : public WirePort {
  public:
    /// Takes each finished frame; without one, frames are kept in `sent`.
    std::function<void(std::span<const std::byte>)> sink;
    std::deque<FrameBytes> sent;
    /// The wire takes nothing.
    bool busy = false;
    /// It takes nothing to these MAC addresses; `refusals`: how often it was asked.
    std::set<std::uint64_t> full;
    std::uint64_t refusals = 0;
    bool full_by_address() const override { return !busy; }
    std::uint64_t frames = 0;

    std::span<std::byte> begin_frame(std::size_t max_len) override;
    std::span<std::byte> begin_frame_to(std::size_t max_len, std::uint64_t to) override;
    void end_frame(std::size_t len) override;
    bool needs_icrc() const override { return icrc; }
    /// The frame is given on with its ICRC.
    void end_frame_without_icrc(std::size_t len) override;
    /// Engines make the ICRC.
    bool icrc = !without_icrc();
    std::uint64_t frames_without_icrc = 0;
    bool takes_references() const override { return !icrc; }
    /// Where engines need not make ICRCs: trains are taken if this says so, with their number of
    /// packets in a byte behind the frame; deliver() and cut_train() know it.
    std::function<bool()> trains;
    std::uint64_t trains_sent = 0;
    bool takes_trains() const override { return !icrc && trains && trains(); }
    std::optional<std::span<std::byte>> begin_train(std::size_t max_len, unsigned packets,
                                                    std::uint64_t to) override;
    /// The payload is taken at once.
    void end_frame_referring(std::size_t len, std::size_t offset,
                             std::span<const std::byte> payload, const Held& held) override;
    void gather() override { ++gathers; }
    /// Answers of holds_enough() and has_let_go().
    bool enough = false;
    bool let_go = false;
    bool holds_enough() override { return enough; }
    bool has_let_go() override {
        ++asked_for_let_go;
        return std::exchange(let_go, false);
    }
    std::uint64_t asked_for_let_go = 0;
    std::uint64_t frames_referring = 0;
    std::uint64_t gathers = 0;

    using Gid = std::array<std::uint8_t, 16>;
    std::vector<Gid> groups;  ///< joined and not left
    void join_group(std::span<const std::uint8_t, 16> group) override;
    void leave_group(std::span<const std::uint8_t, 16> group) override;

  private:
    FrameBytes room_;
    bool open_ = false;  ///< between begin_frame and end_frame
    unsigned packets_ = 1;
};

/// One frame under way.
struct Frame {
    FrameBytes bytes;
    unsigned from = 0;          ///< sending card: 0 or 1
    Nanoseconds delay = 1'000;  ///< until the other side has it
};

/// Two directions. Each frame passes the hook, which may change it, delay it, or drop it.
class TestLink {
  public:
    /// False: the frame is dropped.
    using Hook = std::function<bool(Frame&)>;

    /// Replaces the hook; an empty one lets everything pass.
    Hook hook;
    /// Sees every frame as it was sent, before the hook (for captures and checks).
    std::function<void(const Frame&)> tap;
    Nanoseconds latency = 1'000;

    /// A card sent a frame.
    void send(unsigned from, std::span<const std::byte> bytes, Nanoseconds now);
    /// Puts a frame on the wire behind the hook (duplicates, forged frames).
    void inject(Frame frame, Nanoseconds now);
    /// Gives every frame that is due to `deliver`; true when there was one.
    bool deliver(Nanoseconds now,
                 const std::function<void(unsigned to, std::span<const std::byte>)>& deliver);
    /// When the next frame arrives; kNever when the wire is empty.
    [[nodiscard]] Nanoseconds next_arrival() const;

  private:
    std::multimap<Nanoseconds, Frame> queue_;  // by arrival; equal times keep their order
    std::vector<FrameBytes> spare_;
};

}  // namespace dingo::test
