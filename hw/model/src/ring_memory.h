// SPDX-License-Identifier: BSD-2-Clause
//
// Host memory of a ring (contract struct mem): the page list is read once, at creation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "card_context.h"

namespace dingo::model {

/// Returns the byte offset in struct mem of the first invalid field, or nullopt. `align`: alignment
/// of addr for levels 0; `bytes` must not be 0.
std::optional<std::uint32_t> bad_mem_field(const dingo_mem& mem, std::uint64_t bytes,
                                           std::uint64_t align);

class RingMemory {
  public:
    enum class Result : std::uint8_t { kOk, kBadField, kBusError, kNoResource };

    /// Alignment of contiguous rings; page lists are page aligned anyway.
    static constexpr std::uint64_t kAlign = 64;
    /// Limit of page addresses of all rings of a card together (64 GiB of 4 KiB pages).
    static constexpr std::uint64_t kMaxPages = 1ull << 24;

    RingMemory() = default;
    ~RingMemory() { release(); }
    RingMemory(RingMemory&& other) noexcept { swap(other); }
    RingMemory& operator=(RingMemory&& other) noexcept {
        swap(other);
        return *this;
    }

    /// Takes over `bytes` of host memory described by `mem`, reading its page list. `mem` was
    /// checked with bad_mem_field() and has no offset. kBadField: a page is misaligned.
    Result attach(CardContext& card, const dingo_mem& mem, std::uint64_t bytes);

    /// Copy between a ring offset and `data`; may cross pages but not the ring's end. Return false
    /// on a bus error.
    bool read(CardContext& card, std::uint64_t offset, std::span<std::byte> data) const;
    bool write(CardContext& card, std::uint64_t offset, std::span<const std::byte> data) const;

    /// Returns the address of `len` bytes at `offset` if the host has one, else nullptr; for
    /// prefetching.
    const std::byte* pointer(CardContext& card, std::uint64_t offset, std::size_t len) const {
        const bool inside = offset < bytes_ && len <= in_page(offset);
        return inside ? card.host.dma_pointer(bus_address(offset), len) : nullptr;
    }

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  private:
    void swap(RingMemory& other) noexcept;
    void release() noexcept;
    [[nodiscard]] std::uint64_t bus_address(std::uint64_t offset) const noexcept {
        return pages_[offset >> page_shift_] + (offset & ((1ull << page_shift_) - 1));
    }
    [[nodiscard]] std::uint64_t in_page(std::uint64_t offset) const noexcept {
        return (1ull << page_shift_) - (offset & ((1ull << page_shift_) - 1));
    }

    std::uint64_t bytes_ = 0;
    unsigned page_shift_ = 63;
    std::vector<std::uint64_t> pages_;  // bus addresses; one entry if the ring is contiguous
    std::uint64_t* account_ = nullptr;  // CardContext::ring_pages
};

}  // namespace dingo::model
