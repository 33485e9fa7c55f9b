// SPDX-License-Identifier: BSD-2-Clause
//
// Address vectors: what ib_core resolves and dingo.ko checks.
#include "host/driver/address_vector.h"

#include <algorithm>
#include <cerrno>

#include "dingo-abi.h"
#include "dingo/packet/build.h"
#include "host/driver/driver.h"
#include "host/driver/udata.h"

namespace dingo::uverbs {
namespace {

constexpr std::uint32_t kFlowLabelMask = 0xfffff;
/// The hop limit that the kernel uses for an on-link host.
constexpr std::uint8_t kHopLimit = 64;

/// Spreads flows to different peers if neither flow label nor connection do so.
std::uint16_t port_of_peer(const Gid& dgid) {
    std::uint32_t hash = 2166136261U;  // FNV-1a
    for (const std::uint8_t b : dgid) {
        hash = (hash ^ b) * 16777619U;
    }
    return static_cast<std::uint16_t>(packet::kRoceSourcePortMin | ((hash ^ hash >> 16) & 0x3fff));
}

std::uint16_t udp_sport(Driver& driver, const AhAttr& attr, std::uint32_t local_qpn,
                        std::uint32_t remote_qpn) {
    if (const std::uint16_t fixed = driver.card().fixed_source_port(); fixed != 0) {
        return fixed;
    }
    std::uint32_t label = attr.flow_label & kFlowLabelMask;
    if (label == 0 && (local_qpn != 0 || remote_qpn != 0)) {
        return packet::udp_sport_from_flow_label(
            packet::flow_label_from_qps(local_qpn, remote_qpn));
    }
    return label != 0 ? packet::udp_sport_from_flow_label(label) : port_of_peer(attr.dgid);
}

}  // namespace

AddressVector make_address_vector(Driver& driver, const AhAttr& attr, std::uint32_t local_qpn,
                                  std::uint32_t remote_qpn) {
    if (!attr.is_global || attr.port_num != DINGO_PORT || attr.sl > DINGO_MAX_SL ||
        attr.sgid_index >= driver.gid_table_size()) {
        throw ErrnoError(EINVAL);
    }
    if (attr.sgid_index >= driver.gids().size()) {
        throw ErrnoError(ENODATA);  // as rdma_get_gid_attr(): an empty entry
    }
    const packet::Gid sgid{driver.gids()[attr.sgid_index].gid};
    const packet::Gid dgid{attr.dgid};
    // A connection has one peer.
    if ((dgid.is_multicast() && local_qpn != 0) || sgid.is_ipv4_mapped() != dgid.is_ipv4_mapped()) {
        throw ErrnoError(EINVAL);
    }
    AddressVector av;
    av.dgid = attr.dgid;
    av.dmac = driver.neighbours().resolve(dgid).bytes;
    av.sgid_index = attr.sgid_index;
    av.flow_label = attr.flow_label & kFlowLabelMask;
    av.udp_sport = udp_sport(driver, attr, local_qpn, remote_qpn);
    av.hop_limit = dgid.is_multicast() ? attr.hop_limit : kHopLimit;
    av.tclass = attr.traffic_class;
    av.sl = attr.sl;
    return av;
}

void Driver::resolve(const Gid& gid) {
    neighbours_->resolve(packet::Gid{gid});
}

void Driver::create_ah(const AhAttr& attr, Udata& udata) {
    udata_none(udata);
    const AddressVector av = make_address_vector(*this, attr, 0, 0);
    dingo_create_ah_resp resp{};
    std::ranges::copy(av.dmac, resp.dmac);
    resp.udp_sport = av.udp_sport;
    udata_out(udata, resp);
}

}  // namespace dingo::uverbs
