// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <exception>

namespace dingo {

/// Thrown if a request cannot be answered before a neighbour's address is known. Nothing has
/// changed; the request is repeated as a whole when Neighbours calls the waiter.
class NotYet : public std::exception {
  public:
    explicit NotYet(const std::array<std::uint8_t, 16>& neighbour) : neighbour_(neighbour) {}
    /// The GID of the neighbour.
    [[nodiscard]] const std::array<std::uint8_t, 16>& neighbour() const { return neighbour_; }

  private:
    std::array<std::uint8_t, 16> neighbour_;
};

}  // namespace dingo
