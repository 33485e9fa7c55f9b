// SPDX-License-Identifier: BSD-2-Clause
#include "datagram.h"

#include <algorithm>
#include <array>

#include "dingo/packet/psn.h"
#include "qp_math.h"

namespace dingo::model {
namespace {

/// Bytes at the start of a receive buffer: the GRH, or 20 zero bytes and the IPv4 header.
constexpr std::size_t kGrhBytes = 40;
constexpr std::uint32_t kOwnQkey = 1U << 31;

/// Returns the longest datagram: the largest IB MTU whose packet fits the port's MTU, as
/// iboe_get_mtu() of the kernel.
std::uint32_t longest_datagram(const Port& port) {
    constexpr std::uint32_t kHeaders = 96;  // GRH, UDP, BTH, XRC, AtomicETH, ICRC
    std::uint32_t bytes = packet::kMaxPmtu;
    while (bytes > DINGO_MIN_MTU && bytes + kHeaders > port.mtu)
        bytes /= 2;
    return bytes;
}

std::array<std::byte, kGrhBytes> network_header(const packet::Packet& packet,
                                                std::span<const std::byte> frame) {
    std::array<std::byte, kGrhBytes> grh{};
    const std::size_t bytes =
        packet.l3 == packet::L3Kind::kIpv4 ? packet::kIpv4Bytes : packet::kIpv6Bytes;
    const auto header = frame.subspan(packet.l3_offset, bytes);
    std::copy(header.begin(), header.end(), grh.end() - static_cast<std::ptrdiff_t>(bytes));
    return grh;
}

}  // namespace

SendStop Datagram::turn(QueuePair& qp, unsigned burst, unsigned& used) {
    const RequesterState& r = qp.transport->requester;
    while (used < burst) {
        if (qp.state != QpState::kRts || r.next_index == qp.sq_producer)
            return SendStop::kIdle;
        if (r.wait_deadline != kNever)
            return SendStop::kBlocked;
        if (const SendStop stop = send_datagram(qp); stop != SendStop::kTurnOver || frame_.busy())
            return stop;
        ++used;
    }
    return SendStop::kTurnOver;
}

// Programs such as mckey exit right after their last post, and no completion tells them that it was
// sent: datagrams posted before DESTROY_QP are sent before it, as by a card without delay.
void Datagram::send_last_datagrams(QueuePair& qp) {
    if (!is_datagram(qp))
        return;
    frame_.clear_busy();
    unsigned used = 0;
    while (turn(qp, ~0U, used) == SendStop::kFetching && far_.wait_for_data()) {
    }
}

SendStop Datagram::send_datagram(QueuePair& qp) {
    RequesterState& r = qp.transport->requester;
    const SendWqe& wqe = wqe_;
    const auto refuse = [&](WqeFault fault) {
        send_queue_.push_error(qp, wqe, fault);
        return SendStop::kIdle;
    };
    if (const WqeFault fault = wqe_.load(card_, qp, r.next_index))
        return refuse(fault);
    if (is_local_operation(wqe.opcode()))
        return local_ops_.start(qp, wqe);
    if (wqe.length() > longest_datagram(port_))
        return refuse({DINGO_WCS_LOC_LEN_ERR, DINGO_VERR_MSG_TOO_LONG});
    const dingo_wqe_ud av = wqe.ud();
    const packet::HeaderTemplate* const path = paths_.of(qp, av);
    if (!path) {
        if (port_.gid(av.sgid_index))
            card_.count(DINGO_CARD_GID_DENIED);
        return refuse({DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_GID});
    }

    packet::TransportHeaders headers;
    headers.bth.opcode = wqe.opcode() == DINGO_WR_SEND_IMM ? packet::Opcode::kUdSendOnlyImm
                                                           : packet::Opcode::kUdSendOnly;
    headers.bth.migreq = true;
    headers.bth.solicited = wqe.solicited();
    headers.bth.dest_qp = av.dest_qpn;
    headers.bth.psn = r.send_psn & packet::kPsnMask;
    headers.deth = {(av.qkey & kOwnQkey) != 0 ? qp.attr.qkey : av.qkey, qp.qpn};
    headers.imm = wqe.imm();
    if (!frame_.open(*path, headers, wqe.length(), own_members(av), qp.type == QpType::kGsi))
        return SendStop::kTurnOver;
    WqeFault fault;
    if (const Move move = payload_.fill(qp, wqe, message_of(r.next_index, r.send_psn), 0, fault);
        move != Move::kDone) {
        frame_.cancel();
        if (move == Move::kFault)
            return refuse(fault);
        if (move == Move::kLater)
            return SendStop::kFetching;
        deadlines_.pause_sending(qp, kPauseRetry);
        return SendStop::kBlocked;
    }
    frame_.send(qp);
    const std::uint32_t index = r.next_index;
    r.next_index += wqe.blocks();
    r.oldest_psn = r.sent_psn = r.new_psn = ++r.send_psn;
    if (wqe.signaled() || qp.signal_all)
        completions_.send(qp, index, wqe.opcode(), 0);
    completions_.share_consumer(qp);
    return SendStop::kTurnOver;
}

unsigned Datagram::own_members(const dingo_wqe_ud& av) const {
    if (av.dest_qpn != DINGO_QPN_MCAST)
        return 0;
    return static_cast<unsigned>(port_.groups.members(std::to_array(av.dgid)).size());
}

void Datagram::receive_datagram(QueuePair& qp, const packet::Packet& packet,
                                std::span<const std::byte> frame) {
    if (packet.deth.qkey != qp.attr.qkey) {
        card_.count(DINGO_CARD_BAD_QKEY);
        return;
    }
    switch (receives_.take(qp)) {
        case ReceiveRing::Fetch::kOk:
            break;
        case ReceiveRing::Fetch::kEmpty:
            card_.count(DINGO_CARD_RX_DROP_UD_NO_BUFFER);
            return;
        case ReceiveRing::Fetch::kBad:
            receives_.fail(qp, {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_SIZE});
            errors_.enter_error(qp);
            return;
        case ReceiveRing::Fetch::kBusError:
            receives_.fail(qp, {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH});
            errors_.enter_error(qp);
            return;
    }
    const std::size_t bytes = kGrhBytes + packet.payload.size();
    if (bytes > receives_.capacity()) {
        receives_.put_back(qp);
        card_.count(DINGO_CARD_RX_DROP_UD_LENGTH);
        return;
    }
    const std::array<std::byte, kGrhBytes> grh = network_header(packet, frame);
    WqeFault fault;
    Move move = payload_.scatter(qp, receives_.current(), 0, grh, fault);
    if (move == Move::kDone)
        move = payload_.scatter(qp, receives_.current(), kGrhBytes,
                                payload_.received(qp, 0, packet.payload), fault);
    if (move == Move::kPaused || move == Move::kLater) {
        receives_.put_back(qp);
        card_.count(DINGO_CARD_RX_DROP_UD_NO_BUFFER);
        return;
    }
    if (move == Move::kFault) {
        receives_.fail(qp, fault);
        errors_.enter_error(qp);
        return;
    }
    card_.count(DINGO_CARD_RX_SEND_REQUESTS);
    receives_.consumed(qp);
    dingo_cqe entry{};
    entry.wqe_index = receives_.current().tag;
    entry.byte_len = static_cast<std::uint32_t>(bytes);
    const bool with_imm = packet.op().has_imm();
    const std::uint32_t opcode = with_imm ? DINGO_WC_RECV_IMM : DINGO_WC_RECV;
    entry.qpn_op = DINGO_PREP(DINGO_CQE_QPN_OP_QPN_MASK, qp.qpn) |
                   DINGO_PREP(DINGO_CQE_QPN_OP_OPCODE_MASK, opcode);
    entry.flags = DINGO_CQE_FLAGS_GRH_MASK;
    if (with_imm) {
        entry.imm = __builtin_bswap32(packet.imm);
        entry.flags |= DINGO_CQE_FLAGS_IMM_MASK;
    }
    if (packet.bth.solicited)
        entry.flags |= DINGO_CQE_FLAGS_SOLICITED_MASK;
    if (packet.l3 == packet::L3Kind::kIpv4)
        entry.flags |= DINGO_CQE_FLAGS_IPV4_MASK;
    std::uint32_t service_level = 0;
    if (packet.has_vlan) {
        entry.flags |= DINGO_CQE_FLAGS_VLAN_MASK;
        entry.vlan = packet.vlan_tci;
        service_level = packet::VlanHeader::Pcp::get(packet.vlan_tci);
    }
    entry.src_qpn = DINGO_PREP(DINGO_CQE_SRC_QPN_QPN_MASK, packet.deth.src_qp) |
                    DINGO_PREP(DINGO_CQE_SRC_QPN_SL_MASK, service_level);
    completions_.receive(qp, entry);
}

}  // namespace dingo::model
