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

void PushPages::take(std::uint32_t page, std::uint32_t pushed, std::uint32_t fresh,
                     std::uint32_t index, std::unique_ptr<PushedBlocks>& blocks) {
    const Page* const memory = pages_[page].get();
    if (memory == nullptr)
        return;
    if (blocks == nullptr)
        blocks = std::make_unique<PushedBlocks>();
    blocks->first_ = index - fresh;
    blocks->count_ = fresh;
    const auto* const from = memory->data() + std::size_t{pushed - fresh} * DINGO_SQ_BLOCK;
    std::copy_n(from, std::size_t{fresh} * DINGO_SQ_BLOCK, blocks->data_.begin());
}

}  // namespace dingo::model
