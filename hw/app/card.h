// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/gate.h"
#include "base/poller.h"
#include "base/shared_memory.h"
#include "dingo/engine.h"
#include "doorbell_scanner.h"
#include "host/local_card.h"
#include "wire/wire.h"

namespace dingo {

struct CardStats {
    std::uint64_t link_down_drops = 0;  ///< frames that arrived while the link was down
    std::uint64_t trapped_reads = 0;
    std::uint64_t trapped_writes = 0;
};

/// Options of the memory of a card.
struct MemoryOptions {
    std::uint64_t bytes = 0;  ///< a power of two, at least DINGO_MEM_MIN_SIZE; 0: none
    bool counted = false;     ///< each access of other devices is a counted message: slow
};

/// An engine with its doorbell pages and its wire, without clock and descriptors: the owner calls
/// poll() with the time and sleeps as prepare_sleep() and next_deadline() allow.
class Card final : public LocalCard, public DoorbellSink, public FrameSink {
  public:
    /// `gate` is that of the thread that serves the card. `host` and `wire` must outlive the card.
    /// Throws std::invalid_argument if no engine has this name or the engine's registers are
    /// inconsistent.
    Card(std::string_view engine, const EngineConfig& config, HostPort& host, Wire& wire,
         std::shared_ptr<Gate> gate = std::make_shared<Gate>(), const MemoryOptions& memory = {});
    ~Card() override;
    Card(const Card&) = delete;
    Card& operator=(const Card&) = delete;

    /// One fair round: time, doorbells, frames, engine, transmit. Returns true if more work is
    /// pending now.
    bool poll(Nanoseconds now);

    /// Tells that the wire's descriptor is readable. Frames are received only after this call, or
    /// in every round from a wire without descriptor.
    void wire_readable() { wire_ready_ = true; }

    /// Asks doorbell writers to kick from now on. Returns false if work is pending: call poll()
    /// again; the result stays false until poll() or the engine has run. After true, call woke()
    /// before the next poll().
    [[nodiscard]] bool prepare_sleep(Nanoseconds now);
    void woke();
    /// Called before a request of the host between two poll() calls: sets the current time, as the
    /// last poll() of a sleeping card may be long ago.
    void advance(Nanoseconds now);
    /// As advance(), for a host in another thread; does not enter the gate of a card that is awake.
    void host_asks(Nanoseconds now);
    /// Returns true if the engine got work since its last run.
    [[nodiscard]] bool engine_due() const { return engine_due_; }

    /// Time at which poll() must be called even without input.
    [[nodiscard]] Nanoseconds next_deadline() const;

    /// Sets the link up or down. A wire without a peer stays down.
    void set_link(bool up);
    [[nodiscard]] bool link() const { return link_up_; }

    // LocalCard
    [[nodiscard]] const std::shared_ptr<Gate>& gate() override { return gate_; }
    [[nodiscard]] const PciIdentity& identity() const override { return identity_; }
    void run_engine() override;
    [[nodiscard]] Nanoseconds now() const override { return now_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::span<std::byte> doorbell_memory() const override;
    void use_doorbell_pages(std::size_t count) override;
    void renew_doorbell_page(std::size_t page) override;
    void clear_doorbell(std::uint64_t offset) override;
    void doorbell_page_kicked(std::size_t page) override;
    void ring(std::uint64_t offset, std::uint64_t value) override;
    Poller::Id watch_kick(int fd, Pollable& who) override;
    void unwatch_kick(Poller::Id id) override;
    void memory_became_far(const std::function<bool(const std::byte*)>& there) override;
    bool send_posted(std::uint32_t qpn) override;
    void take_doorbells() override;
    [[nodiscard]] WirePort& frames() override { return wire_; }
    void flush_frames() override;
    void set_frame_tap(FrameTap* tap) override;
    void pass_frame(std::span<const std::byte> frame) override;
    [[nodiscard]] bool resolves_addresses() const override { return wire_.resolves(); }
    [[nodiscard]] std::uint16_t fixed_source_port() const override {
        return wire_.fixed_source_port();
    }

    // PciFunction
    std::uint64_t read(Bar bar, std::uint64_t offset, unsigned size) override;
    std::optional<std::uint64_t> peek(Bar bar, std::uint64_t offset, unsigned size) override;
    void write(Bar bar, std::uint64_t offset, std::uint64_t value, unsigned size) override;
    void reset() override;
    [[nodiscard]] int doorbell_fd() const override;
    [[nodiscard]] std::span<std::byte> memory() const override;
    [[nodiscard]] int memory_fd() const override;
    void count_memory_access(bool write, std::uint64_t bytes) override;

    // DoorbellSink, FrameSink
    void on_doorbell(std::uint64_t offset, std::uint64_t value) override;
    void on_frame(std::span<const std::byte> frame) override;
    void on_frame_without_icrc(std::span<const std::byte> frame, const Elsewhere& payload) override;
    void on_train(std::span<const std::byte> frame, const Elsewhere& payload,
                  unsigned packets) override;

    /// Sets the group that watches kicks; called with the gate held; null: none.
    void set_kick_polls(PollGroup* polls) { kick_polls_ = polls; }

    [[nodiscard]] std::string_view engine_name() const { return engine_->name(); }
    [[nodiscard]] std::optional<SimulatedClock> simulated_clock() const {
        return engine_->simulated_clock();
    }
    [[nodiscard]] const CardStats& stats() const { return stats_; }
    /// nullptr without doorbells in memory.
    [[nodiscard]] const DoorbellScanner* scanner() const { return scanner_ ? &*scanner_ : nullptr; }

  private:
    void set_now(Nanoseconds now);
    std::uint32_t register32(std::uint64_t offset) {
        return static_cast<std::uint32_t>(engine_->mmio_read(Bar::kRegisters, offset, 4));
    }

    /// Prepares for a received frame. Returns false if the engine must not get the frame.
    bool admit_frame();

    std::shared_ptr<Gate> gate_;
    Wire& wire_;
    CardMemory memory_;
    std::optional<SharedMemory> memory_pages_;
    std::unique_ptr<Engine> engine_;
    PciIdentity identity_;
    std::optional<SharedMemory> doorbells_;
    std::optional<DoorbellScanner> scanner_;
    FrameTap* tap_ = nullptr;
    PollGroup* kick_polls_ = nullptr;
    bool wire_ready_ = true;
    bool first_frame_ = true;
    // Changed with the gate held, may be read without.
    std::atomic<bool> sleeps_ = false;  ///< from prepare_sleep() to woke()
    std::atomic<bool> slept_ = false;
    /// The engine has more work, or got an input since its last run().
    bool engine_due_ = true;
    std::atomic<Nanoseconds> now_ = 0;  ///< time of the last poll() or advance()
    bool link_up_ = true;
    CardStats stats_;
};

}  // namespace dingo
