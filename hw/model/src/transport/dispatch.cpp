// SPDX-License-Identifier: BSD-2-Clause
//
// A frame's way to its QP: the checks that all transports share, each with its own counter.
#include "core.h"
#include "dingo/packet/icrc.h"

namespace dingo::model {
namespace {

packet::Transport transport_of(const Qp& qp) {
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

void Core::receive(const packet::Packet& packet, std::span<const std::byte> frame, bool looped) {
    if (!looped && !packet::icrc_check(frame, packet)) {
        drop(DINGO_CARD_RX_ICRC_ENCAPSULATED);
        return;
    }
    const std::size_t bytes = packet.frame_bytes();
    card_.count(DINGO_CARD_RDMA_RX_PACKETS);
    card_.count(DINGO_CARD_RDMA_RX_BYTES, bytes);
    if (packet.ecn == packet::tos::kEcnCongested)
        card_.count(DINGO_CARD_NP_ECN_MARKED_ROCE_PACKETS);
    if (packet.bth.opcode == packet::Opcode::kCnp) {
        drop(DINGO_CARD_RP_CNP_IGNORED);
        return;
    }
    // What else goes to this number finds no QP.
    if (packet.bth.dest_qp == DINGO_QPN_MCAST && port_.has_groups && packet.dgid.is_multicast() &&
        packet.op().transport == packet::Transport::kUd) {
        receive_multicast(packet, frame);
        return;
    }
    Qp* const qp = host_.find_qp(packet.bth.dest_qp);
    if (!qp) {
        drop(DINGO_CARD_RX_DROP_BAD_QPN);
        return;
    }
    if (!check_transport(*qp, packet) || !check_state(*qp, packet) || !check_pkey(packet))
        return;
    if (is_datagram(*qp) ? !is_local_address(packet)
                         : !check_path(*qp, packet) || !check_port(*qp, packet)) {
        drop(DINGO_CARD_RX_DROP_ADDRESS);
        return;
    }
    qp->count(DINGO_QP_RX_PACKETS);
    qp->count(DINGO_QP_RX_BYTES, bytes);
    if (is_datagram(*qp)) {
        receive_datagram(*qp, packet, frame);
        return;
    }
    Responder& p = qp->transport->responder;
    if (qp->state == QpState::kRtr && !p.comm_est) {
        p.comm_est = true;
        event(*qp, DINGO_EV_COMM_EST);
    }
    if (packet.op().is_response())
        receive_response(*qp, packet);
    else if (is_reliable(*qp))
        receive_request(*qp, packet);
    else
        receive_unreliable(*qp, packet);
}

bool Core::check_transport(const Qp& qp, const packet::Packet& packet) {
    if (packet.op().transport == transport_of(qp))
        return true;
    drop(DINGO_CARD_RX_DROP_OPCODE);
    return false;
}

bool Core::check_state(const Qp& qp, const packet::Packet& packet) {
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
        drop(DINGO_CARD_RX_DROP_QP_STATE);
    return open;
}

bool Core::check_pkey(const packet::Packet& packet) {  // C9-42, C9-43
    // The one entry of the table is a full member: every member of the same partition may talk to
    // it.
    constexpr std::uint16_t kBaseMask = 0x7FFF;
    if ((packet.bth.pkey & kBaseMask) == (DINGO_PKEY_DEFAULT & kBaseMask))
        return true;
    drop(DINGO_CARD_BAD_PKEY);
    return false;
}

}  // namespace dingo::model
