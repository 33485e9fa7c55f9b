// SPDX-License-Identifier: BSD-2-Clause
//
// The wire between cards under test: collects frames and delivers them in simulated time.
//
// With DINGO_TEST_NO_ICRC in the environment engines need not compute ICRCs, as between the cards
// of one host, and frames with a correct one are delivered without it.
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

/// Returns true if DINGO_TEST_NO_ICRC is set.
bool without_icrc();

/// Returns the number of packets of a frame that a TestWire with `trains` has sent.
unsigned packets_of_train(std::span<const std::byte> frame);
/// Calls fn(frame) for each packet of the train.
void cut_train(std::span<const std::byte> frame,
               const std::function<void(std::span<const std::byte>)>& fn);

/// Delivers a frame to an engine.
void deliver(Engine& to, std::span<const std::byte> frame);

/// The transmit side of one card.
class TestWire final : public WirePort {
  public:
    /// Called for each finished frame; if empty, frames are kept in `sent`.
    std::function<void(std::span<const std::byte>)> sink;
    std::deque<FrameBytes> sent;
    /// The wire is full.
    bool busy = false;
    /// It is full for these MAC addresses; `refusals`: how often it refused.
    std::set<std::uint64_t> full;
    std::uint64_t refusals = 0;
    bool full_by_address() const override { return !busy; }
    std::uint64_t frames = 0;

    std::span<std::byte> begin_frame(std::size_t max_len) override;
    std::span<std::byte> begin_frame_to(std::size_t max_len, std::uint64_t to) override;
    void end_frame(std::size_t len) override;
    bool needs_icrc() const override { return icrc; }
    /// Passes the frame on with its ICRC.
    void end_frame_without_icrc(std::size_t len) override;
    /// Engines must compute the ICRC.
    bool icrc = !without_icrc();
    std::uint64_t frames_without_icrc = 0;
    bool takes_references() const override { return !icrc; }
    /// Only without ICRC: trains are accepted while this returns true, with the number of packets
    /// in a byte after the frame, which deliver() and cut_train() understand.
    std::function<bool()> trains;
    std::uint64_t trains_sent = 0;
    bool takes_trains() const override { return !icrc && trains && trains(); }
    std::optional<std::span<std::byte>> begin_train(std::size_t max_len, unsigned packets,
                                                    std::uint64_t to) override;
    /// Copies the payload at once.
    void end_frame_referring(std::size_t len, std::size_t offset,
                             std::span<const std::byte> payload, const Held& held) override;
    void gather() override { ++gathers; }
    /// Results of holds_enough() and has_let_go().
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

/// A frame in flight.
struct Frame {
    FrameBytes bytes;
    unsigned from = 0;          ///< sending card: 0 or 1
    Nanoseconds delay = 1'000;  ///< until it is delivered
};

/// Both directions. Each frame passes the hook, which may change, delay or drop it.
class TestLink {
  public:
    /// Returns false to drop the frame.
    using Hook = std::function<bool(Frame&)>;

    /// If empty, all frames pass.
    Hook hook;
    /// Called for every frame as sent, before the hook (for captures and checks).
    std::function<void(const Frame&)> tap;
    Nanoseconds latency = 1'000;

    /// Sends a frame of a card.
    void send(unsigned from, std::span<const std::byte> bytes, Nanoseconds now);
    /// Puts a frame on the wire after the hook (duplicates, forged frames).
    void inject(Frame frame, Nanoseconds now);
    /// Passes all frames that are due to `deliver`; returns true if there was one.
    bool deliver(Nanoseconds now,
                 const std::function<void(unsigned to, std::span<const std::byte>)>& deliver);
    /// Arrival time of the next frame; kNever if none is in flight.
    [[nodiscard]] Nanoseconds next_arrival() const;

  private:
    std::multimap<Nanoseconds, Frame> queue_;  // by arrival; equal times keep their order
    std::vector<FrameBytes> spare_;
};

}  // namespace dingo::test
