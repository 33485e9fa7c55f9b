// SPDX-License-Identifier: BSD-2-Clause
//
// Queue pairs: states and attributes.
#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "host/driver/access.h"
#include "host/driver/address_vector.h"
#include "host/driver/driver.h"
#include "host/driver/qp.h"
#include "host/driver/udata.h"

namespace dingo::uverbs {
namespace {

static_assert(DINGO_QP_ACCESS == (IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
                                  IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC));
static_assert(DINGO_QP_ACCESS_IGNORED ==
              (IB_UVERBS_ACCESS_OPTIONAL_RANGE | IB_UVERBS_ACCESS_MW_BIND | kAccessFlush));

void check(bool ok, int error = EINVAL) {
    if (!ok) {
        throw ErrnoError(error);
    }
}

/// An attribute and the range of its values in the contract.
struct AttrValue {
    std::uint32_t bit, value, min, max;
};
#define ATTR_VALUE(name, value) \
    AttrValue{DINGO_QPM_##name, value, DINGO_QP_ATTR_##name##_MIN, DINGO_QP_ATTR_##name##_MAX},

void check_attr(const dingo_limits& limits, const QpAttr& attr, std::uint32_t mask) {
    const auto has = [&](std::uint32_t bit) { return (mask & bit) != 0; };
    // Rights to operations that the card lacks have no effect: no MR has them.
    check(!has(DINGO_QPM_ACCESS) ||
              (attr.qp_access_flags & ~(DINGO_QP_ACCESS | DINGO_QP_ACCESS_IGNORED)) == 0,
          EOPNOTSUPP);
    for (const AttrValue& v : {DINGO_FOR_EACH_QP_ATTR(ATTR_VALUE, &attr)}) {
        check(!has(v.bit) || (v.value >= v.min && v.value <= v.max));
    }
    check(!has(DINGO_QPM_MAX_RD_ATOMIC) || attr.max_rd_atomic <= limits.max_rd_atomic);
    check(!has(DINGO_QPM_MAX_DEST_RD_ATOMIC) ||
          attr.max_dest_rd_atomic <= limits.max_dest_rd_atomic);
}
#undef ATTR_VALUE

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

/// Returns a function that sets a field to a value if the mask has the bit.
auto setter(std::uint32_t mask) {
    return [mask](std::uint32_t bit, auto& field, auto value) {
        if ((mask & bit) != 0) {
            field = static_cast<std::remove_reference_t<decltype(field)>>(value);
        }
    };
}

/// Sets the attributes in the mask; the others stay 0.
void put_attr(dingo_qp_attr& to, const QpAttr& attr, std::uint32_t mask) {
    const auto put = setter(mask);
    put(DINGO_QPM_ACCESS, to.access, card_access(attr.qp_access_flags & DINGO_QP_ACCESS));
    put(DINGO_QPM_PORT, to.port, attr.port_num);
    put(DINGO_QPM_QKEY, to.qkey, attr.qkey);
    put(DINGO_QPM_PATH_MTU, to.path_mtu, attr.path_mtu);
    put(DINGO_QPM_TIMEOUT, to.timeout, attr.timeout);
    put(DINGO_QPM_RETRY_CNT, to.retry_cnt, attr.retry_cnt);
    put(DINGO_QPM_RNR_RETRY, to.rnr_retry, attr.rnr_retry);
    put(DINGO_QPM_RQ_PSN, to.rq_psn, attr.rq_psn & DINGO_PSN_MASK);
    put(DINGO_QPM_SQ_PSN, to.sq_psn, attr.sq_psn & DINGO_PSN_MASK);
    put(DINGO_QPM_MAX_RD_ATOMIC, to.max_rd_atomic, attr.max_rd_atomic);
    put(DINGO_QPM_MAX_DEST_RD_ATOMIC, to.max_dest_rd_atomic, attr.max_dest_rd_atomic);
    put(DINGO_QPM_MIN_RNR_TIMER, to.min_rnr_timer, attr.min_rnr_timer);
    put(DINGO_QPM_DEST_QPN, to.dest_qpn, attr.dest_qp_num & DINGO_QPN_MASK);
    put(DINGO_QPM_EN_SQD_ASYNC_NOTIFY, to.sqd_notify, attr.en_sqd_async_notify ? 1 : 0);
}

}  // namespace

// Transitions and required masks are checked by the card, as ib_modify_qp_is_ok() does.
void Qp::modify(const QpAttr& attr, std::uint32_t mask, Udata& udata, bool waits) {
    udata_none(udata);
    check((mask & ~DINGO_QPM_ALL) == 0, EOPNOTSUPP);  // alternate paths are not supported
    check_attr(driver_.capabilities().limits(), attr, mask);

    dingo_cmd_modify_qp cmd{};
    cmd.qpn = number();
    cmd.mask = mask;  // the card uses only attributes in the mask
    cmd.cur_state = attr.cur_qp_state;
    cmd.next_state = attr.qp_state;
    put_attr(cmd.attr, attr, mask);
    if ((mask & DINGO_QPM_AV) != 0) {
        put_av(cmd.attr, make_address_vector(driver_, attr.ah, number(), attr.dest_qp_num));
    }
    const bool ends = (mask & DINGO_QPM_STATE) != 0 && attr.qp_state == DINGO_QPS_ERR;
    try {
        driver_.card().gate()->run([&] {
            // With another attribute, such as the current state, it may have to be refused.
            if (waits && ends && mask == DINGO_QPM_STATE) {
                driver_.last_sends().send(number());
            }
            if ((mask & DINGO_QPM_STATE) != 0 && attr.qp_state == DINGO_QPS_RESET) {
                // If the card refuses, what has been rung is not lost with the slots' values.
                driver_.card().take_doorbells();
                doorbells_.first.clear();
                doorbells_.second.clear();
            }
            driver_.admin().execute(DINGO_OP_MODIFY_QP, cmd);
        });
        note(cmd);
    } catch (const ErrnoError&) {
        // A failed card processes no QP. To its owner, who may be draining it, the QP is in the
        // error state.
        if (!driver_.admin().failed() || !ends) {
            throw;
        }
    }
}

void Qp::note(const dingo_cmd_modify_qp& cmd) {
    const dingo_qp_attr& attr = cmd.attr;
    const auto put = setter(cmd.mask);
    if ((cmd.mask & DINGO_QPM_STATE) != 0 && cmd.next_state == DINGO_QPS_RESET) {
        facts_ = {};
    }
    put(DINGO_QPM_STATE, facts_.state, cmd.next_state);
    put(DINGO_QPM_PATH_MTU, facts_.path_mtu, attr.path_mtu);
    put(DINGO_QPM_MAX_RD_ATOMIC, facts_.max_rd_atomic, attr.max_rd_atomic);
    put(DINGO_QPM_MAX_DEST_RD_ATOMIC, facts_.max_dest_rd_atomic, attr.max_dest_rd_atomic);
    put(DINGO_QPM_ACCESS, facts_.access, attr.access);
    put(DINGO_QPM_DEST_QPN, facts_.dest_qpn, attr.dest_qpn);
    put(DINGO_QPM_SQ_PSN, facts_.sq_psn, attr.sq_psn);
    put(DINGO_QPM_RQ_PSN, facts_.rq_psn, attr.rq_psn);
    if ((cmd.mask & DINGO_QPM_AV) != 0) {
        std::ranges::copy(attr.dmac, facts_.dmac.begin());
    }
}

void Qp::share_indexes(std::uint64_t address) {
    dingo_cmd_share_indexes cmd{};
    cmd.qpn = number();
    cmd.addr = address;
    driver_.admin().execute(DINGO_OP_SHARE_INDEXES, cmd);
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
    attr.path_mig_state = IBV_MIG_MIGRATED;
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
    attr.ah.port_num = DINGO_PORT;
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
