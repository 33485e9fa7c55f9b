// SPDX-License-Identifier: BSD-2-Clause
#include "ring_memory.h"

#include <algorithm>
#include <utility>

#include "capabilities.h"

namespace dingo::model {
namespace {

/// Reads `count` page addresses at `addr` and checks that they are page aligned.
RingMemory::Result read_list(CardContext& card, std::uint64_t addr, unsigned page_shift,
                             std::span<std::uint64_t> list) {
    if (!card.dma_read(addr, std::as_writable_bytes(list))) {
        return RingMemory::Result::kBusError;
    }
    const std::uint64_t mask = (1ull << page_shift) - 1;
    const bool aligned =
        std::ranges::all_of(list, [mask](std::uint64_t page) { return (page & mask) == 0; });
    return aligned ? RingMemory::Result::kOk : RingMemory::Result::kBadField;
}

}  // namespace

std::optional<std::uint32_t> bad_mem_field(const dingo_mem& mem, std::uint64_t bytes,
                                           std::uint64_t align) {
    const bool list = mem.levels != 0;
    const std::uint64_t mask = list ? 7 : align - 1;
    if ((mem.addr & mask) != 0 || (!list && mem.addr > ~std::uint64_t{0} - (bytes - 1))) {
        return offsetof(dingo_mem, addr);
    }
    if (mem.levels > 2) {
        return offsetof(dingo_mem, levels);
    }
    if (list ? mem.page_shift < kMinPageShift || mem.page_shift > kMaxPageShift
             : mem.page_shift != 0) {
        return offsetof(dingo_mem, page_shift);
    }
    if (mem.offset >= (1ull << mem.page_shift)) {
        return offsetof(dingo_mem, offset);
    }
    if (mem.rsvd != 0) {
        return offsetof(dingo_mem, rsvd);
    }
    return std::nullopt;
}

RingMemory::Result RingMemory::attach(CardContext& card, const dingo_mem& mem,
                                      std::uint64_t bytes) {
    release();
    if (mem.levels == 0) {
        pages_.assign(1, mem.addr);
        page_shift_ = 63;
        bytes_ = bytes;
        return Result::kOk;
    }
    const std::uint64_t count = ((bytes - 1) >> mem.page_shift) + 1;
    if (card.ring_pages + count > kMaxPages) {
        return Result::kNoResource;
    }
    std::vector<std::uint64_t> pages(count);
    Result result = Result::kOk;
    if (mem.levels == 1) {
        result = read_list(card, mem.addr, mem.page_shift, pages);
    } else {
        constexpr std::uint64_t kLeaf = DINGO_PBL_LEAF_ENTRIES;
        std::vector<std::uint64_t> root((count - 1) / kLeaf + 1);
        result = read_list(card, mem.addr, 12, root);
        for (std::size_t leaf = 0; leaf < root.size() && result == Result::kOk; ++leaf) {
            const std::uint64_t first = leaf * kLeaf;
            result = read_list(card, root[leaf], mem.page_shift,
                               std::span(pages).subspan(first, std::min(kLeaf, count - first)));
        }
    }
    if (result == Result::kOk) {
        pages_ = std::move(pages);
        page_shift_ = mem.page_shift;
        bytes_ = bytes;
        account_ = &card.ring_pages;
        *account_ += count;
    }
    return result;
}

bool RingMemory::read(CardContext& card, std::uint64_t offset, std::span<std::byte> data) const {
    if (offset > bytes_ || data.size() > bytes_ - offset) {
        return false;
    }
    while (!data.empty()) {
        const std::size_t piece = std::min<std::uint64_t>(data.size(), in_page(offset));
        if (!card.dma_read(bus_address(offset), data.first(piece))) {
            return false;
        }
        offset += piece;
        data = data.subspan(piece);
    }
    return true;
}

bool RingMemory::write(CardContext& card, std::uint64_t offset,
                       std::span<const std::byte> data) const {
    if (offset > bytes_ || data.size() > bytes_ - offset) {
        return false;
    }
    while (!data.empty()) {
        const std::size_t piece = std::min<std::uint64_t>(data.size(), in_page(offset));
        if (!card.dma_write(bus_address(offset), data.first(piece))) {
            return false;
        }
        offset += piece;
        data = data.subspan(piece);
    }
    return true;
}

void RingMemory::swap(RingMemory& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(page_shift_, other.page_shift_);
    std::swap(pages_, other.pages_);
    std::swap(account_, other.account_);
}

void RingMemory::release() noexcept {
    if (account_ != nullptr) {
        *account_ -= pages_.size();
        account_ = nullptr;
    }
    pages_.clear();
    bytes_ = 0;
}

}  // namespace dingo::model
