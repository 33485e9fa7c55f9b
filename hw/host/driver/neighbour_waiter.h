// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace dingo::uverbs {

/// Somebody who waits for a neighbour's MAC address (Neighbours::await()). Its end ends the wait.
class NeighbourWaiter {
  public:
    NeighbourWaiter() = default;
    virtual ~NeighbourWaiter() { stop_waiting(); }
    NeighbourWaiter(const NeighbourWaiter&) = delete;
    NeighbourWaiter& operator=(const NeighbourWaiter&) = delete;

    /// The wait is over: the address is known (0), or nobody answered (ETIMEDOUT). May wait again,
    /// or destroy this.
    virtual void settled(int error) = 0;

    [[nodiscard]] bool waits() const { return next_ != this; }
    void stop_waiting() noexcept {
        next_->prev_ = prev_;
        prev_->next_ = next_;
        next_ = prev_ = this;
    }

  private:
    friend class NeighbourWaiters;
    NeighbourWaiter* next_ = this;
    NeighbourWaiter* prev_ = this;
};

/// Those who wait for the same, first come first. Members may leave at any time.
class NeighbourWaiters final : private NeighbourWaiter {
  public:
    [[nodiscard]] bool empty() const { return !waits(); }
    [[nodiscard]] NeighbourWaiter* first() { return empty() ? nullptr : next_; }

    void add(NeighbourWaiter& waiter) noexcept {
        waiter.stop_waiting();
        waiter.prev_ = prev_;
        waiter.next_ = this;
        prev_->next_ = &waiter;
        prev_ = &waiter;
    }

    /// All of `others` come to the end of these.
    void take_all(NeighbourWaiters& others) noexcept {
        if (others.empty()) {
            return;
        }
        others.next_->prev_ = prev_;
        prev_->next_ = others.next_;
        others.prev_->next_ = this;
        prev_ = others.prev_;
        others.next_ = others.prev_ = &others;
    }

  private:
    void settled(int /*error*/) override {}
};

}  // namespace dingo::uverbs
