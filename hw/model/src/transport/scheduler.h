// SPDX-License-Identifier: BSD-2-Clause
//
// Queue of the QPs that have something to send: first in, first out; a QP that has more after its turn
// goes to the end, so that none waits for the whole work of another.
#pragma once

namespace dingo::model {

struct Qp;

/// The hook that a QP carries.
struct ReadyHook {
    Qp* previous = nullptr;
    Qp* next = nullptr;
    bool queued = false;
};

class Scheduler {
  public:
    /// Queues `qp` unless it is queued.
    void add(Qp& qp) noexcept;
    /// Takes `qp` out, wherever it stands.
    void remove(Qp& qp) noexcept;
    /// The QP whose turn it is, taken out; nullptr when none is ready.
    Qp* take() noexcept;
    [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
    [[nodiscard]] Qp* front() const noexcept { return head_; }
    void clear() noexcept { head_ = tail_ = nullptr; }

  private:
    Qp* head_ = nullptr;
    Qp* tail_ = nullptr;
};

}  // namespace dingo::model
