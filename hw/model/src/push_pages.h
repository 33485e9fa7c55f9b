// SPDX-License-Identifier: BSD-2-Clause
//
// Push pages (contract, capability PUSH): blocks of a send queue that arrive before their doorbell.
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
    /// The bytes of block `index`; nullptr: it was not pushed.
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

    /// A write to the push page of doorbell page `page`, below kPages: `size` bytes of `value`,
    /// little endian. False: not 8 aligned bytes of the page's memory.
    bool write(std::uint64_t page, std::uint64_t offset, std::uint64_t value, unsigned size);
    /// Takes the first `count` blocks of a page, at most PUSH_BLOCKS, which end at `index`.
    void take(std::uint32_t page, std::uint32_t count, std::uint32_t index,
              std::unique_ptr<PushedBlocks>& blocks);

  private:
    using Page = std::array<std::byte, DINGO_PUSH_BYTES>;
    std::array<std::unique_ptr<Page>, kPages> pages_;  // made by their first write
};

}  // namespace dingo::model
