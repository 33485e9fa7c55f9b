// SPDX-License-Identifier: BSD-2-Clause
//
// The Internet checksum (RFC 1071) over pieces of a frame.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

namespace dingo::model {

/// One's complement sum of 16-bit words, as a number whose most significant octet is the first on
/// the wire.
class InternetSum {
  public:
    /// Adds a piece that begins at an even offset; only the last piece may have an odd length.
    void add(std::span<const std::byte> bytes) noexcept {
        while (bytes.size() >= 4) {  // words in memory order: folded() swaps the octets of the sum
            std::uint32_t word;
            std::memcpy(&word, bytes.data(), sizeof word);
            memory_order_ += word;
            bytes = bytes.subspan(4);
        }
        if (!bytes.empty()) {
            std::uint32_t word = 0;
            std::memcpy(&word, bytes.data(), bytes.size());
            memory_order_ += word;
        }
    }
    void add(std::uint16_t value) noexcept { values_ += value; }

    [[nodiscard]] std::uint16_t folded() const noexcept {
        static_assert(std::endian::native == std::endian::little);
        const std::uint16_t swapped = fold(memory_order_);
        return fold(values_ + static_cast<std::uint16_t>(swapped << 8 | swapped >> 8));
    }
    /// Returns the checksum for the header. Where 0 means "no checksum" (UDP), use
    /// nonzero_checksum(): 0xffff is equivalent.
    [[nodiscard]] std::uint16_t checksum() const noexcept {
        return static_cast<std::uint16_t>(~folded());
    }
    [[nodiscard]] std::uint16_t nonzero_checksum() const noexcept {
        const std::uint16_t sum = checksum();
        return sum == 0 ? 0xffff : sum;
    }

  private:
    static std::uint16_t fold(std::uint64_t sum) noexcept {
        while (sum >> 16 != 0) {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        return static_cast<std::uint16_t>(sum);
    }

    std::uint64_t memory_order_ = 0;
    std::uint64_t values_ = 0;
};

}  // namespace dingo::model
