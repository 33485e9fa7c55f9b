// SPDX-License-Identifier: BSD-2-Clause
//
// Queue pairs: states and attributes.
#include <rdma/ib_user_ioctl_verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "host/driver/access.h"
#include "host/driver/address_vector.h"
#include "host/driver/driver.h"
#include "host/driver/qp.h"

namespace dingo::uverbs {
namespace {

/// Of enum ibv_qp_attr_mask, whose bits the contract has: there are no alternate paths here.
constexpr std::uint32_t kMask =
    DINGO_QPM_STATE | DINGO_QPM_CUR_STATE | DINGO_QPM_EN_SQD_ASYNC_NOTIFY | DINGO_QPM_ACCESS |
    DINGO_QPM_PKEY_INDEX | DINGO_QPM_PORT | DINGO_QPM_QKEY | DINGO_QPM_AV | DINGO_QPM_PATH_MTU |
    DINGO_QPM_TIMEOUT | DINGO_QPM_RETRY_CNT | DINGO_QPM_RNR_RETRY | DINGO_QPM_RQ_PSN |
    DINGO_QPM_MAX_RD_ATOMIC | DINGO_QPM_MIN_RNR_TIMER | DINGO_QPM_SQ_PSN |
    DINGO_QPM_MAX_DEST_RD_ATOMIC | DINGO_QPM_DEST_QPN;

constexpr std::uint32_t kQpAccess = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
                                    IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC;
/// Rights to operations that the card lacks grant nothing: no MR has them.
constexpr std::uint32_t kIgnoredAccess =
    IB_UVERBS_ACCESS_OPTIONAL_RANGE | IB_UVERBS_ACCESS_MW_BIND | kAccessFlush;

constexpr std::uint32_t k24Bits = 0xffffff;
constexpr std::uint8_t kMigrated = 0;  // enum ibv_mig_state

void check(bool ok, int error = EINVAL) {
    if (!ok) {
        throw ErrnoError(error);
    }
}

void check_attr(const dingo_limits& limits, const QpAttr& attr, std::uint32_t mask) {
    const auto has = [&](std::uint32_t bit) { return (mask & bit) != 0; };
    check(!has(DINGO_QPM_PORT) || attr.port_num == 1);
    check(!has(DINGO_QPM_PKEY_INDEX) || attr.pkey_index == 0);
    check(!has(DINGO_QPM_ACCESS) || (attr.qp_access_flags & ~(kQpAccess | kIgnoredAccess)) == 0,
          EOPNOTSUPP);
    check(!has(DINGO_QPM_PATH_MTU) || (attr.path_mtu >= 1 && attr.path_mtu <= 5));
    check(!has(DINGO_QPM_MAX_RD_ATOMIC) || attr.max_rd_atomic <= limits.max_rd_atomic);
    check(!has(DINGO_QPM_MAX_DEST_RD_ATOMIC) ||
          attr.max_dest_rd_atomic <= limits.max_dest_rd_atomic);
    check(!has(DINGO_QPM_TIMEOUT) || attr.timeout <= 31);
    check(!has(DINGO_QPM_RETRY_CNT) || attr.retry_cnt <= 7);
    check(!has(DINGO_QPM_RNR_RETRY) || attr.rnr_retry <= 7);
    check(!has(DINGO_QPM_MIN_RNR_TIMER) || attr.min_rnr_timer <= 31);
}

void put_av(dingo_qp_attr& to, const AddressVector& av) {
    std::ranges::copy(av.dgid, to.dgid);
    std::ranges::copy(av.dmac, to.dmac);
    to.sgid_index = av.sgid_index;
    to.flow_label = av.flow_label;
    to.udp_sport = av.udp_sport;
    to.hop_limit = av.hop_limit;
    to.tclass = av.tclass;
    to.sl = av.sl;
}

/// Attributes that the mask names; the rest stays 0.
void put_attr(dingo_qp_attr& to, const QpAttr& attr, std::uint32_t mask) {
    const auto put = [mask](std::uint32_t bit, auto& field, auto value) {
        if ((mask & bit) != 0) {
            field = static_cast<std::remove_reference_t<decltype(field)>>(value);
        }
    };
    put(DINGO_QPM_ACCESS, to.access, card_access(attr.qp_access_flags & kQpAccess));
    put(DINGO_QPM_PORT, to.port, attr.port_num);
    put(DINGO_QPM_QKEY, to.qkey, attr.qkey);
    put(DINGO_QPM_PATH_MTU, to.path_mtu, attr.path_mtu);
    put(DINGO_QPM_TIMEOUT, to.timeout, attr.timeout);
    put(DINGO_QPM_RETRY_CNT, to.retry_cnt, attr.retry_cnt);
    put(DINGO_QPM_RNR_RETRY, to.rnr_retry, attr.rnr_retry);
    put(DINGO_QPM_RQ_PSN, to.rq_psn, attr.rq_psn & k24Bits);
    put(DINGO_QPM_SQ_PSN, to.sq_psn, attr.sq_psn & k24Bits);
    put(DINGO_QPM_MAX_RD_ATOMIC, to.max_rd_atomic, attr.max_rd_atomic);
    put(DINGO_QPM_MAX_DEST_RD_ATOMIC, to.max_dest_rd_atomic, attr.max_dest_rd_atomic);
    put(DINGO_QPM_MIN_RNR_TIMER, to.min_rnr_timer, attr.min_rnr_timer);
    put(DINGO_QPM_DEST_QPN, to.dest_qpn, attr.dest_qp_num & k24Bits);
    put(DINGO_QPM_EN_SQD_ASYNC_NOTIFY, to.sqd_notify, attr.en_sqd_async_notify ? 1 : 0);
}

}  // namespace

// Transitions and required masks are checked by the card, as ib_modify_qp_is_ok() does.
void Qp::modify(const QpAttr& attr, std::uint32_t mask, Udata& udata) {
    if (set_compute(mask, udata)) {
        return;
    }
    check((mask & ~kMask) == 0, EOPNOTSUPP);
    check_attr(driver_.capabilities().limits(), attr, mask);

    dingo_cmd_modify_qp cmd{};
    cmd.qpn = number();
    cmd.mask = mask;
    if ((mask & DINGO_QPM_CUR_STATE) != 0) {
        cmd.cur_state = attr.cur_qp_state;
    }
    if ((mask & DINGO_QPM_STATE) != 0) {
        cmd.next_state = attr.qp_state;
    }
    put_attr(cmd.attr, attr, mask);
    if ((mask & DINGO_QPM_AV) != 0) {
        put_av(cmd.attr, make_address_vector(driver_, attr.ah, number(), attr.dest_qp_num));
    }
    if ((mask & DINGO_QPM_STATE) != 0 && attr.qp_state == DINGO_QPS_RESET) {
        doorbells_.first.clear();
        doorbells_.second.clear();
    }
    try {
        driver_.admin().execute(DINGO_OP_MODIFY_QP, cmd);
    } catch (const ErrnoError&) {
        // A failed card processes no QP. To its owner, who may be draining it, the QP is in the
        // error state.
        if (!driver_.admin().failed() || (mask & DINGO_QPM_STATE) == 0 ||
            attr.qp_state != DINGO_QPS_ERR) {
            throw;
        }
    }
}

QpAttr Qp::query() {
    QpProgress progress;
    return query(progress);
}

QpAttr Qp::query(QpProgress& progress) {
    AdminQueue& admin = driver_.admin();
    const auto out = admin.out();
    dingo_cmd_query_qp cmd{};
    cmd.qpn = number();
    cmd.out_addr = admin.out_address();
    admin.execute(DINGO_OP_QUERY_QP, cmd);
    dingo_qp_info info;
    std::memcpy(&info, out.data(), sizeof info);

    const dingo_qp_attr& from = info.attr;
    progress = {.sq_posted = info.sq_producer,
                .sq_completed = info.sq_consumer,
                .rq_posted = info.rq_producer,
                .rq_taken = info.rq_consumer,
                .oldest_psn = info.oldest_psn,
                .next_psn = from.sq_psn,
                .expected_psn = from.rq_psn,
                .msn = info.msn,
                .retries_left = info.retries_left,
                .rnr_retries_left = info.rnr_left};
    QpAttr attr;
    attr.qp_state = info.state;
    attr.cur_qp_state = info.state;
    attr.path_mtu = from.path_mtu;
    attr.path_mig_state = kMigrated;
    attr.qkey = from.qkey;
    attr.rq_psn = from.rq_psn;
    attr.sq_psn = from.sq_psn;
    attr.dest_qp_num = from.dest_qpn;
    for (const std::uint32_t bit : {IB_UVERBS_ACCESS_LOCAL_WRITE, IB_UVERBS_ACCESS_REMOTE_WRITE,
                                    IB_UVERBS_ACCESS_REMOTE_READ, IB_UVERBS_ACCESS_REMOTE_ATOMIC}) {
        attr.qp_access_flags |= (from.access & card_access(bit)) != 0 ? bit : 0;
    }
    attr.pkey_index = from.pkey_index;
    attr.en_sqd_async_notify = from.sqd_notify != 0;
    attr.sq_draining = info.sq_draining != 0;
    attr.max_rd_atomic = from.max_rd_atomic;
    attr.max_dest_rd_atomic = from.max_dest_rd_atomic;
    attr.min_rnr_timer = from.min_rnr_timer;
    attr.port_num = from.port;
    attr.timeout = from.timeout;
    attr.retry_cnt = from.retry_cnt;
    attr.rnr_retry = from.rnr_retry;
    attr.ah.port_num = 1;
    attr.ah.sl = from.sl;
    attr.ah.is_global = true;
    attr.ah.flow_label = from.flow_label;
    attr.ah.sgid_index = static_cast<std::uint8_t>(from.sgid_index);
    attr.ah.hop_limit = from.hop_limit;
    attr.ah.traffic_class = from.tclass;
    std::ranges::copy(from.dgid, attr.ah.dgid.begin());
    std::ranges::copy(from.dmac, attr.dmac.begin());
    attr.cap = init_.cap;
    return attr;
}

}  // namespace dingo::uverbs
