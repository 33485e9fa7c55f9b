// SPDX-License-Identifier: BSD-2-Clause
#include "dispatch.h"

#include "cost.h"
#include "dingo/packet/icrc.h"
#include "dingo/packet/train.h"
#include "qp_math.h"

namespace dingo::model {
namespace {

packet::Transport transport_of(const QueuePair& qp) {
    switch (qp.type) {
        case QpType::kRc:
            return packet::Transport::kRc;
        case QpType::kUc:
            return packet::Transport::kUc;
        default:
            return packet::Transport::kUd;
    }
}

}  // namespace

void Dispatch::receive(const packet::Packet& packet, std::span<const std::byte> frame,
                       bool has_icrc) {
    if (has_icrc && !packet::icrc_check(frame, packet)) {
        card_.count(DINGO_CARD_RX_ICRC_ENCAPSULATED);
        return;
    }
    const std::size_t bytes = packet::wire_bytes(packet);
    card_.count(DINGO_CARD_RDMA_RX_PACKETS, packet.packets);
    card_.count(DINGO_CARD_RDMA_RX_BYTES, bytes);
    if (packet.ecn == packet::tos::kEcnCongested)
        card_.count(DINGO_CARD_NP_ECN_MARKED_ROCE_PACKETS, packet.packets);
    if (packet.bth.opcode == packet::Opcode::kCnp) {
        card_.count(DINGO_CARD_RP_CNP_IGNORED);
        return;
    }
    // All other packets to this number find no QP.
    if (packet.bth.dest_qp == DINGO_QPN_MCAST && port_.has_groups && packet.dgid.is_multicast() &&
        packet.op().transport == packet::Transport::kUd) {
        receive_multicast(packet, frame);
        return;
    }
    QueuePair* const qp = host_.find_qp(packet.bth.dest_qp);
    if (!qp) {
        card_.count(DINGO_CARD_RX_DROP_BAD_QPN, packet.packets);
        return;
    }
    if (!check_transport(*qp, packet) || !check_state(*qp, packet) || !check_pkey(packet))
        return;
    if (is_datagram(*qp) ? !paths_.is_local(*qp, packet)
                         : !paths_.is_peer(*qp, packet) || !Paths::is_peer_port(*qp, packet)) {
        card_.count(DINGO_CARD_RX_DROP_ADDRESS, packet.packets);
        return;
    }
    charge(*qp, packet, bytes);
    qp->count(DINGO_QP_RX_PACKETS, packet.packets);
    qp->count(DINGO_QP_RX_BYTES, bytes);
    if (is_datagram(*qp)) {
        datagram_.receive_datagram(*qp, packet, frame);
        return;
    }
    ResponderState& p = qp->transport->responder;
    if (qp->state == QpState::kRtr && !p.comm_est) {
        p.comm_est = true;
        host_.async_event(DINGO_EV_COMM_EST, qp->qpn);
    }
    if (packet.op().is_response())
        completer_.receive_response(*qp, packet);
    else if (is_reliable(*qp))
        responder_.receive_request(*qp, packet);
    else
        unreliable_.receive_unreliable(*qp, packet);
}

void Dispatch::charge(const QueuePair& qp, const packet::Packet& packet, std::size_t bytes) {
    const std::int64_t cost = cost::of_frame(bytes);
    if (!card_.looped)
        scheduler_.spend_received(qp.share, cost);
    else
        scheduler_.spend(packet.op().is_response() ? qp.share : *card_.looped, cost);
}

bool Dispatch::check_transport(const QueuePair& qp, const packet::Packet& packet) {
    if (packet.op().transport == transport_of(qp))
        return true;
    card_.count(DINGO_CARD_RX_DROP_OPCODE, packet.packets);
    return false;
}

bool Dispatch::check_state(const QueuePair& qp, const packet::Packet& packet) {
    bool open = false;
    switch (qp.state) {
        case QpState::kRtr:
        case QpState::kSqe:
            open = !packet.op().is_response();
            break;
        case QpState::kRts:
        case QpState::kSqd:
            open = true;
            break;
        default:
            break;
    }
    if (!open)
        card_.count(DINGO_CARD_RX_DROP_QP_STATE, packet.packets);
    return open;
}

bool Dispatch::check_pkey(const packet::Packet& packet) {  // C9-42, C9-43
    // The only entry of the P_Key table is a full member: all members of the partition may send to
    // it.
    constexpr std::uint16_t kBaseMask = 0x7FFF;
    if ((packet.bth.pkey & kBaseMask) == (DINGO_PKEY_DEFAULT & kBaseMask))
        return true;
    card_.count(DINGO_CARD_BAD_PKEY, packet.packets);
    return false;
}

void Dispatch::receive_multicast(const packet::Packet& packet, std::span<const std::byte> frame) {
    const auto members = port_.groups.members(packet.dgid.bytes);
    if (members.empty()) {
        card_.count(DINGO_CARD_RX_DROP_MCAST);
        return;
    }
    if (!check_pkey(packet))
        return;
    bool reached = false;
    for (const std::uint32_t qpn : members) {
        QueuePair& qp = *host_.find_qp(qpn);  // cannot be null: DESTROY_QP detaches
        if (!paths_.is_on_own_vlan(qp, packet))
            continue;
        reached = true;
        if (!check_state(qp, packet))
            continue;
        qp.count(DINGO_QP_RX_PACKETS);
        qp.count(DINGO_QP_RX_BYTES, packet.frame_bytes());
        if (!card_.looped)  // otherwise the sender was charged for all copies
            charge(qp, packet, packet.frame_bytes());
        datagram_.receive_datagram(qp, packet, frame);
    }
    if (!reached)
        card_.count(DINGO_CARD_RX_DROP_ADDRESS, packet.packets);
}

}  // namespace dingo::model
