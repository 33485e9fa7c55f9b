// SPDX-License-Identifier: BSD-2-Clause
//
// Buffers of other processes that are mapped here for reading. Their owners keep the content until
// they are told otherwise, so a copy engine may read them itself once it has pinned them. The wire
// that maps them adds them; owners of copy engines look them up.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace dingo {

/// A mapping; unmapped when nobody has it any more. Any thread.
class LentMemory {
  public:
    /// [at, at + bytes) is the owner's; `mapped` bytes are unmapped.
    LentMemory(std::byte* at, std::size_t bytes, std::size_t mapped)
        : at_(at), bytes_(bytes), mapped_(mapped) {}
    ~LentMemory();
    LentMemory(const LentMemory&) = delete;
    LentMemory& operator=(const LentMemory&) = delete;

    [[nodiscard]] std::span<const std::byte> bytes() const { return {at_, bytes_}; }
    /// A copy engine reads it fast. Where it is not pinned any more it is only slow.
    [[nodiscard]] bool is_pinned() const { return pinned_.load(std::memory_order_relaxed); }
    void set_pinned(bool pinned) { pinned_.store(pinned, std::memory_order_relaxed); }

  private:
    std::byte* const at_;
    const std::size_t bytes_;
    const std::size_t mapped_;
    std::atomic<bool> pinned_ = false;
};

class LentMemories {
  public:
    /// Told of all memory that is there, once, and that is not any more. The calls do not wait.
    class Watcher {
      public:
        virtual ~Watcher() = default;
        virtual void lent(const std::shared_ptr<LentMemory>& memory) = 0;
        virtual void taken_back(const std::shared_ptr<LentMemory>& memory) = 0;
    };

    void add(const std::shared_ptr<LentMemory>& memory);
    void remove(const std::shared_ptr<LentMemory>& memory);
    void watch(Watcher& watcher);
    /// No call is made any more.
    void forget(Watcher& watcher);

  private:
    std::mutex mutex_;
    std::vector<std::shared_ptr<LentMemory>> all_;
    std::vector<Watcher*> watchers_;
};

/// The registry of this process. Never destroyed.
LentMemories& lent_memories();

}  // namespace dingo
