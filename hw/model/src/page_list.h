// SPDX-License-Identifier: BSD-2-Clause
//
// Translates offsets of a region to bus addresses. The page list stays in host memory and is read
// in small blocks on demand, so a region's cost for the card does not depend on its size.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "card_context.h"

namespace dingo::model {

class PageList {
  public:
    /// `mem` was checked with bad_mem_field(); `bytes` is the size that it describes.
    void assign(const dingo_mem& mem, std::uint64_t bytes) noexcept;

    /// Gets the bus address of byte `offset` (< bytes) of the region, and the number of contiguous
    /// bytes from there. Returns false on a bus error, or if a list entry is misaligned (counted as
    /// one).
    bool translate(CardContext& card, std::uint64_t offset, std::uint64_t& bus,
                   std::uint64_t& contiguous) {
        if (mem_.levels == 0) {
            bus = mem_.addr + offset;
            contiguous = bytes_ - offset;
            return true;
        }
        const std::uint64_t position = offset + mem_.offset;
        const std::uint64_t page = position >> mem_.page_shift;
        if (page != page_) {
            if (!load(card, page)) {
                return false;
            }
        }
        const std::uint64_t in_page = position & ((1ull << mem_.page_shift) - 1);
        bus = page_bus_ + in_page;
        contiguous = (1ull << mem_.page_shift) - in_page;
        return true;
    }

  private:
    static constexpr std::uint64_t kBlockEntries = 64;  // one DMA read of 512 bytes
    static constexpr std::uint64_t kNone = ~std::uint64_t{0};
    struct Block {
        std::uint64_t index = kNone;
        std::uint64_t leaf = kNone;  // levels 2: leaf whose address is cached
        std::uint64_t leaf_bus = 0;
        std::array<std::uint64_t, kBlockEntries> pages{};
    };

    bool load(CardContext& card, std::uint64_t page);
    bool load_block(CardContext& card, std::uint64_t index);

    dingo_mem mem_{};
    std::uint64_t bytes_ = 0;
    std::uint64_t page_ = kNone;  // the last page translated
    std::uint64_t page_bus_ = 0;
    std::unique_ptr<Block> block_;
};

}  // namespace dingo::model
