// SPDX-License-Identifier: BSD-2-Clause
//
// The common part of write() commands and ioctl methods of the same name.
#pragma once

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include <cstdint>
#include <memory>

#include "host/uverbs/call.h"

namespace dingo::uverbs {

/// GET_CONTEXT: on success the connection gets the context, and `udata` the driver's answer. Throws
/// ErrnoError(EINVAL) if there is a context already.
void make_context(Call& call, Udata& udata);

/// Creates a completion or async channel and returns the client's end.
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
    std::uint32_t max_wr = 0;  ///< replaced by the actual size
    std::uint32_t max_sge = 0;
};
SrqObject& make_srq(Call& call, SrqParams& params, PdObject& pd, HeldChannel async, Udata& udata);

struct QpParams {
    std::uint64_t user_handle = 0;
    std::uint32_t type = 0;  ///< enum ib_uverbs_qp_type
    bool sq_sig_all = false;
    std::uint32_t create_flags = 0;
    ib_uverbs_qp_cap cap{};  ///< replaced by the actual sizes
};
QpObject& make_qp(Call& call, QpParams& params, PdObject& pd, CqObject& send_cq, CqObject& recv_cq,
                  SrqObject* srq, HeldChannel async, Udata& udata);

/// Throws ErrnoError: EINVAL, or EOPNOTSUPP for access flags that ib_core rejects.
void check_mr_access(std::uint32_t access);

/// Stops direct requests to the QP and waits for busy peers, but not for one that has been
/// descheduled too long. Throws NotQuiet.
void close_direct(Call& call, QpObject& qp);

/// Stops direct access to the region. Throws NotQuiet; ErrnoError(EBUSY) if a peer has been
/// descheduled too long, and then nothing has changed.
void withdraw_direct(Call& call, MrObject& mr);

/// Destroys an object and returns it for its event counts. Throws ErrnoError: ENOENT, EINVAL,
/// EBUSY; then the object stays.
std::unique_ptr<Object> destroy(Call& call, ObjectType type, std::uint64_t handle);
/// The same for a QP, CQ or SRQ, including its events.
std::unique_ptr<Object> destroy(Call& call, Object& object);

ib_uverbs_query_port_resp port_answer(const PortAttr& attr);
/// Throws ErrnoError(EINVAL) for any port but 1.
void check_port(std::uint64_t port);

}  // namespace dingo::uverbs
