// SPDX-License-Identifier: BSD-2-Clause
//
// Queue of the QPs that have something to send: first in, first out; a QP that has more after its
// turn goes to the end, so that none waits for the whole work of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dingo::model {

struct Qp;

/// The hook that a QP carries.
struct ReadyHook {
    bool queued = false;
};

class Scheduler {
  public:
    /// Queues `qp` unless it is queued.
    void add(Qp& qp);
    /// The same, in front of all: it had no use of its turn.
    void add_first(Qp& qp);
    /// Takes `qp` out, wherever it stands.
    void remove(Qp& qp) noexcept;
    /// The QP whose turn it is, taken out; nullptr when none is ready.
    Qp* take() noexcept;
    [[nodiscard]] bool empty() const noexcept { return head_ == tail_; }
    /// The QP that is `places` behind the first, or nullptr.
    [[nodiscard]] Qp* peek(std::size_t places) const noexcept {
        return places < tail_ - head_ ? ring_[(head_ + places) & mask()] : nullptr;
    }

  private:
    static constexpr std::size_t kFirstSize = 64;
    [[nodiscard]] std::size_t mask() const noexcept { return ring_.size() - 1; }
    void grow();

    std::vector<Qp*> ring_ = std::vector<Qp*>(kFirstSize);  // power of two; nullptr: was removed
    std::size_t head_ = 0;
    std::size_t tail_ = 0;
};

}  // namespace dingo::model
