// SPDX-License-Identifier: BSD-2-Clause
#include "wire/shm_holds.h"

#include <atomic>

namespace dingo {

Held ShmHolds::hold(const std::shared_ptr<LentMemory>& memory, const std::byte* at,
                    std::uint64_t position) {
    said_all_ = false;  // the peer waits for this frame's, whether it is kept or not
    if (!memory->is_pinned())
        return nullptr;
    const bool follows = newest_ != nullptr && newest_->memory == memory && at > last_ &&
                         static_cast<std::size_t>(at - first_) < kMostJoined;
    if (!follows) {
        newest_ = std::make_shared<const Lent>(memory);
        first_ = at;
        kept_.push_back({position, newest_});
    }
    last_ = at;
    return newest_;
}

bool ShmHolds::let_go(std::uint64_t tail, std::uint64_t& position) {
    if (said_all_)
        return false;
    if (newest_.use_count() == 1)
        newest_.reset();
    while (!kept_.empty() && kept_.front().lent.expired())
        kept_.pop_front();
    // Who let go of the last one has read it before.
    std::atomic_thread_fence(std::memory_order_acquire);
    said_all_ = kept_.empty();
    position = kept_.empty() ? tail : kept_.front().position;
    return position != std::exchange(said_, position);
}

}  // namespace dingo
