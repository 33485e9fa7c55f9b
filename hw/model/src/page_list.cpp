// SPDX-License-Identifier: BSD-2-Clause
#include "page_list.h"

#include <algorithm>
#include <span>

namespace dingo::model {

void PageList::assign(const dingo_mem& mem, std::uint64_t bytes) noexcept {
    mem_ = mem;
    bytes_ = bytes;
    page_ = kNone;
    block_.reset();
}

bool PageList::load(CardContext& card, std::uint64_t page) {
    if (!block_) {
        block_ = std::make_unique<Block>();
    }
    const std::uint64_t index = page / kBlockEntries;
    if (block_->index != index && !load_block(card, index)) {
        return false;
    }
    const std::uint64_t bus = block_->pages[page % kBlockEntries];
    if ((bus & ((1ull << mem_.page_shift) - 1)) != 0) {
        card.count(DINGO_CARD_DMA_ERRORS);
        return false;
    }
    page_bus_ = bus;
    page_ = page;
    return true;
}

bool PageList::load_block(CardContext& card, std::uint64_t index) {
    constexpr std::uint64_t kLeaf = DINGO_PBL_LEAF_ENTRIES;
    static_assert(kLeaf % kBlockEntries == 0, "a block lies in one leaf");
    const std::uint64_t first = index * kBlockEntries;
    const std::uint64_t total = ((mem_.offset + bytes_ - 1) >> mem_.page_shift) + 1;
    const std::uint64_t count = std::min(kBlockEntries, total - first);

    std::uint64_t list = mem_.addr + first * sizeof(std::uint64_t);
    if (mem_.levels == 2) {
        const std::uint64_t leaf = first / kLeaf;
        if (block_->leaf != leaf) {
            std::uint64_t address = 0;
            if (!card.dma_read(mem_.addr + leaf * sizeof address,
                               std::as_writable_bytes(std::span(&address, 1)))) {
                return false;
            }
            if ((address & (kLeaf * sizeof address - 1)) != 0) {
                card.count(DINGO_CARD_DMA_ERRORS);
                return false;
            }
            block_->leaf = leaf;
            block_->leaf_bus = address;
        }
        list = block_->leaf_bus + first % kLeaf * sizeof(std::uint64_t);
    }
    block_->index = kNone;
    if (!card.dma_read(list, std::as_writable_bytes(std::span(block_->pages).first(count)))) {
        return false;
    }
    block_->index = index;
    return true;
}

}  // namespace dingo::model
