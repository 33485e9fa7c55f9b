// SPDX-License-Identifier: BSD-2-Clause
// The card's side of doorbell pages in shared memory (contract: capability DB_MEMORY).
//
// A writer stores its 8-byte doorbell in a slot, sets the dirty byte of the slot's line, executes a
// full barrier and reads need_kick; if that is not 0 it kicks the card. A kick does not say which
// page it is for.
//
// A value may be overwritten by the next one before the card has read it. That must not happen to a
// CQ's request for an event, so the card marks values that it has taken (bit TAKEN), and delivers
// doorbells without the bit.
//
// A page is active while its doorbells are in use: every scan() reads it and its need_kick is 0.
// Inactive pages keep need_kick at 1 and cost nothing; their first doorbell kicks the card, and a
// sweep over all pages finds it. Before the card sleeps, arm() sets need_kick on the active pages,
// too. A kick that a doorbell of an active page explains also causes a sweep, as another page may
// have kicked at the same time, but a delayed one, as most kicks are for active pages.
//
// A watched slot (capability DB_WATCH) has a writer that neither marks nor kicks, so every scan()
// reads it. The card then spins until no such doorbell has arrived for a while, and sleeps for at
// most kWatchEvery after that.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dingo/engine.h"

namespace dingo {

/// Receives the doorbells that were found.
class DoorbellSink {
  public:
    virtual ~DoorbellSink() = default;
    /// `offset` is the offset in the doorbell BAR of the 8-byte slot that now holds `value`.
    virtual void on_doorbell(std::uint64_t offset, std::uint64_t value) = 0;
};

struct DoorbellStats {
    std::uint64_t rings = 0;      ///< doorbells delivered
    std::uint64_t kicks = 0;      ///< kicks received
    std::uint64_t sweeps = 0;     ///< completed sweeps over all pages
    std::uint64_t activated = 0;  ///< pages that became active
};

class DoorbellScanner {
  public:
    static constexpr std::size_t kPageSize = 4096;
    static constexpr std::size_t kLineSize = 64;
    /// An active page without doorbells for this long becomes inactive.
    static constexpr Nanoseconds kIdleAfter = 1'000'000'000;
    /// Maximum delay of the sweep after a kick that an active page explains.
    static constexpr Nanoseconds kSweepDelay = 2'000'000;
    /// How long the card stays awake after a doorbell of a watched slot.
    static constexpr Nanoseconds kWatchSpin = 20'000'000;
    /// After that, period at which watched slots are read.
    static constexpr Nanoseconds kWatchEvery = 50'000;

    /// `memory` consists of whole pages, is zeroed and must outlive the scanner. Sets need_kick of
    /// every page.
    explicit DoorbellScanner(std::span<std::byte> memory);

    /// Reads the active pages, and some of the others while a sweep is due, and delivers every slot
    /// that changed and is not 0. `now` only serves to retire idle pages. Returns the number of
    /// doorbells found. For active pages, a receive queue's doorbell that was rung before a send
    /// queue's is delivered before it, whatever the order of the slots.
    unsigned scan(DoorbellSink& sink, Nanoseconds now);

    /// Reads every page at once: doorbells rung before a trapped write are delivered before it,
    /// like posted writes on PCIe. For rare writes only (admin doorbell), as it reads a line of
    /// each page.
    unsigned scan_all(DoorbellSink& sink, Nanoseconds now);

    /// A kick arrived: the next scan() finds the page.
    void kicked();

    /// A writer of this page has kicked: the next scan() reads it.
    void kicked(std::size_t page, Nanoseconds now);

    /// Sets the number of pages in use; sweeps skip the others. Initially all pages are in use.
    void use_pages(std::size_t count);

    /// The page was replaced by other, zeroed memory: forgets its values.
    void renew(std::size_t page);

    /// Stores 0 in a slot without delivering it, before the slot gets another owner.
    void clear(std::uint64_t offset);

    /// Starts or stops watching a slot. Ignores slots that do not exist.
    void watch(std::size_t page, std::size_t slot, bool on, Nanoseconds now);
    [[nodiscard]] std::size_t watched() const { return watched_.size(); }
    /// Returns true if a watched slot was written recently, so that the card should not sleep.
    [[nodiscard]] bool spins(Nanoseconds now) const {
        return !watched_.empty() && now < watched_ring_ + kWatchSpin;
    }

    /// Returns true while a sweep is unfinished: call scan() again before sleeping.
    [[nodiscard]] bool sweeping() const { return sweep_left_ != 0 || kicked_; }

    /// Time at which scan() must be called even without a kick; kNever if it need not.
    [[nodiscard]] Nanoseconds next_deadline() const {
        return watched_.empty() ? sweep_due_ : std::min(sweep_due_, watch_due_);
    }

    /// Called before the card sleeps: requests kicks and reads the active pages once more. Returns
    /// true if the card may sleep; every doorbell from now on kicks. Returns false if doorbells
    /// arrived (they are delivered); then kicks are not requested.
    [[nodiscard]] bool arm(DoorbellSink& sink, Nanoseconds now);

    /// The card is awake again; no more kicks are needed for active pages.
    void disarm();

    /// Handles a store that did not go through shared memory, such as a trapped access: writes the
    /// bytes to the page and delivers the doorbell if it is an 8-byte store to a slot. The range is
    /// inside the memory, 1, 2, 4 or 8 bytes long and naturally aligned.
    void store(DoorbellSink& sink, std::uint64_t offset, std::uint64_t value, unsigned size);

    /// After a reset of the card: zeroes every page and makes it inactive.
    void reset();

    [[nodiscard]] const DoorbellStats& stats() const { return stats_; }
    [[nodiscard]] std::size_t active_pages() const { return active_.size(); }

  private:
    /// A doorbell read from memory and not yet delivered.
    struct Ring {
        std::uint64_t offset;
        std::uint64_t value;
        [[nodiscard]] bool sends() const;
    };
    using Shadow = std::array<std::uint64_t, kPageSize / sizeof(std::uint64_t)>;
    struct Page {
        Nanoseconds last_ring = 0;
        bool active = false;
        std::unique_ptr<Shadow> shadow;  ///< last delivered value of each slot; allocated on first
                                         ///< use
    };

    /// A slot whose writer only stores.
    struct Watched {
        std::uint64_t offset;
        std::uint64_t* shadow;
    };

    [[nodiscard]] bool is_watched(std::uint64_t offset) const {
        return std::ranges::find(watched_, offset, &Watched::offset) != watched_.end();
    }
    unsigned scan_watched(Nanoseconds now);
    [[nodiscard]] std::uint64_t take(std::size_t page, std::size_t slot);
    [[nodiscard]] std::byte* at(std::size_t page) const {
        return memory_.data() + page * kPageSize;
    }
    void set_need_kick(std::size_t page, std::uint32_t value);
    Shadow& shadow_of(std::size_t page);
    unsigned scan_page(std::size_t page);
    unsigned scan_line(std::size_t page, std::size_t line);
    unsigned scan_active(Nanoseconds now);
    unsigned sweep_some(Nanoseconds now);
    unsigned retire_idle(Nanoseconds now);
    unsigned deliver(DoorbellSink& sink, Nanoseconds now);
    void activate(std::size_t page, Nanoseconds now);

    std::span<std::byte> memory_;
    std::vector<Page> pages_;
    std::size_t in_use_;  ///< number of pages that a sweep reads
    std::vector<std::size_t> active_;
    std::vector<Watched> watched_;
    Nanoseconds watched_ring_ = 0;  ///< last doorbell of a watched slot
    Nanoseconds watch_due_ = kNever;
    std::vector<Ring> rings_;  ///< values read, in reading order
    std::size_t sweep_at_ = 0;
    std::size_t sweep_left_ = 0;
    Nanoseconds sweep_due_ = kNever;
    std::size_t retire_at_ = 0;
    bool kicked_ = false;
    bool rang_since_arm_ = false;  ///< an active page did ring, which explains a kick
    DoorbellStats stats_;
};

}  // namespace dingo
