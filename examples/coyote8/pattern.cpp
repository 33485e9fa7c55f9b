// SPDX-License-Identifier: BSD-2-Clause
#include "coyote8/pattern.h"

#include <algorithm>
#include <cstring>

namespace coyote8 {

void fill(std::span<std::byte> memory, std::uint32_t first) {
    for (std::size_t at = 0; at < memory.size(); at += sizeof(first), ++first) {
        std::memcpy(memory.data() + at, &first, std::min(sizeof(first), memory.size() - at));
    }
}

std::optional<std::size_t> first_difference(std::span<const std::byte> memory,
                                            std::uint32_t first) {
    for (std::size_t at = 0; at < memory.size(); at += sizeof(first), ++first) {
        const auto* want = reinterpret_cast<const std::byte*>(&first);
        const std::size_t bytes = std::min(sizeof(first), memory.size() - at);
        for (std::size_t i = 0; i < bytes; ++i) {
            if (memory[at + i] != want[i]) {
                return at + i;
            }
        }
    }
    return std::nullopt;
}

}  // namespace coyote8
