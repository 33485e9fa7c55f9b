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
#include "uverbs/client_memory.h"

namespace dingo::card::uverbs {

/// Part of a window that is mapped here; the rest is reached through ClientMemory.
struct MappedPart {
    std::uint64_t offset = 0;  ///< in the window
    std::span<std::byte> bytes;
};

class BusMap {
  public:
    static constexpr unsigned kOffsetBits = 40;

    /// A window over memory of this process. Returns its bus address.
    std::uint64_t add(std::span<std::byte> bytes);

    /// A window over [va, va + length) of a client; `parts` (sorted, without overlap) are mapped
    /// here. Throws ErrnoError(ENOMEM) when length does not fit an offset.
    std::uint64_t add(std::shared_ptr<ClientMemory> client, std::uint64_t va, std::uint64_t length,
                      std::vector<MappedPart> parts, bool writable);

    /// The engine uses the window no more.
    void remove(std::uint64_t bus_address);

    bool read(std::uint64_t addr, std::span<std::byte> dst);
    bool write(std::uint64_t addr, std::span<const std::byte> src);
    /// nullptr where the range is not wholly in one mapped part.
    [[nodiscard]] std::byte* pointer(std::uint64_t addr, std::size_t len);

    [[nodiscard]] std::uint64_t errors() const { return errors_; }
    [[nodiscard]] std::size_t size() const { return windows_.size() - free_.size(); }

  private:
    struct Window {
        std::uint64_t length = 0;  ///< 0: free
        bool writable = true;
        std::shared_ptr<ClientMemory> client;  ///< null: wholly mapped
        std::uint64_t va = 0;
        std::vector<MappedPart> parts;
    };
    std::vector<Window> windows_;
    std::vector<std::uint32_t> free_;
    std::uint64_t errors_ = 0;
};

}  // namespace dingo::card::uverbs
