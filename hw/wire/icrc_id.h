// SPDX-License-Identifier: BSD-2-Clause
//
// The ICRC is linear: changing 16 bits of a packet changes it by a value that depends only on those
// bits and on the number of bytes that follow. So an ICRC can be adapted to another IPv4
// identification without reading the packet, and an unknown identification can be computed from the
// ICRC.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace dingo {

class IcrcShift {
  public:
    /// For a 16-bit big-endian field that is followed by `bytes_behind` bytes covered by the ICRC.
    explicit IcrcShift(std::size_t bytes_behind);

    [[nodiscard]] std::size_t bytes_behind() const { return bytes_behind_; }

    /// Returns the change (XOR) of the ICRC when the field changes by `bits` (XOR).
    [[nodiscard]] std::uint32_t change(std::uint16_t bits) const {
        std::uint32_t out = 0;
        for (unsigned i = 0; bits != 0; i++, bits >>= 1)
            out ^= (bits & 1) != 0 ? basis_[i] : 0;
        return out;
    }

    /// Returns the change of the field that causes this change of the ICRC; nullopt if none does.
    [[nodiscard]] std::optional<std::uint16_t> solve(std::uint32_t icrc_change) const;

  private:
    struct Row {
        std::uint32_t vector;
        std::uint16_t bits;
    };
    std::size_t bytes_behind_;
    std::array<std::uint32_t, 16> basis_;
    std::array<Row, 32> rows_{};  // by leading bit: the basis in echelon form
};

/// Cache of recently used shifts, by distance.
class IcrcShiftCache {
  public:
    const IcrcShift& at(std::size_t bytes_behind) {
        std::optional<IcrcShift>& slot = slots_[bytes_behind / 4 % slots_.size()];
        if (!slot || slot->bytes_behind() != bytes_behind)
            slot.emplace(bytes_behind);
        return *slot;
    }

  private:
    std::array<std::optional<IcrcShift>, 64> slots_;
};

}  // namespace dingo
