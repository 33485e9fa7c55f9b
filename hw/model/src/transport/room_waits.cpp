// SPDX-License-Identifier: BSD-2-Clause
#include "room_waits.h"

#include <algorithm>
#include <utility>

#include "../port.h"
#include "qp_math.h"
#include "transport_state.h"

namespace dingo::model {
namespace {

/// Number of addresses tried in one run: each unsuccessful try costs a turn.
constexpr std::size_t kAddressesAtOnce = 8;

}  // namespace

RoomWaits::Address* RoomWaits::find(std::uint64_t mac) noexcept {
    const auto at = std::ranges::find(addresses_, mac, &Address::mac);
    return at == addresses_.end() ? nullptr : &*at;
}

void RoomWaits::look(Address& address) {
    address.looking = address.waiting.take();
    if (address.looking != nullptr)
        ready_.add(*address.looking);
}

void RoomWaits::look_again() {
    for (std::size_t i = std::min(kAddressesAtOnce, addresses_.size()); i > 0; --i) {
        first_ = first_ < addresses_.size() ? first_ : 0;
        Address& address = addresses_[first_++];
        if (address.looking == nullptr)
            look(address);
    }
    std::erase_if(addresses_, [](const Address& address) {
        return address.looking == nullptr && address.waiting.empty();
    });
}

bool RoomWaits::holds_back(QueuePair& qp) {
    TransportState& t = *qp.transport;
    if (qp.state < QpState::kRtr || qp.state == QpState::kErr || qp.state == QpState::kSqe)
        return false;  // flushing needs no room
    if (t.room.queued)
        return true;
    if (is_datagram(qp))
        return false;
    Address* const address = find(mac_number(qp.attr.dmac));
    if (address == nullptr || address->looking == &qp)
        return false;
    remove(qp);  // it may be checking for room at its previous address
    t.room_at = address->mac;
    address->waiting.add(qp);
    return true;
}

void RoomWaits::wait(QueuePair& qp, std::uint64_t mac, std::int64_t cost) {
    TransportState& t = *qp.transport;
    remove(qp);  // it may have checked for room at another address
    Address* address = find(mac);
    if (address == nullptr) {
        addresses_.push_back({mac, Scheduler(&TransportState::room), nullptr});
        address = &addresses_.back();
    }
    t.room_at = mac;
    if (cost == 0)
        address->waiting.add_first(qp);  // it keeps its place
    else
        address->waiting.add(qp);
    address->waiting.charge(qp, cost);
}

void RoomWaits::leave(QueuePair& qp, std::int64_t cost) {
    Address* const address = find(qp.transport->room_at);
    if (address == nullptr || address->looking != &qp)
        return;
    address->waiting.charge(qp, cost);
    look(*address);
    if (address->looking == nullptr)  // no QP waits any more
        addresses_.erase(addresses_.begin() + (address - addresses_.data()));
}

void RoomWaits::remove(QueuePair& qp) noexcept {
    Address* const address = empty() ? nullptr : find(qp.transport->room_at);
    if (address == nullptr)
        return;
    address->waiting.remove(qp);
    if (address->looking == &qp)
        address->looking = nullptr;
}

}  // namespace dingo::model
