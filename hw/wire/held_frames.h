// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "dingo/engine.h"

namespace dingo {

inline constexpr std::size_t kMaxHeldFrames = 16'384;
inline constexpr std::size_t kMaxHeldBytes = 64UL * 1024 * 1024;
/// Mark of a frame that waits for its time only.
inline constexpr std::uint64_t kNoMark = ~std::uint64_t{0};

/// Frames held back in one direction.
class HeldFrames {
  public:
    [[nodiscard]] bool full(std::size_t more) const {
        return frames_.size() >= kMaxHeldFrames || bytes_ + more > kMaxHeldBytes;
    }
    [[nodiscard]] bool empty() const { return frames_.empty(); }
    [[nodiscard]] Nanoseconds next_due() const {
        return frames_.empty() ? kNever : frames_.begin()->first.first;
    }

    /// Holds a frame until time `due`, or until the count of passed frames reaches `mark`.
    void add(std::span<const std::byte> frame, Nanoseconds due, std::uint64_t mark) {
        const Key key{due, sequence_++};
        frames_.emplace(key, Held{{frame.begin(), frame.end()}, mark});
        bytes_ += frame.size();
        if (mark != kNoMark)
            marks_.emplace(Mark{mark, key.second}, key);
    }

    /// Returns the next frame to release, empty if none. It stays valid until pop().
    [[nodiscard]] std::span<const std::byte> ready(Nanoseconds now, std::uint64_t passed) {
        if (!marks_.empty() && marks_.begin()->first.first <= passed)
            ready_ = marks_.begin()->second;
        else if (!frames_.empty() && frames_.begin()->first.first <= now)
            ready_ = frames_.begin()->first;
        else
            return {};
        return frames_.at(ready_).bytes;
    }

    /// Removes the frame that ready() returned.
    void pop() {
        const auto it = frames_.find(ready_);
        bytes_ -= it->second.bytes.size();
        marks_.erase(Mark{it->second.mark, ready_.second});
        frames_.erase(it);
    }

    void make_all_due() {
        std::map<Key, Held> due;
        for (auto& [key, held] : frames_)
            due.emplace(Key{0, key.second}, std::move(held));
        frames_ = std::move(due);
        marks_.clear();
    }

  private:
    using Key = std::pair<Nanoseconds, std::uint64_t>;     // due, sequence
    using Mark = std::pair<std::uint64_t, std::uint64_t>;  // frames passed, sequence
    struct Held {
        std::vector<std::byte> bytes;
        std::uint64_t mark;
    };

    std::map<Key, Held> frames_;
    std::map<Mark, Key> marks_;
    std::size_t bytes_ = 0;
    std::uint64_t sequence_ = 0;
    Key ready_{};
};

}  // namespace dingo
