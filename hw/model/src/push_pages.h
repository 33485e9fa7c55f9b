// SPDX-License-Identifier: BSD-2-Clause
//
// Push pages (contract, capability PUSH): send queue blocks written to the card before their
// doorbell.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dingo_hw.h"

namespace dingo::model {

/// Blocks of a QP's send queue that were taken from its push page.
class PushedBlocks {
  public:
    /// Returns the bytes of block `index`; nullptr if it was not pushed.
    [[nodiscard]] const std::byte* block(std::uint32_t index) const noexcept {
        const std::uint32_t at = index - first_;
        return at < count_ ? data_.data() + std::size_t{at} * DINGO_SQ_BLOCK : nullptr;
    }

  private:
    friend class PushPages;
    std::uint32_t first_ = 0;
    std::uint32_t count_ = 0;
    std::array<std::byte, DINGO_PUSH_BYTES> data_{};
};

class PushPages {
  public:
    static constexpr std::uint32_t kPages = 64;

    /// Writes `size` bytes of `value`, little endian, to the push page of doorbell page `page`,
    /// which is below kPages. Returns false unless it is 8 aligned bytes inside the page.
    bool write(std::uint64_t page, std::uint64_t offset, std::uint64_t value, unsigned size);
    /// Takes the first `count` blocks of a page, at most PUSH_BLOCKS, which end before `index`.
    void take(std::uint32_t page, std::uint32_t count, std::uint32_t index,
              std::unique_ptr<PushedBlocks>& blocks);

  private:
    using Page = std::array<std::byte, DINGO_PUSH_BYTES>;
    std::array<std::unique_ptr<Page>, kPages> pages_;  // created by the first write
};

}  // namespace dingo::model
