// SPDX-License-Identifier: BSD-2-Clause
//
// Host memory of a ring (contract struct mem): the page list is read once, when the ring is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "card_context.h"

namespace dingo::model {

class RingMemory {
  public:
    enum class Result : std::uint8_t { kOk, kBadField, kBusError };

    /// Takes `bytes` of host memory described by `mem`, reading its page list.
    /// kBadField: offset, levels, page_shift or alignment against the contract.
    Result attach(CardContext& card, const dingo_mem& mem, std::uint64_t bytes);

    /// Copies between a ring offset and `data`; may cross pages, not the ring's end. False = bus error.
    bool read(CardContext& card, std::uint64_t offset, std::span<std::byte> data) const;
    bool write(CardContext& card, std::uint64_t offset, std::span<const std::byte> data) const;

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  private:
    std::uint64_t bytes_ = 0;
    unsigned page_shift_ = 63;
    std::vector<std::uint64_t> pages_;  // bus addresses; one entry for a contiguous ring
};

}  // namespace dingo::model
