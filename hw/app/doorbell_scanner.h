// SPDX-License-Identifier: BSD-2-Clause
//
// The card's side of doorbell pages in shared memory (contract: capability DB_MEMORY).
//
// A writer stores its 8-byte doorbell to a slot, sets the dirty byte of the slot's line, executes
// a full barrier and reads need_kick; if that is not 0 it kicks the card. A kick says not which
// page it was for.
//
// A value may be passed over when the next one is stored before the card looks. That must not
// happen to a CQ's request for an event, so the card marks what it has taken (bit TAKEN), and
// delivers doorbells without it.
//
// A page is active while its doorbells are in use: the scanner looks at it in every scan() and its
// need_kick is 0. Pages that are not active keep need_kick at 1 and cost nothing; the first
// doorbell there kicks, and a sweep over all pages finds it. Before the card sleeps, arm() sets
// need_kick on the active pages too. A kick that an active page explains still makes a sweep, as
// another page may have kicked at the same time, but a late one: most kicks are of active pages.
//
// A watched slot (capability DB_WATCH) has a writer that neither marks nor kicks, and is read in
// every scan(). The card then spins until no such doorbell came for a while, and after that sleeps
// for no longer than kWatchEvery.
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

/// Where found doorbells go.
class DoorbellSink {
  public:
    virtual ~DoorbellSink() = default;
    /// `offset` in the doorbell BAR of the 8-byte slot that now holds `value`.
    virtual void on_doorbell(std::uint64_t offset, std::uint64_t value) = 0;
};

struct DoorbellStats {
    std::uint64_t rings = 0;      ///< doorbells delivered
    std::uint64_t kicks = 0;      ///< kicks received
    std::uint64_t sweeps = 0;     ///< sweeps over all pages finished
    std::uint64_t activated = 0;  ///< pages that became active
};

class DoorbellScanner {
  public:
    static constexpr std::size_t kPageSize = 4096;
    static constexpr std::size_t kLineSize = 64;
    /// An active page without doorbells for this long is not looked at until it kicks.
    static constexpr Nanoseconds kIdleAfter = 1'000'000'000;
    /// How late the sweep after a kick that an active page explains may be.
    static constexpr Nanoseconds kSweepDelay = 2'000'000;
    /// How long the card stays awake after a doorbell of a watched slot.
    static constexpr Nanoseconds kWatchSpin = 20'000'000;
    /// Later it looks at watched slots this often.
    static constexpr Nanoseconds kWatchEvery = 50'000;

    /// `memory` is whole pages, all zero and outlives the scanner. Sets need_kick of every page.
    explicit DoorbellScanner(std::span<std::byte> memory);

    /// Looks at the active pages, and at some of the others while a sweep is due; hands every slot
    /// that changed and is not 0 to the sink. `now` only serves to retire idle pages. Returns how
    /// many doorbells it found. Of active pages, a receive queue's doorbell that was rung before a
    /// send queue's is delivered before it, whatever the order of the slots.
    unsigned scan(DoorbellSink& sink, Nanoseconds now);

    /// Looks at every page at once: what was rung before a trapped write is delivered before it, as
    /// posted writes on PCIe are. For rare writes (admin doorbell): it reads a line of each page.
    unsigned scan_all(DoorbellSink& sink, Nanoseconds now);

    /// A kick arrived: the next scan() finds out which page it was for.
    void kicked();

    /// A writer of this page kicked: the next scan() looks at it.
    void kicked(std::size_t page, Nanoseconds now);

    /// Pages from `count` on are unused: sweeps skip them. At first all pages are in use.
    void use_pages(std::size_t count);

    /// The page's memory was replaced by other memory, all zero: forgets what it held.
    void renew(std::size_t page);

    /// Stores 0 to a slot, without delivering it as a doorbell: before it gets another owner.
    void clear(std::uint64_t offset);

    /// Begins or ends watching a slot; what is not in the memory, or no slot, is ignored.
    void watch(std::size_t page, std::size_t slot, bool on, Nanoseconds now);
    [[nodiscard]] std::size_t watched() const { return watched_.size(); }
    /// The writer of a watched slot was busy a moment ago: do not sleep.
    [[nodiscard]] bool spins(Nanoseconds now) const {
        return !watched_.empty() && now < watched_ring_ + kWatchSpin;
    }

    /// True while a sweep is not finished: scan() again before sleeping.
    [[nodiscard]] bool sweeping() const { return sweep_left_ != 0 || kicked_; }

    /// When scan() must be called even without a kick; kNever when it need not.
    [[nodiscard]] Nanoseconds next_deadline() const {
        return watched_.empty() ? sweep_due_ : std::min(sweep_due_, watch_due_);
    }

    /// The card wants to sleep: asks for kicks and looks at the active pages once more. True: it
    /// may sleep, and every doorbell from now on kicks. False: doorbells arrived (they are
    /// delivered) and nothing is armed.
    [[nodiscard]] bool arm(DoorbellSink& sink, Nanoseconds now);

    /// The card is awake again.
    void disarm();

    /// A store by other means than shared memory, e.g. a trapped access: puts the bytes into the
    /// page and delivers the doorbell when it was an 8-byte store to a slot. The range is inside
    /// the memory, of 1, 2, 4 or 8 bytes and naturally aligned.
    void store(DoorbellSink& sink, std::uint64_t offset, std::uint64_t value, unsigned size);

    /// After a reset of the card: every page is zero and inactive again.
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
        std::unique_ptr<Shadow> shadow;  ///< last delivered value of each slot; made at first use
    };

    /// A slot whose writer does no more than store.
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
    std::size_t in_use_;  ///< how many of them a sweep looks at
    std::vector<std::size_t> active_;
    std::vector<Watched> watched_;
    Nanoseconds watched_ring_ = 0;  ///< last doorbell of a watched slot
    Nanoseconds watch_due_ = kNever;
    std::vector<Ring> rings_;  ///< read, in the order of reading
    std::size_t sweep_at_ = 0;
    std::size_t sweep_left_ = 0;
    Nanoseconds sweep_due_ = kNever;
    std::size_t retire_at_ = 0;
    bool kicked_ = false;
    bool rang_since_arm_ = false;  ///< an active page did: it explains a kick
    DoorbellStats stats_;
};

}  // namespace dingo
