// SPDX-License-Identifier: BSD-2-Clause
#include "paths.h"

#include <algorithm>
#include <cstring>

#include "transport_state.h"

namespace dingo::model {
namespace {

constexpr std::uint8_t kDefaultHopLimit = 64;
constexpr std::uint8_t kPriorityMask = 7;
constexpr unsigned kDscpShift = 2;
constexpr std::uint8_t kEcnMask = 3;

/// Builds a path from the fields that struct qp_attr and struct wqe_ud have in common.
template <typename AddressVector>
packet::NetworkPath network_path(const AddressVector& av, const GidEntry& source) {
    packet::NetworkPath path;
    std::memcpy(path.dmac.bytes.data(), av.dmac, sizeof av.dmac);
    path.smac.bytes = source.mac;
    path.sgid.bytes = source.gid;
    std::memcpy(path.dgid.bytes.data(), av.dgid, sizeof av.dgid);
    path.has_vlan = source.vlan != DINGO_VLAN_NONE;
    if (path.has_vlan)
        path.vlan_tci = static_cast<std::uint16_t>(
            packet::VlanHeader::Vid::put(source.vlan) |
            packet::VlanHeader::Pcp::put(static_cast<std::uint32_t>(av.sl & kPriorityMask)));
    path.l3 = path.sgid.is_ipv4_mapped() ? packet::L3Kind::kIpv4 : packet::L3Kind::kIpv6;
    path.dscp = static_cast<std::uint8_t>(av.tclass >> kDscpShift);
    path.ecn = av.tclass & kEcnMask;
    // Applications leave the hop limit at 0 for "on this link"; IP hosts drop such packets.
    path.hop_limit = av.hop_limit == 0 ? kDefaultHopLimit : av.hop_limit;
    path.flow_label = av.flow_label;
    path.udp_sport = av.udp_sport;
    return path;
}

bool same_vlan(const GidEntry& entry, const packet::Packet& packet) {
    // VLAN id 0 is a priority tag: the frame belongs to no VLAN.
    const std::uint32_t vid = packet.has_vlan ? packet::VlanHeader::Vid::get(packet.vlan_tci) : 0;
    return vid == (entry.vlan == DINGO_VLAN_NONE ? 0U : entry.vlan);
}

}  // namespace

const packet::HeaderTemplate* Paths::of(QueuePair& qp) const {
    TransportState& t = *qp.transport;
    if (t.path_valid && t.path_generation == port_.gid_generation)
        return &t.path;
    const GidEntry* source = port_.gid(qp.attr.sgid_index, qp.domain);
    t.path_valid = source != nullptr;
    if (!source)
        return nullptr;
    t.path = packet::HeaderTemplate(network_path(qp.attr, *source));
    t.path_generation = port_.gid_generation;
    return &t.path;
}

const packet::HeaderTemplate* Paths::of(const QueuePair& qp, const dingo_wqe_ud& av) {
    const GidEntry* source = port_.gid(av.sgid_index, qp.domain);
    if (!source)
        return nullptr;
    datagram_path_ = packet::HeaderTemplate(network_path(av, *source));
    return &datagram_path_;
}

bool Paths::is_peer(const QueuePair& qp, const packet::Packet& packet) const {
    const GidEntry* local = port_.gid(qp.attr.sgid_index, qp.domain);
    return local && packet.dgid.bytes == local->gid &&
           std::memcmp(packet.sgid.bytes.data(), qp.attr.dgid, sizeof qp.attr.dgid) == 0 &&
           same_vlan(*local, packet);
}

bool Paths::is_peer_port(const QueuePair& qp, const packet::Packet& packet) {
    const PeerSigns& peer = qp.transport->peer;
    const std::uint16_t known = packet.op().is_response() ? peer.responses : peer.requests;
    return known == 0 || known == packet.udp_sport;
}

bool Paths::is_on_own_vlan(const QueuePair& qp, const packet::Packet& packet) const {
    return std::ranges::any_of(port_.gids, [&](const GidEntry& entry) {
        return entry.is_for(qp.domain) && same_vlan(entry, packet);
    });
}

bool Paths::is_local(const QueuePair& qp, const packet::Packet& packet) {
    if (packet.dgid.is_multicast())
        return true;
    const auto matches = [&](std::uint32_t index) {
        const GidEntry* entry = port_.gid(index, qp.domain);
        return entry && entry->gid == packet.dgid.bytes && same_vlan(*entry, packet);
    };
    if (matches(last_gid_))
        return true;
    for (std::uint32_t index = 0; index < port_.gids.size(); ++index)
        if (matches(index)) {
            last_gid_ = index;
            return true;
        }
    return false;
}

}  // namespace dingo::model
