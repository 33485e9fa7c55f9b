// SPDX-License-Identifier: BSD-2-Clause
//
// Which of several ready sockets is served first when time may not last for all.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dingo {

/// In no order: epoll also moves on, by as many sockets as it has told of, and two steps in order
/// may add up to none.
class FairStart {
  public:
    [[nodiscard]] std::size_t among(std::size_t count) {
        state_ = state_ * 1664525U + 1013904223U;
        return static_cast<std::size_t>((std::uint64_t{state_} * count) >> 32U);
    }

  private:
    std::uint32_t state_ = 1;
};

}  // namespace dingo
