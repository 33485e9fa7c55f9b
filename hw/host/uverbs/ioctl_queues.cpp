// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <cstddef>

#include "dingo-abi.h"
#include "host/uverbs/ioctl.h"
#include "host/uverbs/uverbs_file.h"
#include "host/uverbs/verbs.h"

namespace dingo::uverbs {
namespace {

using namespace spec;

HeldChannel async_of(const IoctlCall& c, std::uint16_t id) {
    const UverbsFile& file = c.call.file();
    return c.has(id) ? file.channel(EventChannel::Kind::kAsync, c.fd(id)) : file.default_async();
}

void create_cq(IoctlCall& c) {
    CqParams params;
    params.user_handle = c.in<std::uint64_t>(UVERBS_ATTR_CREATE_CQ_USER_HANDLE);
    params.cqe = c.in<std::uint32_t>(UVERBS_ATTR_CREATE_CQ_CQE);
    params.comp_vector = c.in<std::uint32_t>(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR);
    params.flags = c.flags(UVERBS_ATTR_CREATE_CQ_FLAGS, IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION |
                                                            IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN);
    HeldChannel channel = c.has(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL)
                              ? c.call.file().channel(EventChannel::Kind::kCompletion,
                                                      c.fd(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL))
                              : HeldChannel();
    auto& cq = make_cq(c.call, params, std::move(channel),
                       async_of(c, UVERBS_ATTR_CREATE_CQ_EVENT_FD), c.udata);
    c.put_object(UVERBS_ATTR_CREATE_CQ_HANDLE, cq);
    c.out(UVERBS_ATTR_CREATE_CQ_RESP_CQE, cq.cq->entries());
}

void destroy_cq(IoctlCall& c) {
    const auto gone = destroy(c.call, c.object(UVERBS_ATTR_DESTROY_CQ_HANDLE));
    const auto& cq = static_cast<const CqObject&>(*gone);
    c.out(UVERBS_ATTR_DESTROY_CQ_RESP,
          ib_uverbs_destroy_cq_resp{cq.completion_events, cq.async_reported()});
}

void create_qp(IoctlCall& c) {
    QpParams params;
    params.cap = c.in<ib_uverbs_qp_cap>(UVERBS_ATTR_CREATE_QP_CAP);
    params.user_handle = c.in<std::uint64_t>(UVERBS_ATTR_CREATE_QP_USER_HANDLE);
    params.type = static_cast<std::uint32_t>(c.constant(UVERBS_ATTR_CREATE_QP_TYPE, UINT32_MAX));
    switch (params.type) {
        case IB_UVERBS_QPT_RC:
        case IB_UVERBS_QPT_UC:
        case IB_UVERBS_QPT_UD:
            break;
        case IB_UVERBS_QPT_RAW_PACKET:
        case IB_UVERBS_QPT_XRC_INI:
        case IB_UVERBS_QPT_XRC_TGT:
        case IB_UVERBS_QPT_DRIVER:
            throw ErrnoError(EOPNOTSUPP);
        default:
            throw ErrnoError(EINVAL);
    }
    auto& pd = c.object<PdObject>(UVERBS_ATTR_CREATE_QP_PD_HANDLE);
    auto& send_cq = c.object<CqObject>(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE);
    auto& recv_cq = c.object<CqObject>(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE);
    const std::uint32_t create_flags =
        c.flags(UVERBS_ATTR_CREATE_QP_FLAGS,
                IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK | IB_UVERBS_QP_CREATE_SCATTER_FCS |
                    IB_UVERBS_QP_CREATE_CVLAN_STRIPPING |
                    IB_UVERBS_QP_CREATE_PCI_WRITE_END_PADDING | IB_UVERBS_QP_CREATE_SQ_SIG_ALL);
    params.sq_sig_all = (create_flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL) != 0;
    params.create_flags = create_flags & ~std::uint32_t{IB_UVERBS_QP_CREATE_SQ_SIG_ALL};
    if (params.create_flags != 0 && params.type != IB_UVERBS_QPT_UD) {
        throw ErrnoError(EINVAL);
    }
    if (c.has(UVERBS_ATTR_CREATE_QP_SOURCE_QPN)) {
        params.create_flags |= 1U << 10;  // IB_QP_CREATE_SOURCE_QPN, which the driver rejects
    }
    auto& qp = make_qp(c.call, params, pd, send_cq, recv_cq,
                       c.object_if<SrqObject>(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE),
                       async_of(c, UVERBS_ATTR_CREATE_QP_EVENT_FD), c.udata);
    c.put_object(UVERBS_ATTR_CREATE_QP_HANDLE, qp);
    c.out(UVERBS_ATTR_CREATE_QP_RESP_CAP, params.cap);
    c.out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qp.qp->number());
}

void destroy_qp(IoctlCall& c) {
    const auto gone = destroy(c.call, c.object(UVERBS_ATTR_DESTROY_QP_HANDLE));
    c.out(UVERBS_ATTR_DESTROY_QP_RESP,
          ib_uverbs_destroy_qp_resp{static_cast<const QpObject&>(*gone).async_reported()});
}

void set_compute(IoctlCall& c) {
    auto& qp = c.object<QpObject>(DINGO_ATTR_QP_SET_COMPUTE_HANDLE);
    close_direct(c.call, qp);
    qp.qp->set_compute(c.in<dingo_set_compute_req>(DINGO_ATTR_QP_SET_COMPUTE_REQ));
}

/// Returns the QP's page and what its provider needs to find the peer's.
void direct(IoctlCall& c) {
    auto& qp = c.object<QpObject>(DINGO_ATTR_QP_DIRECT_HANDLE);
    DirectContext* const context = c.call.file().direct();
    const QpFacts& facts = qp.qp->facts();
    if (context == nullptr || qp.qp->init().type != IB_UVERBS_QPT_RC || qp.qp->computes()) {
        throw ErrnoError(EOPNOTSUPP);
    }
    if (facts.state != DINGO_QPS_RTR && facts.state != DINGO_QPS_RTS) {
        throw ErrnoError(EINVAL);
    }
    if (qp.direct && qp.direct->spoiled()) {
        throw ErrnoError(EOPNOTSUPP);
    }
    if (!qp.direct) {
        qp.direct = context->make_page(*qp.qp);
    }
    if (c.in<std::uint32_t>(DINGO_ATTR_QP_DIRECT_OPEN) != 0) {
        qp.direct->open();
    }
    dingo_qp_direct_resp resp{};
    resp.generation = qp.direct->generation();
    resp.page_mmap = qp.direct->mmap_offset();
    resp.page_bytes = qp.direct->bytes();
    const dingo_direct_claim claim = context->card().claim_of(*qp.qp);
    static_assert(sizeof claim == sizeof resp.claim);
    std::memcpy(resp.claim, &claim, sizeof claim);
    const std::string peer = context->card().socket_of(facts.dmac);
    if (peer.size() >= sizeof resp.peer) {
        throw ErrnoError(EOPNOTSUPP);
    }
    std::memcpy(resp.peer, peer.data(), peer.size());
    c.out(DINGO_ATTR_QP_DIRECT_RESP, resp);
}

void create_srq(IoctlCall& c) {
    SrqParams params;
    params.user_handle = c.in<std::uint64_t>(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE);
    params.type = static_cast<std::uint32_t>(c.constant(UVERBS_ATTR_CREATE_SRQ_TYPE, UINT32_MAX));
    params.max_wr = c.in<std::uint32_t>(UVERBS_ATTR_CREATE_SRQ_MAX_WR);
    params.max_sge = c.in<std::uint32_t>(UVERBS_ATTR_CREATE_SRQ_MAX_SGE);
    auto& srq = make_srq(c.call, params, c.object<PdObject>(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE),
                         async_of(c, UVERBS_ATTR_CREATE_SRQ_EVENT_FD), c.udata);
    c.put_object(UVERBS_ATTR_CREATE_SRQ_HANDLE, srq);
    c.out(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, params.max_wr);
    c.out(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, params.max_sge);
}

void destroy_srq(IoctlCall& c) {
    const auto gone = destroy(c.call, c.object(UVERBS_ATTR_DESTROY_SRQ_HANDLE));
    c.out(UVERBS_ATTR_DESTROY_SRQ_RESP,
          ib_uverbs_destroy_srq_resp{static_cast<const SrqObject&>(*gone).async_reported()});
}

/// A request structure; a later provider may send a longer one whose extra bytes are zero.
template <typename T>
AttributeSpec structure(std::uint16_t id) {
    constexpr auto kSize = static_cast<std::uint16_t>(sizeof(T));
    return {id, AttributeKind::kIn, kMandatory, kSize, kSize, true};
}

AttributeSpec cap_room(std::uint16_t id, AttributeKind kind) {
    constexpr auto kSize = static_cast<std::uint16_t>(sizeof(ib_uverbs_qp_cap));
    return {id, kind, kMandatory, kSize, kSize, true};
}

}  // namespace

std::vector<IoctlMethod> queue_methods() {
    constexpr std::uint16_t kCq = UVERBS_OBJECT_CQ;
    constexpr std::uint16_t kQp = UVERBS_OBJECT_QP;
    constexpr std::uint16_t kSrq = UVERBS_OBJECT_SRQ;
    constexpr std::uint16_t kPd = UVERBS_OBJECT_PD;
    // XRC domains and indirection tables are not supported: their handles give ENOENT.
    return {
        {kCq,
         UVERBS_METHOD_CQ_CREATE,
         true,
         {created(UVERBS_ATTR_CREATE_CQ_HANDLE),
          in<std::uint32_t>(UVERBS_ATTR_CREATE_CQ_CQE, kMandatory),
          in<std::uint64_t>(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, kMandatory),
          fd(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL),
          in<std::uint32_t>(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, kMandatory),
          flags(UVERBS_ATTR_CREATE_CQ_FLAGS, kOptional),
          out<std::uint32_t>(UVERBS_ATTR_CREATE_CQ_RESP_CQE, kMandatory),
          fd(UVERBS_ATTR_CREATE_CQ_EVENT_FD)},
         create_cq},
        {kCq,
         UVERBS_METHOD_CQ_DESTROY,
         false,
         {destroyed(UVERBS_ATTR_DESTROY_CQ_HANDLE, kCq),
          out<ib_uverbs_destroy_cq_resp>(UVERBS_ATTR_DESTROY_CQ_RESP, kMandatory)},
         destroy_cq},
        {kQp,
         UVERBS_METHOD_QP_CREATE,
         true,
         {created(UVERBS_ATTR_CREATE_QP_HANDLE),
          object(UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, UVERBS_OBJECT_XRCD, kOptional),
          object(UVERBS_ATTR_CREATE_QP_PD_HANDLE, kPd, kOptional),
          object(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, kSrq, kOptional),
          object(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, kCq, kOptional),
          object(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, kCq, kOptional),
          object(UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE, UVERBS_OBJECT_RWQ_IND_TBL, kOptional),
          in<std::uint64_t>(UVERBS_ATTR_CREATE_QP_USER_HANDLE, kMandatory),
          cap_room(UVERBS_ATTR_CREATE_QP_CAP, AttributeKind::kIn),
          constant(UVERBS_ATTR_CREATE_QP_TYPE), flags(UVERBS_ATTR_CREATE_QP_FLAGS, kOptional),
          in<std::uint32_t>(UVERBS_ATTR_CREATE_QP_SOURCE_QPN, kOptional),
          fd(UVERBS_ATTR_CREATE_QP_EVENT_FD),
          cap_room(UVERBS_ATTR_CREATE_QP_RESP_CAP, AttributeKind::kOut),
          out<std::uint32_t>(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, kMandatory)},
         create_qp},
        {kQp,
         UVERBS_METHOD_QP_DESTROY,
         false,
         {destroyed(UVERBS_ATTR_DESTROY_QP_HANDLE, kQp),
          out<ib_uverbs_destroy_qp_resp>(UVERBS_ATTR_DESTROY_QP_RESP, kMandatory)},
         destroy_qp},
        {kQp,
         DINGO_METHOD_QP_SET_COMPUTE,
         false,
         {object(DINGO_ATTR_QP_SET_COMPUTE_HANDLE, kQp, kMandatory),
          structure<dingo_set_compute_req>(DINGO_ATTR_QP_SET_COMPUTE_REQ)},
         set_compute},
        {kQp,
         DINGO_METHOD_QP_DIRECT,
         false,
         {object(DINGO_ATTR_QP_DIRECT_HANDLE, kQp, kMandatory),
          in<std::uint32_t>(DINGO_ATTR_QP_DIRECT_OPEN, kMandatory),
          out<dingo_qp_direct_resp>(DINGO_ATTR_QP_DIRECT_RESP, kMandatory)},
         direct},
        {kSrq,
         UVERBS_METHOD_SRQ_CREATE,
         true,
         {created(UVERBS_ATTR_CREATE_SRQ_HANDLE),
          object(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, kPd, kMandatory),
          constant(UVERBS_ATTR_CREATE_SRQ_TYPE),
          in<std::uint64_t>(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, kMandatory),
          in<std::uint32_t>(UVERBS_ATTR_CREATE_SRQ_MAX_WR, kMandatory),
          in<std::uint32_t>(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, kMandatory),
          in<std::uint32_t>(UVERBS_ATTR_CREATE_SRQ_LIMIT, kMandatory),
          object(UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, UVERBS_OBJECT_XRCD, kOptional),
          object(UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, kCq, kOptional),
          in<std::uint32_t>(UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS, kOptional),
          fd(UVERBS_ATTR_CREATE_SRQ_EVENT_FD),
          out<std::uint32_t>(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, kMandatory),
          out<std::uint32_t>(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, kMandatory),
          out<std::uint32_t>(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, kOptional)},
         create_srq},
        {kSrq,
         UVERBS_METHOD_SRQ_DESTROY,
         false,
         {destroyed(UVERBS_ATTR_DESTROY_SRQ_HANDLE, kSrq),
          out<ib_uverbs_destroy_srq_resp>(UVERBS_ATTR_DESTROY_SRQ_RESP, kMandatory)},
         destroy_srq},
    };
}

}  // namespace dingo::uverbs
