// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "dingo_hw.h"
#include "host/driver/bus_map.h"
#include "host/driver/mr.h"
#include "host/driver/shared_segments.h"

namespace dingo::uverbs {

/// Memory of a region: mappings, and a window of the bus from attach() on. Its first byte keeps its
/// place in the page.
class MrMemory {
  public:
    /// A client's. ErrnoError: EINVAL, ENOMEM, and what SegmentCache::map() has.
    MrMemory(BusMap& bus, SegmentCache& segments, const Mr::Range& range, bool writable);
    /// A DMABuf's: as map_dmabuf().
    MrMemory(BusMap& bus, int dmabuf, std::uint64_t offset, std::uint64_t length, bool writable,
             const std::shared_ptr<Account>& account);
    /// [offset, offset + length) of a place that is far as a whole.
    MrMemory(BusMap& bus, std::shared_ptr<FarPlace> place, std::uint64_t offset,
             std::uint64_t length, bool writable);
    ~MrMemory() {
        if (window_ != 0) {
            bus_.remove(window_);
        }
    }
    MrMemory(const MrMemory&) = delete;
    MrMemory& operator=(const MrMemory&) = delete;

    /// In one visit with what tells the card of the region. ErrnoError(ENOMEM).
    void attach();
    /// The memory as the card's commands describe it, once attached.
    [[nodiscard]] dingo_mem describe() const {
        dingo_mem mem{};
        mem.addr = window_ + in_page_;
        return mem;
    }
    [[nodiscard]] bool writable() const { return writable_; }
    /// ErrnoError(EFAULT): it was not shared for writing. The card may write after
    /// set_writable(true).
    void check_writable() const;
    void set_writable(bool writable);

  private:
    BusMap& bus_;
    /// Shared with a mover, for which it keeps the mappings.
    std::shared_ptr<const MappedRange> mapped_;
    std::shared_ptr<FarPlace> place_;       ///< none: a client's or a DMABuf's
    std::shared_ptr<ClientMemory> client_;  ///< none: a DMABuf
    std::uint64_t start_ = 0;               ///< in the client's memory, of the first page
    std::uint64_t length_;
    std::shared_ptr<Account> account_;  ///< whose memory it is; null: nobody's
    std::uint64_t in_page_;             ///< of the first byte, in the window
    bool writable_;
    std::uint64_t window_ = 0;  ///< 0: not there
};

}  // namespace dingo::uverbs
