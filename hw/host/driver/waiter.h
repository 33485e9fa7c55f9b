// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace dingo::uverbs {

/// Waits for a result that another object finds in its poll(). Destroying it ends the wait.
class Waiter {
  public:
    Waiter() = default;
    virtual ~Waiter() { stop_waiting(); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    /// Called when the wait has ended: the result is available (0) or will not come (ETIMEDOUT).
    /// The implementation may wait again or destroy this object.
    virtual void settled(int error) = 0;

    [[nodiscard]] bool waits() const { return next_ != this; }
    void stop_waiting() noexcept {
        next_->prev_ = prev_;
        prev_->next_ = next_;
        next_ = prev_ = this;
    }

  private:
    friend class Waiters;
    Waiter* next_ = this;
    Waiter* prev_ = this;
};

/// Waiters for the same result, in order of arrival. Members may leave at any time.
class Waiters final : private Waiter {
  public:
    [[nodiscard]] bool empty() const { return !waits(); }
    [[nodiscard]] Waiter* first() { return empty() ? nullptr : next_; }

    void add(Waiter& waiter) noexcept {
        waiter.stop_waiting();
        waiter.prev_ = prev_;
        waiter.next_ = this;
        prev_->next_ = &waiter;
        prev_ = &waiter;
    }

    /// Moves all of `others` to the end of these.
    void take_all(Waiters& others) noexcept {
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
