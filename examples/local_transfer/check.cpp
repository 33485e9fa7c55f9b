// SPDX-License-Identifier: BSD-2-Clause
#include "check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace local_transfer {
namespace {

constexpr std::size_t kWord = 4;
constexpr std::size_t kRecordWords = 48;
constexpr double kLogError = 1e-6;  // half a unit in the last place of 16..32

std::uint32_t word_at(std::span<const std::byte> bytes, std::size_t at) {
    std::uint32_t word;
    std::memcpy(&word, bytes.data() + at, kWord);
    return word;
}

bool dlrm_ok(std::size_t column, std::uint32_t modulus, std::uint32_t in, std::uint32_t out) {
    if (column >= 1 && column <= 13) {
        const double x = std::max(static_cast<std::int32_t>(in), 0);
        return std::abs(std::bit_cast<float>(out) - std::log1p(x)) <= kLogError;
    }
    return out == (column >= 16 && column <= 41 ? in % modulus : in);
}

}  // namespace

void fill(std::span<std::byte> bytes, std::uint32_t seed) {
    std::uint32_t state = seed * 2654435761U + 1;
    for (std::size_t at = 0; at < bytes.size(); at += kWord) {
        state = state * 1664525 + 1013904223;  // Numerical Recipes
        const std::uint32_t word = state >> 5 << 5 >> (state >> 27);
        std::memcpy(bytes.data() + at, &word, std::min(kWord, bytes.size() - at));
    }
}

std::string first_error(const std::string& kernel, std::uint32_t param,
                        std::span<const std::byte> in, std::span<const std::byte> out) {
    if (kernel != "pass" && kernel != "add_one" && kernel != "dlrm")
        return "";
    std::size_t at = 0;
    for (; at + kWord <= in.size(); at += kWord) {
        const std::uint32_t before = word_at(in, at);
        const std::uint32_t after = word_at(out, at);
        const bool ok = kernel == "dlrm" ? dlrm_ok(at / kWord % kRecordWords, param, before, after)
                                         : after == before + (kernel == "add_one" ? 1 : 0);
        if (!ok)
            return "byte " + std::to_string(at) + ": " + std::to_string(before) + " became " +
                   std::to_string(after);
    }
    if (!std::ranges::equal(in.subspan(at), out.subspan(at)))
        return "the bytes behind the last whole word changed";
    return "";
}

}  // namespace local_transfer
