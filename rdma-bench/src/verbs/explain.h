// SPDX-License-Identifier: BSD-2-Clause
// Texts for statuses and errors of verbs.
#pragma once
#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

namespace rdma_bench {

/// Returns "completion 12: transport retry counter exceeded: the peer's QP is not up or the GID is
/// wrong"; the last part only if there is a likely cause. `vendor` is included unless it is 0.
std::string explain_status(ibv_wc_status status, std::uint32_t vendor);

/// Describes the completion, its QP and the QP's current state.
std::string explain_completion(const ibv_wc& wc, ibv_qp* qp);

/// Returns "ibv_post_send: Cannot allocate memory (errno 12): the send queue is full"; `error` as
/// returned by the verb.
std::string explain_errno(const std::string& verb, int error);

/// Returns for example "RTS"; "unknown" if ibv_query_qp() fails.
std::string qp_state(ibv_qp* qp);

/// Returns "[QP 0x000123, state RTS]".
std::string name_qp(ibv_qp& qp);

}  // namespace rdma_bench
