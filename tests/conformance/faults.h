// SPDX-License-Identifier: BSD-2-Clause
//
// Faults on the wire between two cards: for selected frames, or random with a seed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "dingo/packet/parse.h"
#include "two_cards.h"

namespace dingo::conformance {

/// The frames that a fault applies to; unset fields match any frame.
struct Match {
    std::optional<unsigned> from{};  ///< sending card
    std::optional<packet::Opcode> opcode{};
    std::optional<std::uint32_t> psn{};
    /// Matches opcodes for which this returns true.
    std::function<bool(const packet::OpcodeTraits&)> kind{};
    unsigned skip = 0;   ///< number of matching frames to let pass first
    unsigned count = 1;  ///< number of frames to apply the fault to then
};

enum class Fault : std::uint8_t { kDrop, kDuplicate, kDelay, kCorrupt };

/// Probabilities of each fault, for every frame in both directions.
struct RandomFaults {
    double drop = 0;
    double duplicate = 0;
    double reorder = 0;
    double corrupt = 0;
    std::uint64_t seed = 1;
};

/// Owns the wire's hook while it exists.
class WireFaults {
  public:
    explicit WireFaults(test::TwoCards& cards);
    ~WireFaults() { cards_.link.hook = nullptr; }
    WireFaults(const WireFaults&) = delete;
    WireFaults& operator=(const WireFaults&) = delete;

    /// `delay`: additional delay of a delayed or duplicated frame.
    void add(Fault fault, Match match, Nanoseconds delay = 50'000);
    void add_random(const RandomFaults& faults);
    void clear() {
        rules_.clear();
        random_.reset();
    }

    std::uint64_t frames = 0;   ///< all frames, RoCE or not
    std::uint64_t injured = 0;  ///< frames with a fault applied

  private:
    struct Rule {
        Fault fault;
        Match match;
        Nanoseconds delay;
    };
    bool hook(test::Frame& frame);
    bool apply(Fault fault, test::Frame& frame, Nanoseconds delay);
    static bool matches(const Match& match, const test::Frame& frame, const packet::Packet& packet);

    test::TwoCards& cards_;
    std::vector<Rule> rules_;
    std::optional<RandomFaults> random_;
    std::mt19937_64 generator_;
};

/// Frames of both directions as lines of text, to compare what two runs put on the wire.
class FrameLog {
  public:
    explicit FrameLog(test::TwoCards& cards);
    [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }
    /// Returns the number of frames from a card with this opcode.
    [[nodiscard]] unsigned count(unsigned from, packet::Opcode opcode) const;
    void clear() {
        lines_.clear();
        opcodes_.clear();
    }

  private:
    std::vector<std::string> lines_;
    std::vector<std::pair<unsigned, packet::Opcode>> opcodes_;
};

}  // namespace dingo::conformance
