// SPDX-License-Identifier: BSD-2-Clause
#include "doorbell_scanner.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "dingo/touch.h"
#include "dingo_hw.h"

namespace dingo {
namespace {

constexpr std::size_t kNeedKick = DINGO_DB_NEED_KICK_OFFSET;
constexpr std::size_t kDirty = DINGO_DB_DIRTY_OFFSET;
constexpr std::size_t kFirstLine =
    DINGO_DB_FIRST_SLOT * sizeof(std::uint64_t) / DoorbellScanner::kLineSize;
constexpr std::size_t kSlotsPerLine = DoorbellScanner::kLineSize / sizeof(std::uint64_t);
constexpr std::uint64_t kTaken = DINGO_DOORBELL_WORD0_TAKEN_MASK;
/// Inactive pages read per scan() during a sweep: about 10 us of cache misses.
constexpr std::size_t kSweepStep = 256;

/// Accesses memory shared with untrusted writers: every access is atomic.
template <typename T>
std::atomic_ref<T> shared(std::byte* p) {
    return std::atomic_ref<T>(*reinterpret_cast<T*>(p));
}

/// Number of retries of take() after the writer was faster.
constexpr int kTakeTries = 8;

bool is_cq(std::uint64_t value) {
    return DINGO_GET(DINGO_DOORBELL_WORD0_TYPE_MASK, static_cast<std::uint32_t>(value)) ==
           DINGO_DB_CQ;
}

/// Returns the doorbell in a slot without the card's mark.
std::uint64_t doorbell_in(std::uint64_t slot) {
    return is_cq(slot) ? slot & ~kTaken : slot;
}

static_assert(std::endian::native == std::endian::little, "dirty bytes are read eight at a time");

}  // namespace

DoorbellScanner::DoorbellScanner(std::span<std::byte> memory)
    : memory_(memory), pages_(memory.size() / kPageSize), in_use_(pages_.size()) {
    for (std::size_t page = 0; page < pages_.size(); ++page) {
        set_need_kick(page, 1);
    }
}

// Sequentially consistent, like the loads of dirty in scan_page(). A writer sets dirty and reads
// need_kick, the card sets need_kick and reads dirty: at least one of them sees the other's store.
void DoorbellScanner::set_need_kick(std::size_t page, std::uint32_t value) {
    touches(at(page), 1);
    shared<std::uint32_t>(at(page) + kNeedKick).store(value, std::memory_order_seq_cst);
}

DoorbellScanner::Shadow& DoorbellScanner::shadow_of(std::size_t page) {
    if (pages_[page].shadow == nullptr) {
        pages_[page].shadow = std::make_unique<Shadow>();
    }
    return *pages_[page].shadow;
}

// Reads a slot. In a CQ's slot it sets TAKEN atomically, so that the writer knows which request to
// arm was seen (contract: doorbell page). The writer of a watched slot cannot use compare-and-swap
// with the card, so there the card only reads.
std::uint64_t DoorbellScanner::take(std::size_t page, std::size_t slot) {
    auto memory = shared<std::uint64_t>(at(page) + slot * sizeof(std::uint64_t));
    std::uint64_t value = memory.load(std::memory_order_acquire);
    const std::uint64_t offset = page * kPageSize + slot * sizeof value;
    const bool swaps = is_cq(value) && (watched_.empty() || !is_watched(offset));
    for (int tries = 0; swaps && is_cq(value) && (value & kTaken) == 0; ++tries) {
        if (tries == kTakeTries) {  // a hostile writer; the slot is read again later
            shared<std::uint8_t>(at(page) + kDirty + slot / kSlotsPerLine).store(1);
            return shadow_of(page)[slot];
        }
        if (memory.compare_exchange_strong(value, value | kTaken, std::memory_order_acq_rel,
                                           std::memory_order_acquire)) {
            break;
        }
    }
    return doorbell_in(value);
}

unsigned DoorbellScanner::scan_line(std::size_t page, std::size_t line) {
    // Clear first: a doorbell stored after the loads below sets dirty again.
    shared<std::uint8_t>(at(page) + kDirty + line).exchange(0, std::memory_order_seq_cst);
    if (line < kFirstLine) {
        return 0;
    }
    Shadow& shadow = shadow_of(page);
    unsigned found = 0;
    for (std::size_t slot = line * kSlotsPerLine; slot < (line + 1) * kSlotsPerLine; ++slot) {
        const std::uint64_t value = take(page, slot);
        if (value == shadow[slot]) {
            continue;
        }
        shadow[slot] = value;
        if (value != 0) {
            rings_.push_back({page * kPageSize + slot * sizeof(value), value});
            ++found;
        }
    }
    return found;
}

unsigned DoorbellScanner::scan_page(std::size_t page) {
    unsigned found = 0;
    touches(at(page), 1);
    for (std::size_t word = 0; word < kLineSize / sizeof(std::uint64_t); ++word) {
        auto dirty = shared<std::uint64_t>(at(page) + kDirty + word * sizeof(std::uint64_t))
                         .load(std::memory_order_seq_cst);
        while (dirty != 0) {
            const auto byte = static_cast<std::size_t>(std::countr_zero(dirty)) / 8;
            dirty &= ~(std::uint64_t{0xFF} << (8 * byte));
            found += scan_line(page, word * sizeof(std::uint64_t) + byte);
        }
    }
    stats_.rings += found;
    return found;
}

unsigned DoorbellScanner::scan_watched(Nanoseconds now) {
    unsigned found = 0;
    for (const Watched& slot : watched_) {
        touches(memory_.data() + slot.offset, sizeof(std::uint64_t));
        const std::uint64_t value = doorbell_in(
            shared<std::uint64_t>(memory_.data() + slot.offset).load(std::memory_order_acquire));
        if (value == *slot.shadow) {
            continue;
        }
        *slot.shadow = value;
        if (value != 0) {
            rings_.push_back({slot.offset, value});
            ++found;
        }
    }
    if (found != 0) {
        watched_ring_ = now;
        stats_.rings += found;
    }
    watch_due_ = now + kWatchEvery;
    return found;
}

unsigned DoorbellScanner::scan_active(Nanoseconds now) {
    unsigned found = watched_.empty() ? 0 : scan_watched(now);
    for (const std::size_t page : active_) {
        if (const unsigned n = scan_page(page); n != 0) {
            pages_[page].last_ring = now;
            found += n;
        }
    }
    rang_since_arm_ |= found != 0;
    return found;
}

void DoorbellScanner::activate(std::size_t page, Nanoseconds now) {
    pages_[page].active = true;
    pages_[page].last_ring = now;
    active_.push_back(page);
    ++stats_.activated;
    set_need_kick(page, 0);
}

unsigned DoorbellScanner::sweep_some(Nanoseconds now) {
    unsigned found = 0;
    for (std::size_t i = 0; i < kSweepStep && sweep_left_ != 0; ++i, --sweep_left_) {
        const std::size_t page = sweep_at_ < in_use_ ? sweep_at_ : 0;
        sweep_at_ = page + 1;
        if (pages_[page].active) {
            continue;
        }
        if (const unsigned n = scan_page(page); n != 0) {
            found += n;
            activate(page, now);
        }
    }
    stats_.sweeps += sweep_left_ == 0;
    return found;
}

// Checks one active page per call, so that the cost does not depend on their number.
unsigned DoorbellScanner::retire_idle(Nanoseconds now) {
    if (active_.empty()) {
        return 0;
    }
    retire_at_ = (retire_at_ + 1) % active_.size();
    const std::size_t page = active_[retire_at_];
    if (now - pages_[page].last_ring < kIdleAfter) {
        return 0;
    }
    set_need_kick(page, 1);
    if (const unsigned found = scan_page(page); found != 0) {
        set_need_kick(page, 0);
        pages_[page].last_ring = now;
        return found;
    }
    pages_[page].active = false;
    active_[retire_at_] = active_.back();
    active_.pop_back();
    return 0;
}

void DoorbellScanner::kicked() {
    kicked_ = true;
    ++stats_.kicks;
}

void DoorbellScanner::kicked(std::size_t page, Nanoseconds now) {
    ++stats_.kicks;
    if (!pages_[page].active) {
        activate(page, now);
    }
}

void DoorbellScanner::use_pages(std::size_t count) {
    in_use_ = std::min(count, pages_.size());
    sweep_left_ = std::min(sweep_left_, in_use_);
}

void DoorbellScanner::renew(std::size_t page) {
    std::erase(active_, page);
    std::erase_if(watched_, [&](const Watched& w) { return w.offset / kPageSize == page; });
    std::erase_if(rings_, [&](const Ring& ring) { return ring.offset / kPageSize == page; });
    pages_[page] = Page{};
    set_need_kick(page, 1);
}

void DoorbellScanner::clear(std::uint64_t offset) {
    touches(memory_.data() + offset, sizeof(std::uint64_t));
    shared<std::uint64_t>(memory_.data() + offset).store(0, std::memory_order_relaxed);
    std::erase_if(rings_, [&](const Ring& ring) { return ring.offset == offset; });
    if (Page& page = pages_[offset / kPageSize]; page.shadow != nullptr) {
        (*page.shadow)[offset % kPageSize / sizeof(std::uint64_t)] = 0;
    }
}

void DoorbellScanner::watch(std::size_t page, std::size_t slot, bool on, Nanoseconds now) {
    if (page >= pages_.size() || slot < kFirstLine * kSlotsPerLine ||
        slot >= kPageSize / sizeof(std::uint64_t)) {
        return;
    }
    const std::uint64_t offset = page * kPageSize + slot * sizeof(std::uint64_t);
    if (!on) {
        std::erase_if(watched_, [&](const Watched& w) { return w.offset == offset; });
    } else if (!is_watched(offset)) {
        watched_.push_back({offset, &shadow_of(page)[slot]});
        watched_ring_ = now;
        watch_due_ = now;
    }
}

bool DoorbellScanner::Ring::sends() const {
    const auto type = DINGO_GET(DINGO_DOORBELL_WORD0_TYPE_MASK, static_cast<std::uint32_t>(value));
    return type == DINGO_DB_SQ || type == DINGO_DB_ETH_TX;
}

// A doorbell rung before a send is visible once the send is, so a second scan after reading the
// sends finds it in whichever slot. Sends found only by the second scan wait for the next call, as
// doorbells rung before them may not have been seen yet.
unsigned DoorbellScanner::deliver(DoorbellSink& sink, Nanoseconds now) {
    const std::size_t first_look = rings_.size();
    if (std::ranges::any_of(rings_, &Ring::sends)) {
        scan_active(now);
    }
    const auto found = static_cast<unsigned>(rings_.size());
    for (const Ring& ring : rings_) {
        if (!ring.sends()) {
            sink.on_doorbell(ring.offset, ring.value);
        }
    }
    std::size_t waiting = 0;
    for (std::size_t i = 0; i < rings_.size(); ++i) {
        if (!rings_[i].sends()) {
            continue;
        }
        if (i < first_look) {
            sink.on_doorbell(rings_[i].offset, rings_[i].value);
        } else {
            rings_[waiting++] = rings_[i];
        }
    }
    rings_.resize(waiting);
    return found;
}

unsigned DoorbellScanner::scan(DoorbellSink& sink, Nanoseconds now) {
    scan_active(now);
    if (kicked_) {
        kicked_ = false;
        sweep_due_ = std::min(sweep_due_, rang_since_arm_ ? now + kSweepDelay : now);
    }
    if (sweep_due_ <= now) {
        sweep_due_ = kNever;
        sweep_left_ = in_use_;
    }
    if (sweep_left_ != 0) {
        sweep_some(now);
    }
    retire_idle(now);
    return deliver(sink, now);
}

unsigned DoorbellScanner::scan_all(DoorbellSink& sink, Nanoseconds now) {
    sweep_left_ = in_use_;
    while (sweep_left_ != 0) {
        sweep_some(now);
    }
    // Twice: sends found by the second scan of the first call are due as well.
    unsigned found = scan(sink, now);
    if (!rings_.empty()) {
        found += scan(sink, now);
    }
    return found;
}

bool DoorbellScanner::arm(DoorbellSink& sink, Nanoseconds now) {
    for (const std::size_t page : active_) {
        set_need_kick(page, 1);
    }
    scan_active(now);
    if (deliver(sink, now) != 0) {
        disarm();
        return false;
    }
    rang_since_arm_ = false;
    return true;
}

void DoorbellScanner::disarm() {
    for (const std::size_t page : active_) {
        set_need_kick(page, 0);
    }
}

void DoorbellScanner::store(DoorbellSink& sink, std::uint64_t offset, std::uint64_t value,
                            unsigned size) {
    std::byte* const to = memory_.data() + offset;
    touches(to, size);
    switch (size) {
        case 1:
            shared<std::uint8_t>(to).store(static_cast<std::uint8_t>(value));
            return;
        case 2:
            shared<std::uint16_t>(to).store(static_cast<std::uint16_t>(value));
            return;
        case 4:
            shared<std::uint32_t>(to).store(static_cast<std::uint32_t>(value));
            return;
        default:
            shared<std::uint64_t>(to).store(is_cq(value) ? value | kTaken : value);
            value = doorbell_in(value);
    }
    const std::size_t in_page = offset % kPageSize;
    if (in_page >= kFirstLine * kLineSize && value != 0) {
        shadow_of(offset / kPageSize)[in_page / sizeof(value)] = value;
        ++stats_.rings;
        sink.on_doorbell(offset, value);
    }
}

void DoorbellScanner::reset() {
    for (std::size_t page = 0; page < pages_.size(); ++page) {
        Page& p = pages_[page];
        bool used = p.shadow != nullptr;
        touches(at(page), 1);
        for (std::size_t offset = kDirty; offset < kDirty + kLineSize; offset += 8) {
            used |= shared<std::uint64_t>(at(page) + offset).load(std::memory_order_relaxed) != 0;
        }
        if (used) {
            for (std::size_t offset = kDirty; offset < kPageSize; offset += sizeof(std::uint64_t)) {
                shared<std::uint64_t>(at(page) + offset).store(0, std::memory_order_relaxed);
            }
        }
        p = Page{};
        set_need_kick(page, 1);
    }
    active_.clear();
    watched_.clear();
    rings_.clear();
    sweep_left_ = 0;
    sweep_due_ = kNever;
    kicked_ = false;
    rang_since_arm_ = false;
}

}  // namespace dingo
