// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "base/errno_error.h"
#include "dingo_hw.h"
#include "host/driver/bus_map.h"
#include "host/driver/queue_memory.h"

namespace dingo::uverbs {

/// More work requests than this make no sense, whatever the card's limit.
inline constexpr std::uint32_t kMaxQpWr = 8192;

/// The card's capabilities: register CAPS and the answer of QUERY_DEVICE.
class Capabilities {
  public:
    Capabilities() = default;
    Capabilities(std::uint64_t bits, const dingo_limits& limits) : bits_(bits), limits_(limits) {}

    /// DINGO_CAP_*
    [[nodiscard]] std::uint64_t bits() const { return bits_; }
    [[nodiscard]] bool has(std::uint64_t cap) const { return (bits_ & cap) != 0; }
    /// Throws ErrnoError(EOPNOTSUPP) if the card lacks it.
    void need(std::uint64_t cap) const {
        if (!has(cap)) {
            throw ErrnoError(EOPNOTSUPP);
        }
    }
    [[nodiscard]] const dingo_limits& limits() const { return limits_; }
    /// Maximum size of a region in bytes: it must fit a window of the bus.
    [[nodiscard]] std::uint64_t max_mr_size() const {
        return std::min<std::uint64_t>(limits_.max_mr_size, BusMap::kMaxWindow - kPageBytes);
    }

  private:
    std::uint64_t bits_ = 0;
    dingo_limits limits_{};
};

}  // namespace dingo::uverbs
