// SPDX-License-Identifier: BSD-2-Clause
#include "base/lent_memory.h"

#include "base/elsewhere.h"

namespace dingo {

LentMemory::~LentMemory() {
    unmap_elsewhere(at_, mapped_);
}

void LentMemories::add(const std::shared_ptr<LentMemory>& memory) {
    const std::scoped_lock lock(mutex_);
    all_.push_back(memory);
    for (Watcher* const watcher : watchers_)
        watcher->lent(memory);
}

void LentMemories::remove(const std::shared_ptr<LentMemory>& memory) {
    const std::scoped_lock lock(mutex_);
    if (std::erase(all_, memory) == 0)
        return;
    for (Watcher* const watcher : watchers_)
        watcher->taken_back(memory);
}

void LentMemories::watch(Watcher& watcher) {
    const std::scoped_lock lock(mutex_);
    watchers_.push_back(&watcher);
    for (const auto& memory : all_)
        watcher.lent(memory);
}

void LentMemories::forget(Watcher& watcher) {
    const std::scoped_lock lock(mutex_);
    std::erase(watchers_, &watcher);
}

LentMemories& lent_memories() {
    static LentMemories& memories = *new LentMemories;
    return memories;
}

}  // namespace dingo
