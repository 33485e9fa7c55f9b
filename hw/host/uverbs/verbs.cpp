// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/verbs.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/link_rate.h"
#include "base/log.h"
#include "base/monotonic_clock.h"
#include "base/offenders.h"
#include "host/uverbs/uverbs_file.h"

namespace dingo::uverbs {
namespace {

constexpr std::uint8_t kLinkLayerEthernet = 2;

}  // namespace

void make_context(Call& call, Udata& udata) {
    UverbsFile& file = call.file();
    if (file.has_context()) {
        throw ErrnoError(EINVAL);
    }
    if (offenders().is_shut_out(*file.account(), clock_now())) {
        throw ErrnoError(EAGAIN);
    }
    auto context = std::make_shared<std::unique_ptr<Context>>(
        std::make_unique<Context>(call.driver(), udata, file.account(), file.owner()));
    call.at_success([&file, context] { file.set_context(std::move(*context)); });
}

UniqueFd make_channel(Call& call, EventChannel::Kind kind) {
    UverbsFile& file = call.file();
    auto channel = file.make_channel(kind);
    UniqueFd end = channel->give_client_end();
    if (kind == EventChannel::Kind::kAsync && !file.default_async()) {
        auto hold = std::make_shared<HeldChannel>(channel, end.get());
        call.at_success(
            [&file, channel, hold] { file.set_default_async(channel, std::move(*hold)); });
    }
    call.at_success([&file, channel] { file.add_channel(channel); });
    return end;
}

CqObject& make_cq(Call& call, const CqParams& params, HeldChannel channel, HeldChannel async,
                  Udata& udata) {
    Context& context = call.context();
    if (params.comp_vector >= call.driver().num_comp_vectors()) {
        throw ErrnoError(EINVAL);
    }
    auto object =
        std::make_unique<CqObject>(params.user_handle, std::move(channel), std::move(async));
    object->cq.emplace(call.driver(), context, params.cqe, params.comp_vector, params.flags,
                       *object, udata);
    return call.add(std::move(object));
}

SrqObject& make_srq(Call& call, SrqParams& params, PdObject& pd, HeldChannel async, Udata& udata) {
    Context& context = call.context();
    if (params.type != IB_UVERBS_SRQT_BASIC) {
        throw ErrnoError(params.type > IB_UVERBS_SRQT_TM ? EINVAL : EOPNOTSUPP);
    }
    auto object = std::make_unique<SrqObject>(params.user_handle, std::move(async), pd);
    object->srq.emplace(call.driver(), context, pd.pd, params.max_wr, params.max_sge, *object,
                        udata);
    return call.add(std::move(object));
}

QpObject& make_qp(Call& call, QpParams& params, PdObject& pd, CqObject& send_cq, CqObject& recv_cq,
                  SrqObject* srq, HeldChannel async, Udata& udata) {
    Context& context = call.context();
    QpInit init;
    init.type = static_cast<std::uint8_t>(params.type);
    init.sq_sig_all = params.sq_sig_all;
    init.create_flags = params.create_flags;
    init.cap = {.max_send_wr = params.cap.max_send_wr,
                .max_recv_wr = params.cap.max_recv_wr,
                .max_send_sge = params.cap.max_send_sge,
                .max_recv_sge = params.cap.max_recv_sge,
                .max_inline_data = params.cap.max_inline_data};
    init.send_cq = &*send_cq.cq;
    init.recv_cq = &*recv_cq.cq;
    init.srq = srq != nullptr ? &*srq->srq : nullptr;
    auto object =
        std::make_unique<QpObject>(params.user_handle, std::move(async), pd, send_cq, recv_cq, srq);
    object->qp.emplace(call.driver(), context, pd.pd, init, *object, udata);
    if (srq != nullptr) {
        srq->qpns.insert(object->qp->number());
    }
    const QpCap& cap = object->qp->init().cap;
    params.cap = {.max_send_wr = cap.max_send_wr,
                  .max_recv_wr = cap.max_recv_wr,
                  .max_send_sge = cap.max_send_sge,
                  .max_recv_sge = cap.max_recv_sge,
                  .max_inline_data = cap.max_inline_data};
    return call.add(std::move(object));
}

void check_mr_access(std::uint32_t access) {
    constexpr std::uint32_t kKnown = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
                                     IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC |
                                     IB_UVERBS_ACCESS_MW_BIND | IB_UVERBS_ACCESS_ZERO_BASED |
                                     IB_UVERBS_ACCESS_ON_DEMAND | IB_UVERBS_ACCESS_HUGETLB |
                                     IB_UVERBS_ACCESS_OPTIONAL_RANGE | kAccessFlush;
    const bool remote_writes =
        (access & (IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC)) != 0;
    if ((remote_writes && (access & IB_UVERBS_ACCESS_LOCAL_WRITE) == 0) ||
        (access & ~kKnown) != 0) {
        throw ErrnoError(EINVAL);
    }
    if ((access & IB_UVERBS_ACCESS_ON_DEMAND) != 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
}

namespace {

/// Withdraws from peers what they may use by the direct road, before the object is destroyed.
void take_back(Call& call, Object& object) {
    if (object.busy()) {
        return;
    }
    if (auto* const mr = dynamic_cast<MrObject*>(&object)) {
        withdraw_direct(call, *mr);
    } else if (auto* const qp = dynamic_cast<QpObject*>(&object)) {
        close_direct(call, *qp);
    }
}

/// Ends take_back() if the object is not destroyed. A QP stays with the card: its next transition
/// opens the direct road.
void give_back(Object& object) {
    auto* const mr = dynamic_cast<MrObject*>(&object);
    if (mr != nullptr && mr->direct) {
        mr->direct->show();
    }
}

}  // namespace

void withdraw_direct(Call& call, MrObject& mr) {
    if (!mr.direct) {
        return;
    }
    mr.direct->withdraw();
    try {
        call.await_quiet(*call.file().direct(), mr.mr->key());
    } catch (const ErrnoError&) {
        mr.direct->show();
        throw;
    }
}

void close_direct(Call& call, QpObject& qp) {
    if (!qp.direct) {
        return;
    }
    qp.direct->close();
    try {
        call.await_quiet(*qp.direct);
    } catch (const ErrnoError&) {
        qp.direct->spoil();
        log::warn("QP {}: direct road closed, as the peer has not finished a copy for 1 s",
                  qp.qp->number());
    }
}

std::unique_ptr<Object> destroy(Call& call, Object& object) {
    auto* const source = dynamic_cast<EventSource*>(&object);
    const auto pause = source != nullptr && !object.busy() ? call.pause_events(*source) : nullptr;
    take_back(call, object);
    std::unique_ptr<Object> gone;
    try {
        gone = call.objects().remove(object);
    } catch (const ErrnoError&) {  // the card refuses: a window is bound to the region
        give_back(object);
        throw;
    }
    if (source != nullptr) {
        source->shut();
    }
    return gone;
}

std::unique_ptr<Object> destroy(Call& call, ObjectType type, std::uint64_t handle) {
    return destroy(call, call.objects().lookup(type, handle));
}

ib_uverbs_query_port_resp port_answer(const PortAttr& attr) {
    ib_uverbs_query_port_resp r{};
    r.port_cap_flags = attr.port_cap_flags | IB_UVERBS_PCF_IP_BASED_GIDS;
    r.max_msg_sz = attr.max_msg_sz;
    r.bad_pkey_cntr = attr.bad_pkey_cntr;
    r.qkey_viol_cntr = attr.qkey_viol_cntr;
    r.gid_tbl_len = attr.gid_tbl_len;
    r.pkey_tbl_len = static_cast<std::uint16_t>(attr.pkey_tbl_len);
    r.state = attr.state;
    r.max_mtu = attr.max_mtu;
    r.active_mtu = attr.active_mtu;
    r.max_vl_num = 1;
    r.active_width = attr.active_width;
    // the highest speed that the old field can express
    r.active_speed = static_cast<std::uint8_t>(std::min<std::uint16_t>(attr.active_speed, kNdr));
    r.phys_state = attr.phys_state;
    r.link_layer = kLinkLayerEthernet;
    r.flags = IB_UVERBS_QPF_GRH_REQUIRED;
    return r;
}

void check_port(std::uint64_t port) {
    if (port != 1) {
        throw ErrnoError(EINVAL);
    }
}

}  // namespace dingo::uverbs
