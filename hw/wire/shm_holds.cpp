// SPDX-License-Identifier: BSD-2-Clause
#include "wire/shm_holds.h"

#include <algorithm>
#include <atomic>

namespace dingo {

Held ShmHolds::hold(const std::shared_ptr<LentMemory>& memory, const std::byte* at,
                    std::size_t bytes, std::uint64_t position) {
    said_all_ = false;  // the peer waits for this frame's release, whether it is held or not
    if (!memory->is_pinned())
        return nullptr;
    if (const Recent* const one = find(*memory, at, bytes))
        return one->lent;
    if (recent_.size() >= kMostRecent)
        recent_.erase(recent_.begin());
    recent_.push_back({std::make_shared<const Lent>(memory), at, at, bytes});
    kept_.push_back({position, recent_.back().lent});
    return recent_.back().lent;
}

const ShmHolds::Recent* ShmHolds::find(const LentMemory& memory, const std::byte* at,
                                       std::size_t bytes) {
    const auto follows = [&](const Recent& r) {
        return r.lent->memory.get() == &memory && at > r.last &&
               static_cast<std::size_t>(at - r.last) <= r.bytes &&
               static_cast<std::size_t>(at - r.first) < kMostJoined;
    };
    const auto one = std::find_if(recent_.rbegin(), recent_.rend(), follows);
    if (one == recent_.rend())
        return nullptr;
    std::rotate(one.base() - 1, one.base(), recent_.end());
    recent_.back().last = at;
    recent_.back().bytes = bytes;
    return &recent_.back();
}

bool ShmHolds::let_go(std::uint64_t tail, std::uint64_t& position) {
    if (said_all_)
        return false;
    std::erase_if(recent_, [](const Recent& r) { return r.lent.use_count() == 1; });
    while (!kept_.empty() && kept_.front().lent.expired())
        kept_.pop_front();
    // Pairs with the release of the last holder: its reads are complete before this.
    std::atomic_thread_fence(std::memory_order_acquire);
    said_all_ = kept_.empty();
    position = kept_.empty() ? tail : kept_.front().position;
    return position != std::exchange(said_, position);
}

}  // namespace dingo
