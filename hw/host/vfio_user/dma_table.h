// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/unique_fd.h"

namespace dingo::vfio_user {

/// One window of the client's memory.
struct DmaRegion {
    std::uint64_t address = 0;  ///< first bus address
    std::uint64_t size = 0;
    std::byte* base = nullptr;  ///< mapping of `address`; nullptr: accessible by messages only
    bool readable = false;
    bool writable = false;

    /// Returns the bytes from `addr`, which must be inside, to the end of the region.
    [[nodiscard]] std::uint64_t left(std::uint64_t addr) const { return size - (addr - address); }
};

/// The client's memory as described by DMA_MAP.
///
/// A client can shrink a file that is mapped here; accessing the missing pages raises SIGBUS.
/// install_fault_handler() replaces them by zero pages and counts them, see take_faults().
class DmaTable {
  public:
    DmaTable();
    ~DmaTable();
    DmaTable(const DmaTable&) = delete;
    DmaTable& operator=(const DmaTable&) = delete;

    /// Adds a window; `flags` as in DmaMap. If `fd` is a regular file (memfd, hugetlbfs), it is
    /// mapped at `offset`. Without a descriptor, or with one that is not a file (a peer device's
    /// BAR), the window is accessed by messages. Returns 0 or an errno: EINVAL for size, alignment
    /// or flags; EEXIST for an overlap; ENOSPC for too many windows; ERANGE beyond the end of the
    /// file; or mmap's errno.
    int map(std::uint64_t address, std::uint64_t size, std::uint64_t offset, std::uint32_t flags,
            UniqueFd fd);

    /// Removes the windows in a range as a whole: behind an IOMMU, QEMU maps page by page and
    /// unmaps ranges. Returns 0, or ENOENT if there is none or the range cuts through one.
    int unmap(std::uint64_t address, std::uint64_t size);
    void unmap_all();

    /// Between hold() and release(), removed windows stay mapped, so that pointers into them remain
    /// valid. For requests that are served while the engine is inside a DMA call.
    void hold() { held_ = true; }
    void release();

    /// Returns the region that contains `addr`, or nullptr.
    [[nodiscard]] const DmaRegion* find(std::uint64_t addr) const {
        // Most accesses hit the same region as the previous one: guest RAM is one or two windows.
        if (last_ < regions_.size() && addr - regions_[last_].address < regions_[last_].size) {
            return &regions_[last_];
        }
        return find_slow(addr);
    }

    [[nodiscard]] std::size_t size() const { return regions_.size(); }
    [[nodiscard]] std::uint64_t mapped_bytes() const;

    /// Installs the process-wide SIGBUS handler; call it once at start. Other faults still kill the
    /// process.
    static void install_fault_handler();
    /// Returns the number of replaced pages since the last call.
    static std::uint64_t take_faults();

  private:
    [[nodiscard]] const DmaRegion* find_slow(std::uint64_t addr) const;

    std::vector<DmaRegion> regions_;  ///< sorted by address
    std::vector<std::span<std::byte>> graveyard_;
    bool held_ = false;
    mutable std::size_t last_ = 0;
};

}  // namespace dingo::vfio_user
