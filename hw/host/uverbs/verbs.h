// SPDX-License-Identifier: BSD-2-Clause
//
// What the write() commands and the ioctl methods of the same name both do.
#pragma once

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include <cstdint>
#include <memory>

#include "host/uverbs/call.h"

namespace dingo::uverbs {

/// GET_CONTEXT: at success the connection has the context, and the driver its answer in udata.
/// ErrnoError(EINVAL) when it has one already.
void make_context(Call& call, Udata& udata);

/// A channel or async descriptor, and the client's end to be given to it.
UniqueFd make_channel(Call& call, EventChannel::Kind kind);

struct CqParams {
    std::uint64_t user_handle = 0;
    std::uint32_t cqe = 0;
    std::uint32_t comp_vector = 0;
    std::uint32_t flags = 0;
};
CqObject& make_cq(Call& call, const CqParams& params, HeldChannel channel, HeldChannel async,
                  Udata& udata);

struct SrqParams {
    std::uint64_t user_handle = 0;
    std::uint32_t type = IB_UVERBS_SRQT_BASIC;
    std::uint32_t max_wr = 0;  ///< real sizes come back
    std::uint32_t max_sge = 0;
};
SrqObject& make_srq(Call& call, SrqParams& params, PdObject& pd, HeldChannel async, Udata& udata);

struct QpParams {
    std::uint64_t user_handle = 0;
    std::uint32_t type = 0;  ///< enum ib_uverbs_qp_type
    bool sq_sig_all = false;
    std::uint32_t create_flags = 0;
    ib_uverbs_qp_cap cap{};  ///< real sizes come back
};
QpObject& make_qp(Call& call, QpParams& params, PdObject& pd, CqObject& send_cq, CqObject& recv_cq,
                  SrqObject* srq, HeldChannel async, Udata& udata);

/// ErrnoError: EINVAL, EOPNOTSUPP for rights that ib_core refuses.
void check_mr_access(std::uint32_t access);

/// Ends direct requests of the QP and waits for busy peers, except for one that has lost its
/// processor. Throws NotQuiet.
void close_direct(Call& call, QpObject& qp);

/// Ends direct access to the region. Throws NotQuiet; ErrnoError(EBUSY): a peer has lost its
/// processor, and nothing has changed.
void withdraw_direct(Call& call, MrObject& mr);

/// Destroys an object and returns it, for its event counts. ErrnoError: ENOENT, EINVAL, EBUSY; the
/// object then stays.
std::unique_ptr<Object> destroy(Call& call, ObjectType type, std::uint64_t handle);
/// The same for a QP, CQ or SRQ, with its events counted.
std::unique_ptr<Object> destroy(Call& call, Object& object);

ib_uverbs_query_port_resp port_answer(const PortAttr& attr);
/// ErrnoError(EINVAL): there is only port 1.
void check_port(std::uint64_t port);

}  // namespace dingo::uverbs
