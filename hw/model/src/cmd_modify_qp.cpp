// SPDX-License-Identifier: BSD-2-Clause
//
// MODIFY_QP: transition, mask, values; then all attributes at once.
#include "commands.h"
#include "qp_transitions.h"

namespace dingo::model::commands {
namespace {

using ModifyCommand = dingo_cmd_modify_qp;

constexpr std::size_t attr_offset(std::size_t offset) {
    return offsetof(ModifyCommand, attr) + offset;
}

/// Checks the values of the attributes whose mask bit is set; ignores the others.
/// `domain`: GID domain of the QP.
void check_values(FieldCheck& check, const CardState& card, std::uint16_t domain,
                  const ModifyCommand& cmd) {
    using Attr = dingo_qp_attr;
    const Attr& attr = cmd.attr;
    const auto when = [&](std::uint32_t bit, bool good, std::size_t offset) {
        check.require((cmd.mask & bit) == 0 || good, attr_offset(offset));
    };
    // LOCAL_WRITE and MW_BIND are not QP rights, but ib_core passes them.
    constexpr std::uint32_t kAccess = DINGO_ACC_LOCAL_WRITE | DINGO_ACC_REMOTE_WRITE |
                                      DINGO_ACC_REMOTE_READ | DINGO_ACC_REMOTE_ATOMIC |
                                      DINGO_ACC_MW_BIND;
    when(DINGO_QPM_RQ_PSN, attr.rq_psn <= DINGO_PSN_MASK, offsetof(Attr, rq_psn));
    when(DINGO_QPM_SQ_PSN, attr.sq_psn <= DINGO_PSN_MASK, offsetof(Attr, sq_psn));
    when(DINGO_QPM_DEST_QPN, attr.dest_qpn <= DINGO_QPN_MASK, offsetof(Attr, dest_qpn));
    when(DINGO_QPM_ACCESS, (attr.access & ~kAccess) == 0, offsetof(Attr, access));
    when(DINGO_QPM_PATH_MTU,
         attr.path_mtu >= DINGO_QP_ATTR_PATH_MTU_MIN && attr.path_mtu <= DINGO_QP_ATTR_PATH_MTU_MAX,
         offsetof(Attr, path_mtu));
    when(DINGO_QPM_MAX_RD_ATOMIC, attr.max_rd_atomic <= kMaxRdAtomic,
         offsetof(Attr, max_rd_atomic));
    when(DINGO_QPM_MAX_DEST_RD_ATOMIC, attr.max_dest_rd_atomic <= kMaxRdAtomic,
         offsetof(Attr, max_dest_rd_atomic));
    when(DINGO_QPM_MIN_RNR_TIMER, attr.min_rnr_timer <= DINGO_QP_ATTR_MIN_RNR_TIMER_MAX,
         offsetof(Attr, min_rnr_timer));
    when(DINGO_QPM_TIMEOUT, attr.timeout <= DINGO_QP_ATTR_TIMEOUT_MAX, offsetof(Attr, timeout));
    when(DINGO_QPM_RETRY_CNT, attr.retry_cnt <= DINGO_QP_ATTR_RETRY_CNT_MAX,
         offsetof(Attr, retry_cnt));
    when(DINGO_QPM_RNR_RETRY, attr.rnr_retry <= DINGO_QP_ATTR_RNR_RETRY_MAX,
         offsetof(Attr, rnr_retry));
    when(DINGO_QPM_PORT, attr.port == DINGO_PORT, offsetof(Attr, port));
    when(DINGO_QPM_PKEY_INDEX, attr.pkey_index <= DINGO_QP_ATTR_PKEY_INDEX_MAX,
         offsetof(Attr, pkey_index));
    when(DINGO_QPM_EN_SQD_ASYNC_NOTIFY, attr.sqd_notify <= 1, offsetof(Attr, sqd_notify));
    check.zero(attr.rsvd0, attr_offset(offsetof(Attr, rsvd0)));

    if ((cmd.mask & DINGO_QPM_AV) != 0) {
        const auto is_ipv4 = [](std::span<const std::uint8_t> gid) {
            return std::ranges::all_of(gid.first(10), [](std::uint8_t b) { return b == 0; }) &&
                   gid[10] == 0xff && gid[11] == 0xff;
        };
        const GidEntry* source = card.port.gid(attr.sgid_index, domain);
        check.require(source != nullptr, attr_offset(offsetof(Attr, sgid_index)))
            .require(source == nullptr || is_ipv4(source->gid) == is_ipv4(attr.dgid),
                     attr_offset(offsetof(Attr, dgid)))
            .require(!is_multicast(mac_number(attr.dmac)), attr_offset(offsetof(Attr, dmac)))
            .require(attr.flow_label < 1u << 20, attr_offset(offsetof(Attr, flow_label)))
            .require(attr.udp_sport >= 0xc000 || attr.udp_sport == DINGO_ROCE_UDP_PORT,
                     attr_offset(offsetof(Attr, udp_sport)))
            .require(attr.sl <= DINGO_MAX_SL, attr_offset(offsetof(Attr, sl)));
    }
    check.zero(attr.rsvd1, attr_offset(offsetof(Attr, rsvd1)));
}

/// Copies the attributes in `mask`.
void apply(dingo_qp_attr& to, const dingo_qp_attr& from, std::uint32_t mask) {
    const auto copy = [&](std::uint32_t bit, auto member) {
        if ((mask & bit) != 0) {
            to.*member = from.*member;
        }
    };
    using Attr = dingo_qp_attr;
    copy(DINGO_QPM_QKEY, &Attr::qkey);
    copy(DINGO_QPM_RQ_PSN, &Attr::rq_psn);
    copy(DINGO_QPM_SQ_PSN, &Attr::sq_psn);
    copy(DINGO_QPM_DEST_QPN, &Attr::dest_qpn);
    copy(DINGO_QPM_ACCESS, &Attr::access);
    copy(DINGO_QPM_PATH_MTU, &Attr::path_mtu);
    copy(DINGO_QPM_MAX_RD_ATOMIC, &Attr::max_rd_atomic);
    copy(DINGO_QPM_MAX_DEST_RD_ATOMIC, &Attr::max_dest_rd_atomic);
    copy(DINGO_QPM_MIN_RNR_TIMER, &Attr::min_rnr_timer);
    copy(DINGO_QPM_TIMEOUT, &Attr::timeout);
    copy(DINGO_QPM_RETRY_CNT, &Attr::retry_cnt);
    copy(DINGO_QPM_RNR_RETRY, &Attr::rnr_retry);
    copy(DINGO_QPM_PORT, &Attr::port);
    copy(DINGO_QPM_PKEY_INDEX, &Attr::pkey_index);
    copy(DINGO_QPM_EN_SQD_ASYNC_NOTIFY, &Attr::sqd_notify);
    if ((mask & DINGO_QPM_AV) != 0) {
        std::ranges::copy(from.dgid, to.dgid);
        std::ranges::copy(from.dmac, to.dmac);
        to.sgid_index = from.sgid_index;
        to.flow_label = from.flow_label;
        to.udp_sport = from.udp_sport;
        to.hop_limit = from.hop_limit;
        to.tclass = from.tclass;
        to.sl = from.sl;
    }
}

}  // namespace

AdminResult modify_qp(CardState& card, const AdminCommand& command) {
    const auto cmd = command.as<ModifyCommand>();
    QueuePair* qp = card.find_qp(cmd.qpn);
    if (qp == nullptr) {
        return refuse(DINGO_ST_BAD_ID);
    }
    const bool new_state = (cmd.mask & DINGO_QPM_STATE) != 0;
    const bool cur_state = (cmd.mask & DINGO_QPM_CUR_STATE) != 0;
    // A QP changes its state on its own only among these states, so only these may be given as the
    // current state.
    const bool cur_ok = cmd.cur_state >= DINGO_QPS_RTR && cmd.cur_state <= DINGO_QPS_SQE;
    FieldCheck check;
    check.flags(cmd.mask, DINGO_QPM_ALL, offsetof(ModifyCommand, mask))
        .require(!cur_state || cur_ok, offsetof(ModifyCommand, cur_state))
        .require(!new_state || cmd.next_state <= DINGO_QPS_ERR, offsetof(ModifyCommand, next_state))
        .zero(cmd.rsvd, offsetof(ModifyCommand, rsvd));
    if (check.failed()) {
        return check.result();
    }
    const QpState from = qp->state;
    const QpState to = new_state ? static_cast<QpState>(cmd.next_state) : from;
    if (cur_state && static_cast<QpState>(cmd.cur_state) != from) {
        return refuse(DINGO_ST_BAD_STATE);
    }
    const auto transition = qp_transition(qp->type, from, to);
    if (!transition) {
        return refuse(DINGO_ST_BAD_STATE);
    }
    const std::uint32_t given = cmd.mask & ~static_cast<std::uint32_t>(DINGO_QPM_STATE);
    check
        .require((given & transition->required) == transition->required,
                 offsetof(ModifyCommand, mask))
        .flags(given, transition->required | transition->optional, offsetof(ModifyCommand, mask));
    check_values(check, card, qp->domain, cmd);
    if (check.failed()) {
        return check.result();
    }

    if (to == QpState::kErr) {
        card.transport.send_posted(*qp,
                                   // before reading the state: may itself move the QP to ERR
                                   Transport::kWindowBurst);
    }
    if (to == QpState::kReset) {
        qp->attr = dingo_qp_attr{};
        qp->kernel = qp->receive_kernel = compute::Config{};
        card.memory.unbind_windows_of(*qp);
    } else {
        apply(qp->attr, cmd.attr, cmd.mask);
    }
    const QpState before = qp->state;
    qp->state = to;
    card.transport.qp_modified(*qp, before, cmd.mask);
    return {};
}

}  // namespace dingo::model::commands
