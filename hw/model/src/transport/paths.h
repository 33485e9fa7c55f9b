// SPDX-License-Identifier: BSD-2-Clause
//
// Addresses: builds the headers in front of the BTH from the addresses of a QP or a UD work
// request, and checks the addresses of received packets.
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

    /// Returns the header template of a connected QP (TransportState::path), rebuilt if the GID
    /// table has changed; nullptr if the QP has no usable source GID.
    const packet::HeaderTemplate* of(QueuePair& qp) const;
    /// Returns the header template of a datagram, valid until the next call; nullptr if its path is
    /// not usable.
    const packet::HeaderTemplate* of(const QueuePair& qp, const dingo_wqe_ud& av);

    /// Returns true if the packet is from the QP's peer to the QP's own GID, on its VLAN.
    [[nodiscard]] bool is_peer(const QueuePair& qp, const packet::Packet& packet) const;
    /// Returns true unless the source port differs from the one learnt from the peer.
    static bool is_peer_port(const QueuePair& qp, const packet::Packet& packet);
    /// Returns true if the destination is a multicast group, or a GID that the QP may use, on its
    /// VLAN.
    bool is_local(const QueuePair& qp, const packet::Packet& packet);
    /// Returns true if the packet is on the VLAN of a GID that the QP may use.
    [[nodiscard]] bool is_on_own_vlan(const QueuePair& qp, const packet::Packet& packet) const;

  private:
    const Port& port_;
    packet::HeaderTemplate datagram_path_;
    std::uint32_t last_gid_ = 0;  ///< the entry that is_local() tries first
};

}  // namespace dingo::model
