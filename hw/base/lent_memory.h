// SPDX-License-Identifier: BSD-2-Clause
//
// Registry of other processes' buffers that are mapped here for reading. Their owners keep the
// content until the buffer is released, so a GPU's copy engine may read it directly once it is
// pinned. The wire that maps a buffer adds it; owners of copy engines look it up.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace dingo {

/// A mapping, unmapped with its last reference. Thread-safe.
class LentMemory {
  public:
    /// [at, at + bytes) is the owner's buffer; `mapped` is the length to unmap.
    LentMemory(std::byte* at, std::size_t bytes, std::size_t mapped)
        : at_(at), bytes_(bytes), mapped_(mapped) {}
    ~LentMemory();
    LentMemory(const LentMemory&) = delete;
    LentMemory& operator=(const LentMemory&) = delete;

    [[nodiscard]] std::span<const std::byte> bytes() const { return {at_, bytes_}; }
    /// A copy engine reads it fast. Only a hint: after unpinning, reads are slow but still correct.
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
    /// Notified once of each buffer, also those added before watch(), and of each removal. Called
    /// with the registry's lock held: must not block.
    class Watcher {
      public:
        virtual ~Watcher() = default;
        virtual void lent(const std::shared_ptr<LentMemory>& memory) = 0;
        virtual void taken_back(const std::shared_ptr<LentMemory>& memory) = 0;
    };

    void add(const std::shared_ptr<LentMemory>& memory);
    void remove(const std::shared_ptr<LentMemory>& memory);
    void watch(Watcher& watcher);
    /// After it returns, the watcher is not called any more.
    void forget(Watcher& watcher);

  private:
    std::mutex mutex_;
    std::vector<std::shared_ptr<LentMemory>> all_;
    std::vector<Watcher*> watchers_;
};

/// The registry of this process. Never destroyed.
LentMemories& lent_memories();

}  // namespace dingo
