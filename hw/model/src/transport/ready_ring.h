// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <vector>

namespace dingo::model {

struct QueuePair;

/// FIFO of the QPs of one context that are ready.
class ReadyRing {
  public:
    void push_back(QueuePair& qp) {
        if (size() == ring_.size())
            grow();
        ring_[tail_++ & mask()] = &qp;
    }
    void push_front(QueuePair& qp) {
        if (size() == ring_.size())
            grow();
        ring_[--head_ & mask()] = &qp;
    }
    /// Returns nullptr if empty, or if the QP was removed.
    QueuePair* pop_front() noexcept { return empty() ? nullptr : ring_[head_++ & mask()]; }
    void remove(const QueuePair& qp) noexcept {
        for (std::size_t i = head_; i != tail_; ++i)
            if (ring_[i & mask()] == &qp)
                ring_[i & mask()] = nullptr;
    }
    [[nodiscard]] bool empty() const noexcept { return head_ == tail_; }
    /// Number of places, including those of removed QPs.
    [[nodiscard]] std::size_t size() const noexcept { return tail_ - head_; }
    /// Returns the QP `places` behind the first; nullptr if none, or if it was removed.
    [[nodiscard]] QueuePair* peek(std::size_t places) const noexcept {
        return places < size() ? ring_[(head_ + places) & mask()] : nullptr;
    }

  private:
    static constexpr std::size_t kFirstSize = 64;
    [[nodiscard]] std::size_t mask() const noexcept { return ring_.size() - 1; }
    void grow() {
        std::vector<QueuePair*> larger(ring_.empty() ? kFirstSize : ring_.size() * 2);
        for (std::size_t i = head_; i != tail_; ++i)
            larger[i & (larger.size() - 1)] = ring_[i & mask()];
        ring_.swap(larger);
    }

    std::vector<QueuePair*> ring_;  // size is a power of two; nullptr: removed
    std::size_t head_ = 0;
    std::size_t tail_ = 0;
};

}  // namespace dingo::model
