// SPDX-License-Identifier: BSD-2-Clause
// Words for what verbs say in numbers.
#pragma once
#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

namespace rdma_bench {

/// "completion 12: transport retry counter exceeded: the peer's QP is not up or the GID is wrong";
/// without a likely cause the second colon is missing. `vendor` is shown when it is not 0.
std::string explain_status(ibv_wc_status status, std::uint32_t vendor);

/// The completion, its QP and the state the QP is in now.
std::string explain_completion(const ibv_wc& wc, ibv_qp* qp);

/// "ibv_post_send: Cannot allocate memory (errno 12): the send queue is full", `error` as the verb
/// returned it.
std::string explain_errno(const std::string& verb, int error);

/// "RTS"; "unknown" when ibv_query_qp fails.
std::string qp_state(ibv_qp* qp);

/// "[QP 0x000123, state RTS]"
std::string name_qp(ibv_qp& qp);

}  // namespace rdma_bench
