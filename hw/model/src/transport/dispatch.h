// SPDX-License-Identifier: BSD-2-Clause
//
// Passes a frame to its QP, or to those of its multicast group, after the checks that all
// transports share; each check has its own counter.
#pragma once

#include <cstddef>
#include <span>

#include "../card_context.h"
#include "../port.h"
#include "completer.h"
#include "datagram.h"
#include "dingo/packet/parse.h"
#include "paths.h"
#include "responder.h"
#include "scheduler.h"
#include "transport_host.h"
#include "unreliable_connected.h"

namespace dingo::model {

class Dispatch {
  public:
    Dispatch(CardContext& card, TransportHost& host, const Port& port, Scheduler& scheduler,
             Paths& paths, Completer& completer, Responder& responder,
             UnreliableConnected& unreliable, Datagram& datagram)
        : card_(card),
          host_(host),
          port_(port),
          scheduler_(scheduler),
          paths_(paths),
          completer_(completer),
          responder_(responder),
          unreliable_(unreliable),
          datagram_(datagram) {}

    /// `frame` was parsed into `packet`; its ICRC is not checked yet. A frame without ICRC is from
    /// the loopback or from a card of this host.
    void receive(const packet::Packet& packet, std::span<const std::byte> frame, bool has_icrc);

  private:
    // The checks, in the order of the headers.
    bool check_transport(const QueuePair& qp, const packet::Packet& packet);
    bool check_state(const QueuePair& qp, const packet::Packet& packet);
    bool check_pkey(const packet::Packet& packet);
    /// Charges the requester's share if the requester is a QP of this card, else that of the
    /// receiving QP.
    void charge(const QueuePair& qp, const packet::Packet& packet, std::size_t bytes);
    /// Delivers a copy to each QP that is attached to the group.
    void receive_multicast(const packet::Packet& packet, std::span<const std::byte> frame);

    CardContext& card_;
    TransportHost& host_;
    const Port& port_;
    Scheduler& scheduler_;
    Paths& paths_;
    Completer& completer_;
    Responder& responder_;
    UnreliableConnected& unreliable_;
    Datagram& datagram_;
};

}  // namespace dingo::model
