// SPDX-License-Identifier: BSD-2-Clause
//
// QPs that wait for room on the wire, by the address that they send to: one full ring holds back
// nobody else. Those of one address have it in turns, as all QPs have the card (scheduler.h); one
// at a time looks whether there is room.
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
    /// At the beginning of a run: for some addresses, the next waiting QP looks for room again.
    void look_again();
    /// True: `qp`, which has the turn, waits for room or queues behind QPs that do.
    [[nodiscard]] bool holds_back(QueuePair& qp);
    /// The turn of `qp` is over, and what it cost before there was no room at `address`: 0, it sent
    /// nothing.
    void wait(QueuePair& qp, std::uint64_t address, std::int64_t cost);
    /// The turn of `qp` is over, in which it found all the room that it wanted.
    void had_room(QueuePair& qp, std::int64_t cost) {
        if (!empty())
            leave(qp, cost);
    }
    void remove(QueuePair& qp) noexcept;

  private:
    struct Address {
        std::uint64_t mac;
        Scheduler waiting;
        QueuePair* looking;  ///< taken out of `waiting`, with a place in ready_; or none
    };
    Address* find(std::uint64_t mac) noexcept;
    void look(Address& address);
    void leave(QueuePair& qp, std::int64_t cost);

    Scheduler& ready_;
    std::vector<Address> addresses_;
    std::size_t first_ = 0;  ///< that look_again() begins with
};

}  // namespace dingo::model
