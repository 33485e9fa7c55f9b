// SPDX-License-Identifier: BSD-2-Clause
//
// The values that the uverbs front end and the driver of a kernel-less card exchange. Numbers mean
// what they mean in <infiniband/verbs.h> and <rdma/ib_user_verbs.h> (ibv_qp_state, IBV_QP_*, ...).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/unique_fd.h"

namespace dingo::uverbs {

using Gid = std::array<std::uint8_t, 16>;
using Mac = std::array<std::uint8_t, 6>;

/// IBV_ACCESS_FLUSH_GLOBAL and _PERSISTENT, which older headers lack.
inline constexpr std::uint32_t kAccessFlush = 1U << 8 | 1U << 9;

/// Driver data of a command (kmod/include/uapi/dingo-abi.h). Functions that take none throw
/// ErrnoError(EOPNOTSUPP) if `in` has a nonzero byte.
struct Udata {
    std::span<const std::byte> in;
    std::vector<std::byte>
        out;  ///< the driver's answer; the front end truncates it to the client's room

    /// A descriptor for the client, which gets its number in the 4 bytes at `offset` of out.
    struct Fd {
        std::size_t offset;
        UniqueFd fd;
    };
    std::vector<Fd> fds;
};

struct AhAttr {
    Gid dgid{};
    std::uint32_t flow_label = 0;
    std::uint8_t sgid_index = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t traffic_class = 0;
    std::uint8_t sl = 0;
    bool is_global = false;
    std::uint8_t port_num = 1;
};

struct QpCap {
    std::uint32_t max_send_wr = 0;
    std::uint32_t max_recv_wr = 0;
    std::uint32_t max_send_sge = 0;
    std::uint32_t max_recv_sge = 0;
    std::uint32_t max_inline_data = 0;
};

/// As ib_uverbs_qp_attr / ibv_qp_attr.
struct QpAttr {
    std::uint8_t qp_state = 0;
    std::uint8_t cur_qp_state = 0;
    std::uint8_t path_mtu = 0;
    std::uint8_t path_mig_state = 0;
    std::uint32_t qkey = 0;
    std::uint32_t rq_psn = 0;
    std::uint32_t sq_psn = 0;
    std::uint32_t dest_qp_num = 0;
    std::uint32_t qp_access_flags = 0;
    AhAttr ah;
    Mac dmac{};  ///< query only
    std::uint16_t pkey_index = 0;
    bool en_sqd_async_notify = false;
    bool sq_draining = false;
    std::uint8_t max_rd_atomic = 0;
    std::uint8_t max_dest_rd_atomic = 0;
    std::uint8_t min_rnr_timer = 0;
    std::uint8_t port_num = 0;
    std::uint8_t timeout = 0;
    std::uint8_t retry_cnt = 0;
    std::uint8_t rnr_retry = 0;
    QpCap cap;  ///< query only
};

/// The card's progress with the work of a QP: free-running counts of blocks (SQ) and entries (RQ or
/// SRQ).
struct QpProgress {
    std::uint32_t sq_posted = 0;     ///< doorbell value seen by the card
    std::uint32_t sq_completed = 0;  ///< all blocks before it have completed
    std::uint32_t rq_posted = 0;
    std::uint32_t rq_taken = 0;
    std::uint32_t oldest_psn = 0;  ///< oldest that the peer has not acknowledged
    std::uint32_t next_psn = 0;    ///< of the next new message
    std::uint32_t expected_psn = 0;
    std::uint32_t msn = 0;
    std::uint32_t retries_left = 0;
    std::uint32_t rnr_retries_left = 0;
};

/// Calls fn(name, value) for each number of a QpProgress.
template <typename Fn>
void for_each_number(const QpProgress& p, Fn&& fn) {
    fn("sq_posted", p.sq_posted);
    fn("sq_completed", p.sq_completed);
    fn("rq_posted", p.rq_posted);
    fn("rq_taken", p.rq_taken);
    fn("oldest_psn", p.oldest_psn);
    fn("next_psn", p.next_psn);
    fn("expected_psn", p.expected_psn);
    fn("msn", p.msn);
    fn("retries_left", p.retries_left);
    fn("rnr_retries_left", p.rnr_retries_left);
}

/// Receives the events of a CQ. Called from Driver::poll(), never from inside another call.
class CqListener {
  public:
    virtual ~CqListener() = default;
    virtual void on_completion() = 0;
    virtual void on_cq_error() = 0;
};

/// Receives the events of a QP or SRQ (enum ibv_event_type).
class EventListener {
  public:
    virtual ~EventListener() = default;
    virtual void on_event(int event) = 0;
};

/// One entry of the GID table.
struct GidEntry {
    Gid gid{};
    std::uint32_t index = 0;
};

/// Part of a client's range that it shares: `fd` at `offset` is its memory at `va`.
struct SharedSegment {
    std::uint64_t va = 0;
    std::uint64_t length = 0;
    std::uint64_t offset = 0;
    int fd = -1;
    bool by_file = false;  ///< reached by the descriptor, not mapped
};

}  // namespace dingo::uverbs
