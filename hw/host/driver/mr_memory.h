// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "dingo_hw.h"
#include "host/driver/bus_map.h"
#include "host/driver/mr.h"
#include "host/driver/shared_segments.h"

namespace dingo::uverbs {

/// Memory of a region: mappings, and a window of the bus. Its first byte keeps its place in the
/// page.
class MrMemory {
  public:
    /// A client's. ErrnoError: EINVAL, ENOMEM, and what SegmentCache::map() has.
    MrMemory(BusMap& bus, SegmentCache& segments, const Mr::Range& range, bool writable);
    /// A DMABuf's: as map_dmabuf().
    MrMemory(BusMap& bus, int dmabuf, std::uint64_t offset, std::uint64_t length, bool writable);
    ~MrMemory() { bus_.remove(window_); }
    MrMemory(const MrMemory&) = delete;
    MrMemory& operator=(const MrMemory&) = delete;

    /// For the card.
    [[nodiscard]] dingo_mem describe() const {
        dingo_mem mem{};
        mem.addr = window_ + in_page_;
        return mem;
    }
    [[nodiscard]] bool writable() const { return writable_; }
    /// Prepares the mappings for writing: ErrnoError(EFAULT) when they were not shared so. The card
    /// may write after set_writable(true).
    void make_mappings_writable();
    void set_writable(bool writable);

  private:
    BusMap& bus_;
    MappedRange mapped_;
    std::uint64_t in_page_;
    bool writable_;
    std::uint64_t window_ = 0;
};

}  // namespace dingo::uverbs
