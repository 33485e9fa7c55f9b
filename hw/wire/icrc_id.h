// SPDX-License-Identifier: BSD-2-Clause
//
// The ICRC is linear: changing 16 bits of a packet changes it by a value that depends only on those
// bits and on how many bytes follow. So an ICRC can be moved to another IPv4 identification without
// reading the packet, and an unknown identification can be computed from the ICRC.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace dingo {

class IcrcShift {
  public:
    /// For a 16-bit field (big-endian) that is followed by `bytes_behind` covered bytes.
    explicit IcrcShift(std::size_t bytes_behind);

    [[nodiscard]] std::size_t bytes_behind() const { return bytes_behind_; }

    /// How the ICRC changes when the field changes by `bits`.
    [[nodiscard]] std::uint32_t change(std::uint16_t bits) const {
        std::uint32_t out = 0;
        for (unsigned i = 0; bits != 0; i++, bits >>= 1)
            out ^= (bits & 1) != 0 ? basis_[i] : 0;
        return out;
    }

    /// The change of the field that causes this change of the ICRC; none when there is no such
    /// change.
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

/// The shifts used last, by distance.
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
