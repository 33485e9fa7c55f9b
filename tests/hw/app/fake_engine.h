// SPDX-License-Identifier: BSD-2-Clause
//
// A minimal engine for a card: enough of the contract's registers to be probed, and one use of each
// port, so that tests see each path through the card.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "dingo/engine.h"

namespace dingo::test {

class FakeEngine final : public Engine {
  public:
    static constexpr std::uint32_t kDoorbellPages = 64;
    static constexpr std::uint32_t kVectors = 8;
    /// A doorbell's low byte selects an action; bits 8..47 are its `argument`, the rest makes it
    /// differ from the previous value.
    enum Action : std::uint8_t {
        kCopy = 1,   ///< reads 64 bytes at argument, writes them to argument + 64, raises vector 1
        kSend = 2,   ///< sends the 64 bytes at argument as a frame
        kTimer = 3,  ///< raises vector 2 argument nanoseconds from now
        kWork = 4,   ///< argument units of work, then raises vector 3
        kFail = 5,   ///< the next run() throws
    };

    FakeEngine(const EngineConfig& config, HostPort& host, WirePort& wire);

    void reset() override;
    std::uint64_t mmio_read(Bar bar, std::uint64_t offset, unsigned size) override;
    void mmio_write(Bar bar, std::uint64_t offset, std::uint64_t value, unsigned size) override;
    /// Writes the frame to the address in register 0x108 if that is not 0; raises vector 4.
    void receive(std::span<const std::byte> frame) override;
    void set_link(bool up) override { link_ = up; }
    bool run(Nanoseconds now, unsigned budget) override;
    [[nodiscard]] Nanoseconds next_deadline() const override { return deadline_; }
    [[nodiscard]] std::optional<SimulatedClock> simulated_clock() const override { return clock; }
    [[nodiscard]] std::string_view name() const override { return "fake"; }

    /// The most recently created engine, for tests to inspect.
    static inline FakeEngine* last = nullptr;
    /// The clock reported by all fake engines; must not change while a card runs.
    static inline std::optional<SimulatedClock> clock;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> doorbells;
    std::vector<std::vector<std::byte>> frames;
    int resets = 0;
    bool link_ = false;

  private:
    void act(std::uint64_t value);

    EngineConfig config_;
    HostPort& host_;
    WirePort& wire_;
    std::map<std::uint64_t, std::uint64_t> registers_;
    Nanoseconds now_ = 0;
    Nanoseconds deadline_ = kNever;
    std::uint64_t work_ = 0;
    bool fails_ = false;
};

/// Registers the engine named "fake".
void register_fake_engine();

}  // namespace dingo::test
