// SPDX-License-Identifier: BSD-2-Clause
#include "dlrm/generate.h"

namespace dlrm {
namespace {

/// Hashes an item of a column to 32 bits, like the categories of real data.
std::uint32_t hashed(std::uint32_t column, std::uint32_t item) {
    std::uint64_t x = (std::uint64_t{column} << 32 | item) + 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;  // splitmix64
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return static_cast<std::uint32_t>(x >> 32);
}

}  // namespace

Record Generator::next() {
    constexpr std::uint32_t kEmptyPercent = 5;
    constexpr std::uint32_t kNoisePercent = 10;
    Record record{};
    for (std::uint32_t i = 0; i < kDenseColumns; ++i) {
        if (below(100) < kEmptyPercent) {
            record[kEmptyDense] |= 1U << i;
            continue;
        }
        // Mostly small, some up to 2^31 - 1, a few negative, like counts in real data.
        const std::uint32_t value = static_cast<std::uint32_t>(random_() >> 33) >> below(31);
        record[kFirstDense + i] = below(50) == 0 ? ~(value & 3) : value;
    }
    std::uint32_t popular = 0;
    for (std::uint32_t i = 0; i < kSparseColumns; ++i) {
        if (below(100) < kEmptyPercent) {
            record[kEmptySparse] |= 1U << i;
            continue;
        }
        const std::uint32_t item = below(1U << below(1 + i % 16));  // few items have most clicks
        popular += item == 0 ? 1 : 0;
        record[kFirstSparse + i] = hashed(i, item);
    }
    const bool click = static_cast<std::int32_t>(record[kFirstDense]) > 1000 || popular > 12;
    record[kLabel] = click != (below(100) < kNoisePercent) ? 1 : 0;
    return record;
}

}  // namespace dlrm
