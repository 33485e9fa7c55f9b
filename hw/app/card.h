// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/shared_memory.h"
#include "dingo/engine.h"
#include "doorbell_scanner.h"
#include "host/local_card.h"
#include "wire/wire.h"

namespace dingo {

struct CardStats {
    std::uint64_t link_down_drops = 0;  ///< frames that came while the link was switched off
    std::uint64_t trapped_reads = 0;
    std::uint64_t trapped_writes = 0;
};

/// An engine with its doorbell pages and its wire. Knows no clock and no descriptor: the owner
/// calls poll() with the time and sleeps as prepare_sleep() and next_deadline() allow.
class Card final : public LocalCard, public DoorbellSink, public FrameSink {
  public:
    /// Throws std::invalid_argument when no engine has this name or when the engine's registers
    /// make no sense. `host` and `wire` outlive the card.
    Card(std::string_view engine, const EngineConfig& config, HostPort& host, Wire& wire);

    /// One fair round: time, doorbells, frames, engine, transmit. True: more to do at once.
    bool poll(Nanoseconds now);

    /// The wire's descriptor is readable. Frames are fetched only after this (or always, on a wire
    /// without descriptor).
    void wire_readable() { wire_ready_ = true; }

    /// Asks doorbell writers to kick from now on. False: there is work, poll() again; it stays
    /// false until poll() was called, or the engine run. After true, call woke() before the next
    /// poll().
    [[nodiscard]] bool prepare_sleep(Nanoseconds now);
    void woke();
    /// The host makes a request between two poll()s. Sets the current time, as the time of the last
    /// poll() may be long ago when the card slept.
    void advance(Nanoseconds now);

    /// When poll() must be called though no input arrives.
    [[nodiscard]] Nanoseconds next_deadline() const;

    /// Takes the link up or down. A wire that leads nowhere stays down.
    void set_link(bool up);
    [[nodiscard]] bool link() const { return link_up_; }

    // LocalCard
    [[nodiscard]] const PciIdentity& identity() const override { return identity_; }
    void run_engine() override;
    [[nodiscard]] Nanoseconds now() const override { return now_; }
    [[nodiscard]] std::span<std::byte> doorbell_memory() const override;
    void use_doorbell_pages(std::size_t count) override;
    void renew_doorbell_page(std::size_t page) override;
    void clear_doorbell(std::uint64_t offset) override;
    void doorbell_page_kicked(std::size_t page) override;
    void ring(std::uint64_t offset, std::uint64_t value) override { on_doorbell(offset, value); }
    [[nodiscard]] WirePort& frames() override { return wire_; }
    void flush_frames() override { wire_.flush(); }
    void set_frame_tap(FrameTap* tap) override { tap_ = tap; }
    [[nodiscard]] bool resolves_addresses() const override { return wire_.resolves(); }
    [[nodiscard]] std::uint16_t fixed_source_port() const override {
        return wire_.fixed_source_port();
    }

    // PciFunction
    std::uint64_t read(Bar bar, std::uint64_t offset, unsigned size) override;
    void write(Bar bar, std::uint64_t offset, std::uint64_t value, unsigned size) override;
    void reset() override;
    [[nodiscard]] int doorbell_fd() const override;

    // DoorbellSink, FrameSink
    void on_doorbell(std::uint64_t offset, std::uint64_t value) override;
    void on_frame(std::span<const std::byte> frame) override;

    [[nodiscard]] std::string_view engine_name() const { return engine_->name(); }
    [[nodiscard]] std::optional<SimulatedClock> simulated_clock() const {
        return engine_->simulated_clock();
    }
    [[nodiscard]] const CardStats& stats() const { return stats_; }
    /// nullptr without doorbells in memory.
    [[nodiscard]] const DoorbellScanner* scanner() const { return scanner_ ? &*scanner_ : nullptr; }

  private:
    std::uint32_t register32(std::uint64_t offset) {
        return static_cast<std::uint32_t>(engine_->mmio_read(Bar::kRegisters, offset, 4));
    }

    Wire& wire_;
    std::unique_ptr<Engine> engine_;
    PciIdentity identity_;
    std::optional<SharedMemory> doorbells_;
    std::optional<DoorbellScanner> scanner_;
    FrameTap* tap_ = nullptr;
    bool wire_ready_ = true;
    bool first_frame_ = true;
    bool slept_ = false;
    /// The engine said that there is more to do, or has got an input since its last run().
    bool engine_due_ = true;
    Nanoseconds now_ = 0;  // of the last poll()
    bool link_up_ = true;
    CardStats stats_;
};

}  // namespace dingo
