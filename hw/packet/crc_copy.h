// SPDX-License-Identifier: BSD-2-Clause
//
// Computes the CRC-32 of bytes while copying them: a sender reads its payload once instead of
// twice.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dingo::packet {

/// crc_copy() copies multiples of this.
inline constexpr std::size_t kCrcCopyBytes = 256;

/// Returns true if the processor has AVX-512 and VPCLMULQDQ, which crc_copy() needs.
[[nodiscard]] bool can_crc_copy() noexcept;

/// Copies `n` bytes, a non-zero multiple of kCrcCopyBytes, and returns `crc` continued over them
/// (IEEE, reflected), as ISA-L's crc32_gzip_refl. Aborts if can_crc_copy() is false.
std::uint32_t crc_copy(std::uint32_t crc, std::byte* to, const std::byte* from,
                       std::size_t n) noexcept;

}  // namespace dingo::packet
