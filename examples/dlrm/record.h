// SPDX-License-Identifier: BSD-2-Clause
//
// The card's click record: 48 little-endian 32-bit words, shown in docs/dlrm.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dlrm {

inline constexpr std::size_t kRecordWords = 48;
inline constexpr std::size_t kRecordBytes = 4 * kRecordWords;
inline constexpr std::size_t kLabel = 0;
inline constexpr std::size_t kFirstDense = 1;
inline constexpr std::size_t kDenseColumns = 13;
/// Padding, which the card does not change: bit n is set if column n was an empty field.
inline constexpr std::size_t kEmptyDense = 14;
inline constexpr std::size_t kEmptySparse = 15;
inline constexpr std::size_t kFirstSparse = 16;
inline constexpr std::size_t kSparseColumns = 26;

using Record = std::array<std::uint32_t, kRecordWords>;
static_assert(sizeof(Record) == kRecordBytes);

}  // namespace dlrm
