// SPDX-License-Identifier: BSD-2-Clause
//
// QPs that wait for room on the wire, by destination address: a full ring holds back only its own
// senders. Those of one address share it as all QPs share the card (scheduler.h); one of them at a
// time checks for room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scheduler.h"

namespace dingo::model {

class RoomWaits {
  public:
    explicit RoomWaits(Scheduler& ready) : ready_(ready) {}

    [[nodiscard]] bool empty() const noexcept { return addresses_.empty(); }
    /// At the beginning of a run: for some addresses, lets the next waiting QP check for room.
    void look_again();
    /// Returns true if `qp`, whose turn it is, must wait for room or queue behind QPs that do.
    [[nodiscard]] bool holds_back(QueuePair& qp);
    /// Ends the turn of `qp`, for which `address` had no room; `cost`: of what it sent before, 0:
    /// nothing.
    void wait(QueuePair& qp, std::uint64_t address, std::int64_t cost);
    /// Ends the turn of `qp`, which found all the room that it needed.
    void had_room(QueuePair& qp, std::int64_t cost) {
        if (!empty())
            leave(qp, cost);
    }
    void remove(QueuePair& qp) noexcept;

  private:
    struct Address {
        std::uint64_t mac;
        Scheduler waiting;
        QueuePair* looking;  ///< removed from `waiting` and queued in ready_; or null
    };
    Address* find(std::uint64_t mac) noexcept;
    void look(Address& address);
    void leave(QueuePair& qp, std::int64_t cost);

    Scheduler& ready_;
    std::vector<Address> addresses_;
    std::size_t first_ = 0;  ///< where look_again() begins
};

}  // namespace dingo::model
