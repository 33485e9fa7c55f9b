// SPDX-License-Identifier: BSD-2-Clause
//
// Accesses payload, which is unaligned, as 32-bit little-endian words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace dingo::model::compute {

inline constexpr std::size_t kWord = 4;

/// Replaces each word of `data` by change(word, index of the word).
template <typename Change>
void for_each_word(std::span<std::byte> data, Change change) {
    for (std::size_t at = 0; at + kWord <= data.size(); at += kWord) {
        std::uint32_t word;
        std::memcpy(&word, data.data() + at, kWord);
        word = change(word, static_cast<std::uint32_t>(at / kWord));
        std::memcpy(data.data() + at, &word, kWord);
    }
}

}  // namespace dingo::model::compute
