// SPDX-License-Identifier: BSD-2-Clause
//
// Transforms click records: label, dense columns, padding, sparse columns, padding.
#include "kernels.h"
#include "modulus.h"
#include "words.h"

namespace dingo::model::compute {
namespace {

constexpr std::uint32_t kRecordWords = 48;
constexpr std::uint32_t kFirstDense = 1;
constexpr std::uint32_t kDenseColumns = 13;
constexpr std::uint32_t kFirstSparse = 16;
constexpr std::uint32_t kSparseColumns = 26;

}  // namespace

void dlrm(const Config& config, std::uint32_t offset, std::span<std::byte> data) {
    const auto first = static_cast<std::uint32_t>(offset / kWord % kRecordWords);
    for_each_word(data, [&](std::uint32_t word, std::uint32_t number) {
        const std::uint32_t column = (first + number) % kRecordWords;
        if (column - kFirstDense < kDenseColumns) {
            return log_plus_one(static_cast<std::int32_t>(word));
        }
        if (column - kFirstSparse < kSparseColumns) {
            return remainder(word, config.param, config.reciprocal);
        }
        return word;
    });
}

}  // namespace dingo::model::compute
