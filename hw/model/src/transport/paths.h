// SPDX-License-Identifier: BSD-2-Clause
//
// Addresses: from those of a QP or a UD work request to the headers in front of the BTH, and which
// packets carry those of a QP or of this card.
#pragma once

#include <cstdint>

#include "../port.h"
#include "../queue_pair.h"
#include "dingo/packet/build.h"
#include "dingo/packet/parse.h"

namespace dingo::model {

class Paths {
  public:
    explicit Paths(const Port& port) : port_(port) {}

    /// The header template of a connected QP (TransportState::path), made anew when the GID table
    /// changed; nullptr: no source GID that is for this QP.
    const packet::HeaderTemplate* of(QueuePair& qp) const;
    /// Header template of a datagram, valid until the next call; nullptr: its path is not usable.
    const packet::HeaderTemplate* of(const QueuePair& qp, const dingo_wqe_ud& av);

    /// Whether the packet goes from the QP's peer to the QP's own GID, on its VLAN.
    [[nodiscard]] bool is_peer(const QueuePair& qp, const packet::Packet& packet) const;
    /// Whether the source port is the one that the peer has used so far, if it is known.
    static bool is_peer_port(const QueuePair& qp, const packet::Packet& packet);
    /// Destination is a GID that is for this QP, on its VLAN, or a multicast group.
    bool is_local(const QueuePair& qp, const packet::Packet& packet);
    /// Whether the packet is in the VLAN of a GID that is for this QP.
    [[nodiscard]] bool is_on_own_vlan(const QueuePair& qp, const packet::Packet& packet) const;

  private:
    const Port& port_;
    packet::HeaderTemplate datagram_path_;
    std::uint32_t last_gid_ = 0;  ///< where is_local() looks first
};

}  // namespace dingo::model
