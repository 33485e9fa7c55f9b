// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/mr_keys.h"

#include "dingo_hw.h"

namespace dingo::uverbs {

std::uint32_t MrKeys::make_key(std::uint32_t index) {
    auto tag = static_cast<std::uint16_t>(random_bits());
    // The key of the index's previous owner must become invalid.
    if (tag == tags_[index]) {
        tag ^= 0x5a5a;
    }
    tags_[index] = tag;
    return index << DINGO_MR_INDEX_SHIFT | tag;
}

}  // namespace dingo::uverbs
