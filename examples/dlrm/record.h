// SPDX-License-Identifier: BSD-2-Clause
//
// The card's record of a click: 48 little-endian words. docs/dlrm.md has the picture.
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
/// Padding, which the card leaves alone: bit n is set when column n was an empty field.
inline constexpr std::size_t kEmptyDense = 14;
inline constexpr std::size_t kEmptySparse = 15;
inline constexpr std::size_t kFirstSparse = 16;
inline constexpr std::size_t kSparseColumns = 26;

using Record = std::array<std::uint32_t, kRecordWords>;
static_assert(sizeof(Record) == kRecordBytes);

}  // namespace dlrm
