// SPDX-License-Identifier: BSD-2-Clause
//
// The bus address space of a kernel-less card: what an IOMMU is to a real one. Every piece of
// memory that the engine may reach is a window; address = window << 40 | offset, so a lookup is an
// index into an array, and whatever the engine computes wrongly misses.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dingo/engine.h"
#include "host/driver/client_file.h"
#include "host/driver/client_memory.h"

namespace dingo::uverbs {

/// Part of a window that is mapped here; the rest is reached through ClientMemory.
struct MappedPart {
    std::uint64_t offset = 0;  ///< in the window
    std::span<std::byte> bytes;
};

class BusMap {
  public:
    static constexpr unsigned kOffsetBits = 40;
    static constexpr std::uint64_t kMaxWindow = std::uint64_t{1} << kOffsetBits;
    /// Bus addresses have 64 bits.
    static constexpr std::size_t kMaxWindows = std::size_t{1} << (64 - kOffsetBits);

    /// `max_windows` with window 0, which is never given out: bus address 0 is no memory.
    explicit BusMap(std::size_t max_windows = kMaxWindows)
        : max_windows_(max_windows), windows_(1) {}

    /// A window over memory of this process. Returns its bus address. Throws ErrnoError(ENOMEM)
    /// when there are too many windows, as the other one does.
    std::uint64_t add(std::span<std::byte> bytes);

    /// A window over [va, va + length) of a client; `parts` (sorted, without overlap) are mapped
    /// here, `files` (likewise, and apart from the parts) are reached by their descriptors.
    /// `client` may be null when they are all there is. Reads, not writes, may go on to
    /// the end of the last page: an engine that reads whole lines does. Throws ErrnoError(ENOMEM)
    /// when length does not fit an offset.
    std::uint64_t add(std::shared_ptr<ClientMemory> client, std::uint64_t va, std::uint64_t length,
                      std::vector<MappedPart> parts, bool writable,
                      std::vector<FilePart> files = {});

    /// The card may write from now on, or may not.
    void set_writable(std::uint64_t bus_address, bool writable);

    /// The engine uses the window no more.
    void remove(std::uint64_t bus_address);

    bool read(std::uint64_t addr, std::span<std::byte> dst) {
        if (const std::byte* from = pointer(addr, dst.size())) {
            copy_in(dst.data(), from, dst.size());
            return true;
        }
        return slow_read(addr, dst);
    }
    bool write(std::uint64_t addr, std::span<const std::byte> src);

    /// nullptr where the range is not wholly in one mapped part.
    [[nodiscard]] std::byte* pointer(std::uint64_t addr, std::size_t len) {
        const std::uint64_t index = addr >> kOffsetBits;
        if (index >= windows_.size()) {
            return nullptr;
        }
        const Window& w = windows_[index];
        const std::uint64_t offset = (addr & (kMaxWindow - 1)) - w.first_offset;
        if (offset < w.first_size && len <= w.first_size - offset) {
            return w.first + offset;
        }
        return w.parts.size() < 2 ? nullptr : slow_pointer(w, addr & (kMaxWindow - 1), len);
    }

    [[nodiscard]] std::uint64_t errors() const { return errors_; }
    [[nodiscard]] std::size_t size() const { return windows_.size() - 1 - free_.size(); }

  private:
    struct Window {
        // The first mapped part: for most windows it is all there is, so it is at hand.
        std::byte* first = nullptr;
        std::uint64_t first_offset = 0;
        std::uint64_t first_size = 0;
        std::uint64_t length = 0;    ///< 0: free
        std::uint64_t readable = 0;  ///< bytes; length or more
        bool writable = true;
        std::shared_ptr<ClientMemory> client;  ///< null: what is not mapped is a bus error
        std::uint64_t va = 0;
        std::vector<MappedPart> parts;
        std::vector<FilePart> files;
    };

    static void copy_in(std::byte* to, const std::byte* from, std::size_t len);
    static bool read_unmapped(const Window& w, std::uint64_t offset, std::span<std::byte> dst);
    static bool write_unmapped(const Window& w, std::uint64_t offset,
                               std::span<const std::byte> src);
    static std::byte* slow_pointer(const Window& w, std::uint64_t offset, std::size_t len);
    std::uint64_t add(Window window);
    bool slow_read(std::uint64_t addr, std::span<std::byte> dst);
    Window* find(std::uint64_t addr);
    bool fail();

    std::size_t max_windows_;
    std::vector<Window> windows_;
    std::vector<std::uint32_t> free_;
    std::uint64_t errors_ = 0;
};

}  // namespace dingo::uverbs
