// SPDX-License-Identifier: BSD-2-Clause
//
// Changes frames for the fault injector: selects the bytes, flips bits in them, marks congestion.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/classify.h"
#include "wire/faults.h"

namespace dingo {

/// SplitMix64: small, and reproducible everywhere, unlike the distributions of std.
class FaultRandom {
  public:
    explicit FaultRandom(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    std::uint64_t below(std::uint64_t n) { return next() % n; }
    bool chance(double p) { return p >= 1.0 || static_cast<double>(next() >> 11) * 0x1p-53 < p; }

  private:
    std::uint64_t state_;
};

/// The bytes of a frame that may be corrupted: first..end except `holes`, which are ascending.
struct FaultTarget {
    std::size_t first = 0;
    std::size_t end = 0;
    std::array<std::size_t, 3> holes{};
    std::size_t hole_count = 0;

    void except(std::size_t at) { holes[hole_count++] = at; }
    [[nodiscard]] std::size_t bytes() const { return end > first ? end - first - hole_count : 0; }
    /// Returns the offset of the n-th such byte.
    [[nodiscard]] std::size_t at(std::size_t n) const {
        n += first;
        for (std::size_t i = 0; i < hole_count; i++)
            n += n >= holes[i];
        return n;
    }
};

/// Locates `part` in a frame of `size` bytes; bytes() is 0 if the frame has no such part.
FaultTarget target_of(FaultPart part, const FrameParts& parts, std::size_t size);

/// Flips `bits` different bits of the target, or all if it has fewer.
void flip_bits(std::span<std::byte> frame, const FaultTarget& target, unsigned bits,
               FaultRandom& random);

/// Sets ECN to CE in the IP header, which must exist, and updates the IPv4 checksum by the
/// difference: a wrong checksum stays wrong.
void mark_congestion(std::span<std::byte> frame, const FrameParts& parts);

}  // namespace dingo
