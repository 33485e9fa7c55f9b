// SPDX-License-Identifier: BSD-2-Clause
//
// NOP and QUERY_DEVICE.
#include "commands.h"

namespace dingo::model::commands {
namespace {

dingo_limits limits_of(const EngineConfig& config) {
    dingo_limits limits{};
    limits.max_qp = max_qp(config);
    limits.max_cq = max_cq(config);
    limits.max_mr = max_mr(config);
    limits.max_srq = max_srq(config);
    limits.max_eq = kMaxEq;
    limits.max_gid = Port::kGidEntries;
    limits.max_pd = kMaxPd;
    limits.max_mac = DINGO_MAC_TABLE;
    limits.log_max_sq = DINGO_MAX_LOG_SQ;
    limits.log_max_rq = DINGO_MAX_LOG_RQ;
    limits.log_max_cq = DINGO_MAX_LOG_CQ;
    limits.log_max_eq = DINGO_MAX_LOG_EQ;
    limits.max_send_sge = DINGO_SQ_MAX_SGE;
    limits.max_recv_sge = DINGO_RQ_MAX_SGE;
    limits.max_rd_atomic = kMaxRdAtomic;
    limits.max_dest_rd_atomic = kMaxRdAtomic;
    limits.max_mr_size = kMaxMrSize;
    for (unsigned shift = kMinPageShift; shift <= kMaxPageShift; ++shift) {
        limits.page_sizes |= 1ull << shift;
    }
    limits.max_msg = DINGO_MAX_MSG;
    limits.max_inline = DINGO_MAX_INLINE;
    limits.max_frwr_pages = kMaxFrwrPages;
    limits.card_counters = DINGO_CARD_COUNTERS;
    limits.qp_counters = DINGO_QP_COUNTERS;
    limits.max_eth_rings = kEthRings;
    limits.log_max_eth = DINGO_MAX_LOG_ETH;
    limits.ack_delay = kAckDelay;
    limits.serial = config.mac;
    if ((capabilities(config) & DINGO_CAP_MCAST) != 0) {
        limits.max_mcast = kMaxMcast;
        limits.max_mcast_qp = kMaxMcastQp;
    }
    return limits;
}

}  // namespace

AdminResult nop(CardState&, const AdminCommand&) {
    return {};
}

AdminResult query_device(CardState& card, const AdminCommand& command) {
    using Command = dingo_cmd_query_device;
    const auto cmd = command.as<Command>();
    FieldCheck check;
    check.zero(cmd.out_addr & 7, offsetof(Command, out_addr))
        .zero(cmd.rsvd, offsetof(Command, rsvd));
    if (check.failed()) {
        return check.result();
    }
    const dingo_limits limits = limits_of(card.card.config);
    const auto bytes = std::as_bytes(std::span(&limits, 1));
    const std::size_t length = std::min<std::size_t>(cmd.out_len, bytes.size());
    if (length != 0 && !card.card.dma_write(cmd.out_addr, bytes.first(length))) {
        return refuse(DINGO_ST_BUS_ERROR);
    }
    return {};
}

}  // namespace dingo::model::commands
