// SPDX-License-Identifier: BSD-2-Clause
//
// Memory that a card and its driver, or a card and a client, share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/shared_memory.h"
#include "dingo_hw.h"
#include "host/driver/bus_map.h"

namespace dingo::uverbs {

inline constexpr std::size_t kPageBytes = 4096;

constexpr std::uint64_t page_align(std::uint64_t bytes) {
    return (bytes + kPageBytes - 1) & ~std::uint64_t{kPageBytes - 1};
}

/// Zeroed pages that the card can reach: one range of the bus, and a descriptor that others can
/// map.
class QueueMemory {
  public:
    /// `bytes` is rounded up to pages. Throws ErrnoError(ENOMEM).
    QueueMemory(BusMap& bus, std::size_t bytes);
    ~QueueMemory() { bus_.remove(address_); }
    QueueMemory(const QueueMemory&) = delete;
    QueueMemory& operator=(const QueueMemory&) = delete;

    [[nodiscard]] std::uint64_t address() const { return address_; }
    [[nodiscard]] std::span<std::byte> bytes() const { return memory_.bytes(); }
    [[nodiscard]] int fd() const { return memory_.fd(); }
    [[nodiscard]] dingo_mem describe() const {
        dingo_mem mem{};
        mem.addr = address_;
        return mem;
    }

  private:
    BusMap& bus_;
    SharedMemory memory_;
    std::uint64_t address_;
};

}  // namespace dingo::uverbs
