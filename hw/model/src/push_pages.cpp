// SPDX-License-Identifier: BSD-2-Clause
#include "push_pages.h"

#include <algorithm>
#include <cstring>

namespace dingo::model {

bool PushPages::write(std::uint64_t page, std::uint64_t offset, std::uint64_t value,
                      unsigned size) {
    if (size != sizeof value || offset % sizeof value != 0 || offset >= DINGO_PUSH_BYTES)
        return false;
    std::unique_ptr<Page>& memory = pages_[page];
    if (memory == nullptr)
        memory = std::make_unique<Page>();
    std::memcpy(memory->data() + offset, &value, sizeof value);
    return true;
}

void PushPages::take(std::uint32_t page, std::uint32_t count, std::uint32_t index,
                     std::unique_ptr<PushedBlocks>& blocks) {
    const Page* const memory = pages_[page].get();
    if (memory == nullptr)
        return;
    if (blocks == nullptr)
        blocks = std::make_unique<PushedBlocks>();
    blocks->first_ = index - count;
    blocks->count_ = count;
    std::copy_n(memory->data(), std::size_t{count} * DINGO_SQ_BLOCK, blocks->data_.begin());
}

}  // namespace dingo::model
