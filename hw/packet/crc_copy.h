// SPDX-License-Identifier: BSD-2-Clause
//
// CRC-32 of bytes while they are copied: a sender reads its payload once instead of twice.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dingo::packet {

/// crc_copy() takes multiples of this.
inline constexpr std::size_t kCrcCopyBytes = 256;

/// Whether this processor has what crc_copy() needs: AVX-512 and VPCLMULQDQ.
[[nodiscard]] bool can_crc_copy() noexcept;

/// Copies `n` bytes, n a multiple of kCrcCopyBytes and not 0, and returns their CRC-32 (IEEE,
/// reflected) behind `crc`, as ISA-L's crc32_gzip_refl does. Only where can_crc_copy().
std::uint32_t crc_copy(std::uint32_t crc, std::byte* to, const std::byte* from,
                       std::size_t n) noexcept;

}  // namespace dingo::packet
