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
    std::byte* base = nullptr;  ///< where `address` is mapped; nullptr = only by messages
    bool readable = false;
    bool writable = false;

    /// Bytes from addr (which must be inside) to the end of the region.
    [[nodiscard]] std::uint64_t left(std::uint64_t addr) const { return size - (addr - address); }
};

/// The client's memory as DMA_MAP described it.
///
/// A client can shrink a file that we have mapped; touching the missing pages would raise SIGBUS.
/// install_fault_handler() puts zero pages there instead and counts, see take_faults().
class DmaTable {
  public:
    DmaTable();
    ~DmaTable();
    DmaTable(const DmaTable&) = delete;
    DmaTable& operator=(const DmaTable&) = delete;

    /// Adds a window; `flags` as in DmaMap. A regular file (memfd, hugetlbfs) in fd is mapped at
    /// `offset`; without one, or with a descriptor that is no file (a peer device's BAR), the
    /// window is reached by messages. Returns 0 or an errno: EINVAL size, alignment or flags;
    /// EEXIST overlap; ENOSPC too many windows; ERANGE beyond the end of the file; or mmap's.
    int map(std::uint64_t address, std::uint64_t size, std::uint64_t offset, std::uint32_t flags,
            UniqueFd fd);

    /// Removes the windows in a range, each of them whole: behind an IOMMU QEMU maps page by page
    /// and takes away by ranges. 0, or ENOENT when there is none or the range cuts one.
    int unmap(std::uint64_t address, std::uint64_t size);
    void unmap_all();

    /// While held, removed windows stay mapped, so that pointers into them stay valid; release()
    /// unmaps them. For requests that are served while the engine is inside a DMA call.
    void hold() { held_ = true; }
    void release();

    /// The region that contains addr, or nullptr.
    [[nodiscard]] const DmaRegion* find(std::uint64_t addr) const {
        // Most accesses hit the region of the one before: guest RAM is one or two windows.
        if (last_ < regions_.size() && addr - regions_[last_].address < regions_[last_].size) {
            return &regions_[last_];
        }
        return find_slow(addr);
    }

    [[nodiscard]] std::size_t size() const { return regions_.size(); }
    [[nodiscard]] std::uint64_t mapped_bytes() const;

    /// Installs the process-wide SIGBUS handler; once, at start. Faults elsewhere kill as before.
    static void install_fault_handler();
    /// Pages of vanished client memory touched since the last call.
    static std::uint64_t take_faults();

  private:
    [[nodiscard]] const DmaRegion* find_slow(std::uint64_t addr) const;

    std::vector<DmaRegion> regions_;  ///< sorted by address
    std::vector<std::span<std::byte>> graveyard_;
    bool held_ = false;
    mutable std::size_t last_ = 0;
};

}  // namespace dingo::vfio_user
