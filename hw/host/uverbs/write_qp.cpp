// SPDX-License-Identifier: BSD-2-Clause
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>

#include "host/uverbs/uverbs_file.h"
#include "host/uverbs/verbs.h"
#include "host/uverbs/write.h"

namespace dingo::uverbs::handlers {
namespace {

constexpr std::uint32_t kStandardBits = (std::uint32_t{IBV_QP_DEST_QPN} << 1) - 1;

/// Flags known to ib_uverbs; CROSS_CHANNEL, MANAGED_SEND and MANAGED_RECV have names only in the
/// kernel.
constexpr std::uint32_t kCreateFlags =
    IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | 1U << 2 | 1U << 3 | 1U << 4 | IBV_QP_CREATE_SCATTER_FCS |
    IBV_QP_CREATE_CVLAN_STRIPPING | IBV_QP_CREATE_SOURCE_QPN | IBV_QP_CREATE_PCI_WRITE_END_PADDING;

void check_type(std::uint32_t type) {
    switch (type) {
        case IB_UVERBS_QPT_RC:
        case IB_UVERBS_QPT_UC:
        case IB_UVERBS_QPT_UD:
            return;
        case IB_UVERBS_QPT_RAW_PACKET:
        case IB_UVERBS_QPT_XRC_INI:
        case IB_UVERBS_QPT_XRC_TGT:
        case IB_UVERBS_QPT_DRIVER:
            throw ErrnoError(EOPNOTSUPP);
        default:
            throw ErrnoError(EINVAL);
    }
}

ib_uverbs_create_qp_resp create(WriteCall& c, const ib_uverbs_ex_create_qp& r) {
    (void)c.call.context();
    check_type(r.qp_type);
    const ObjectTable& objects = c.call.objects();
    SrqObject* const srq = r.is_srq != 0 ? &objects.get<SrqObject>(r.srq_handle) : nullptr;
    auto& recv_cq = objects.get<CqObject>(r.recv_cq_handle);
    auto& send_cq = objects.get<CqObject>(r.send_cq_handle);
    auto& pd = objects.get<PdObject>(r.pd_handle);
    if ((r.create_flags & ~kCreateFlags) != 0) {
        throw ErrnoError(EINVAL);
    }
    QpParams params;
    params.user_handle = r.user_handle;
    params.type = r.qp_type;
    params.sq_sig_all = r.sq_sig_all != 0;
    params.create_flags = r.create_flags;
    params.cap = {r.max_send_wr, r.max_recv_wr, r.max_send_sge, r.max_recv_sge, r.max_inline_data};
    auto& qp =
        make_qp(c.call, params, pd, send_cq, recv_cq, srq, c.call.file().default_async(), c.udata);
    ib_uverbs_create_qp_resp answer{};
    answer.qp_handle = qp.handle();
    answer.qpn = qp.qp->number();
    answer.max_send_wr = params.cap.max_send_wr;
    answer.max_recv_wr = params.cap.max_recv_wr;
    answer.max_send_sge = params.cap.max_send_sge;
    answer.max_recv_sge = params.cap.max_recv_sge;
    answer.max_inline_data = params.cap.max_inline_data;
    return answer;
}

ib_uverbs_qp_dest dest_of(const AhAttr& a) {
    ib_uverbs_qp_dest d{};
    d.sl = a.sl;
    d.is_global = a.is_global ? 1 : 0;
    if (a.is_global) {
        std::copy(a.dgid.begin(), a.dgid.end(), d.dgid);
        d.flow_label = a.flow_label;
        d.sgid_index = a.sgid_index;
        d.hop_limit = a.hop_limit;
        d.traffic_class = a.traffic_class;
    }
    d.port_num = a.port_num;
    return d;
}

AhAttr ah_of(const ib_uverbs_qp_dest& d) {
    AhAttr a;
    if (d.is_global != 0) {
        std::copy(std::begin(d.dgid), std::end(d.dgid), a.dgid.begin());
        a.flow_label = d.flow_label;
        a.sgid_index = d.sgid_index;
        a.hop_limit = d.hop_limit;
        a.traffic_class = d.traffic_class;
    }
    a.sl = d.sl;
    a.is_global = d.is_global != 0;
    a.port_num = d.port_num;
    return a;
}

QpAttr attr_of(const ib_uverbs_modify_qp& r) {
    QpAttr a;
    a.qp_state = r.qp_state;
    a.cur_qp_state = r.cur_qp_state;
    a.path_mtu = r.path_mtu;
    a.qkey = r.qkey;
    a.rq_psn = r.rq_psn;
    a.sq_psn = r.sq_psn;
    a.dest_qp_num = r.dest_qp_num;
    a.qp_access_flags = r.qp_access_flags;
    a.ah = ah_of(r.dest);
    a.pkey_index = r.pkey_index;
    a.en_sqd_async_notify = r.en_sqd_async_notify != 0;
    a.max_rd_atomic = r.max_rd_atomic;
    a.max_dest_rd_atomic = r.max_dest_rd_atomic;
    a.min_rnr_timer = r.min_rnr_timer;
    a.port_num = r.port_num;
    a.timeout = r.timeout;
    a.retry_cnt = r.retry_cnt;
    a.rnr_retry = r.rnr_retry;
    return a;
}

void modify(WriteCall& c, const ib_uverbs_modify_qp& r) {
    auto& qp = c.call.objects().get<QpObject>(r.qp_handle);
    if ((r.attr_mask & IBV_QP_PORT) != 0) {
        check_port(r.port_num);
    }
    if ((r.attr_mask & IBV_QP_AV) != 0) {
        check_port(r.dest.port_num);  // the QP has a port already
    }
    if ((r.attr_mask & IBV_QP_ALT_PATH) != 0) {
        check_port(r.alt_port_num);
        check_port(r.alt_dest.port_num);
    }
    if (((r.attr_mask & IBV_QP_CUR_STATE) != 0 && r.cur_qp_state > IBV_QPS_ERR) ||
        ((r.attr_mask & IBV_QP_STATE) != 0 && r.qp_state > IBV_QPS_ERR)) {
        throw ErrnoError(EINVAL);
    }
    const auto ended = c.call.message().ended_qpn;
    if (ended && *ended != qp.qp->number()) {
        throw ErrnoError(EINVAL);  // the QP was destroyed meanwhile and the handle reused
    }
    const bool leaves =
        (r.attr_mask & IBV_QP_STATE) != 0 && r.qp_state != IBV_QPS_RTR && r.qp_state != IBV_QPS_RTS;
    // Access rights that are removed must not be used any more when the call returns. The provider
    // opens the page again.
    if (leaves || (r.attr_mask & IBV_QP_ACCESS_FLAGS) != 0) {
        close_direct(c.call, qp);
    }
    qp.qp->modify(attr_of(r), r.attr_mask, c.udata, !ended);
    const bool reset = (r.attr_mask & IBV_QP_STATE) != 0 && r.qp_state == IBV_QPS_RESET;
    if (reset && qp.direct && qp.direct->spoiled()) {
        qp.direct.reset();  // the card no longer uses it
    }
}

/// Throws EOPNOTSUPP, as ib_uverbs does for a device without multicast groups.
void need_groups(const WriteCall& c) {
    if (!c.call.driver().has_groups()) {
        throw ErrnoError(EOPNOTSUPP);
    }
}

}  // namespace

void create_qp(WriteCall& c) {
    const auto r = c.request<ib_uverbs_create_qp>();
    ib_uverbs_ex_create_qp ex{};
    ex.user_handle = r.user_handle;
    ex.pd_handle = r.pd_handle;
    ex.send_cq_handle = r.send_cq_handle;
    ex.recv_cq_handle = r.recv_cq_handle;
    ex.srq_handle = r.srq_handle;
    ex.max_send_wr = r.max_send_wr;
    ex.max_recv_wr = r.max_recv_wr;
    ex.max_send_sge = r.max_send_sge;
    ex.max_recv_sge = r.max_recv_sge;
    ex.max_inline_data = r.max_inline_data;
    ex.sq_sig_all = r.sq_sig_all;
    ex.qp_type = r.qp_type;
    ex.is_srq = r.is_srq;
    c.respond(create(c, ex));
}

void create_qp_ex(WriteCall& c) {
    const auto r = c.request<ib_uverbs_ex_create_qp>();
    // The only bit of the mask is for a receive indirection table, which is not supported.
    if (r.comp_mask != 0 || r.reserved != 0) {
        throw ErrnoError(EINVAL);
    }
    ib_uverbs_ex_create_qp_resp answer{};
    answer.base = create(c, r);
    answer.response_length = c.response_length<ib_uverbs_ex_create_qp_resp>();
    c.respond(answer);
}

void query_qp(WriteCall& c) {
    const auto request = c.request<ib_uverbs_query_qp>();
    auto& qp = c.call.objects().get<QpObject>(request.qp_handle);
    const QpAttr a = qp.qp->query();
    ib_uverbs_query_qp_resp r{};
    r.dest = dest_of(a.ah);
    r.max_send_wr = a.cap.max_send_wr;
    r.max_recv_wr = a.cap.max_recv_wr;
    r.max_send_sge = a.cap.max_send_sge;
    r.max_recv_sge = a.cap.max_recv_sge;
    r.max_inline_data = a.cap.max_inline_data;
    r.qkey = a.qkey;
    r.rq_psn = a.rq_psn;
    r.sq_psn = a.sq_psn;
    r.dest_qp_num = a.dest_qp_num;
    r.qp_access_flags = a.qp_access_flags;
    r.pkey_index = a.pkey_index;
    r.qp_state = a.qp_state;
    r.cur_qp_state = a.cur_qp_state;
    r.path_mtu = a.path_mtu;
    r.path_mig_state = a.path_mig_state;
    r.sq_draining = a.sq_draining ? 1 : 0;
    r.max_rd_atomic = a.max_rd_atomic;
    r.max_dest_rd_atomic = a.max_dest_rd_atomic;
    r.min_rnr_timer = a.min_rnr_timer;
    r.port_num = a.port_num;
    r.timeout = a.timeout;
    r.retry_cnt = a.retry_cnt;
    r.rnr_retry = a.rnr_retry;
    r.sq_sig_all = qp.qp->init().sq_sig_all ? 1 : 0;
    c.respond(r);
}

void modify_qp(WriteCall& c) {
    const auto r = c.request<ib_uverbs_modify_qp>();
    if ((r.attr_mask & ~kStandardBits) != 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    modify(c, r);
}

void modify_qp_ex(WriteCall& c) {
    const auto r = c.request<ib_uverbs_ex_modify_qp>();
    if ((r.base.attr_mask & ~(kStandardBits | std::uint32_t{IBV_QP_RATE_LIMIT})) != 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    modify(c, r.base);
    ib_uverbs_ex_modify_qp_resp answer{};
    answer.response_length = c.response_length<ib_uverbs_ex_modify_qp_resp>();
    c.respond(answer);
}

void destroy_qp(WriteCall& c) {
    const auto r = c.request<ib_uverbs_destroy_qp>();
    const auto gone = destroy(c.call, QpObject::kType, r.qp_handle);
    c.respond(ib_uverbs_destroy_qp_resp{static_cast<const QpObject&>(*gone).async_reported()});
}

// The LID is ignored: it is for InfiniBand only.
void attach_mcast(WriteCall& c) {
    need_groups(c);
    const auto r = c.request<ib_uverbs_attach_mcast>();
    auto& qp = c.call.objects().get<QpObject>(r.qp_handle);
    const Gid group = std::to_array(r.gid);
    if (!qp.groups.contains(group)) {
        qp.qp->attach(group);
        qp.groups.insert(group);
    }
}

void detach_mcast(WriteCall& c) {
    need_groups(c);
    const auto r = c.request<ib_uverbs_detach_mcast>();
    auto& qp = c.call.objects().get<QpObject>(r.qp_handle);
    const Gid group = std::to_array(r.gid);
    if (!qp.groups.contains(group)) {
        throw ErrnoError(EINVAL);
    }
    qp.qp->detach(group);
    qp.groups.erase(group);
}

}  // namespace dingo::uverbs::handlers
