// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "dingo_hw.h"
#include "host/driver/bus_map.h"
#include "host/driver/mr.h"
#include "host/driver/shared_segments.h"

namespace dingo::uverbs {

/// Memory of a region: mappings, and from attach() on a window of the bus. The first byte keeps its
/// offset in the page.
class MrMemory {
  public:
    /// Memory of a client. Throws ErrnoError: EINVAL, ENOMEM, and errors of SegmentCache::map().
    MrMemory(BusMap& bus, SegmentCache& segments, const Mr::Range& range, bool writable);
    /// Memory of a DMABuf, as in map_dmabuf().
    MrMemory(BusMap& bus, int dmabuf, std::uint64_t offset, std::uint64_t length, bool writable,
             const std::shared_ptr<Account>& account);
    /// Far memory as a whole: [offset, offset + length) of `place`.
    MrMemory(BusMap& bus, std::shared_ptr<FarPlace> place, std::uint64_t offset,
             std::uint64_t length, bool writable);
    ~MrMemory() {
        place_.reset();  // remove() waits for its end
        if (window_ != 0) {
            bus_.remove(window_);
        }
    }
    MrMemory(const MrMemory&) = delete;
    MrMemory& operator=(const MrMemory&) = delete;

    /// Called in the same visit that tells the card of the region. Throws ErrnoError(ENOMEM).
    void attach();
    /// The memory in the format of the card's commands, after attach().
    [[nodiscard]] dingo_mem describe() const {
        dingo_mem mem{};
        mem.addr = window_ + in_page_;
        return mem;
    }
    [[nodiscard]] bool writable() const { return writable_; }
    /// Throws ErrnoError(EFAULT) if it was not shared for writing. The card may write after
    /// set_writable(true).
    void check_writable() const;
    void set_writable(bool writable);

  private:
    BusMap& bus_;
    /// Shared with a mover, for which it keeps the mappings.
    std::shared_ptr<const MappedRange> mapped_;
    std::shared_ptr<FarPlace> place_;       ///< null for a client's memory or a DMABuf
    std::shared_ptr<ClientMemory> client_;  ///< null for a DMABuf
    std::uint64_t start_ = 0;               ///< address of the first page in the client
    std::uint64_t length_;
    std::shared_ptr<Account> account_;  ///< whose memory it is; null: nobody's
    std::uint64_t in_page_;             ///< of the first byte, in the window
    bool writable_;
    std::uint64_t window_ = 0;  ///< 0: not attached
};

}  // namespace dingo::uverbs
