// SPDX-License-Identifier: BSD-2-Clause
// A QP with its work requests for one size, prepared before the measurement: the hot loops change
// only their SIGNALED flag.
#pragma once
#include <infiniband/verbs.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rdma_bench {

struct Lane {
    ibv_qp* qp = nullptr;
    ibv_qp_ex* extended = nullptr;
    unsigned number = 0;  ///< number of the QP in the run, equal on both sides

    // Sending. The ring has a whole number of lists; the requests of a list are chained.
    std::vector<ibv_send_wr> ring;
    std::vector<ibv_sge> ring_sges;
    unsigned at = 0;        ///< index of the next list's first request
    unsigned list = 1;      ///< requests per list
    unsigned depth = 1;     ///< most outstanding requests
    unsigned interval = 1;  ///< requests per completion
    unsigned until = 1;     ///< requests until the next signaled one
    std::uint64_t posted = 0, completed = 0, goal = 0;

    // Receiving, without an SRQ. The ring cycles through the slots; all requests are chained.
    std::vector<ibv_recv_wr> receives;
    std::vector<ibv_sge> receive_sges;
    unsigned receive_at = 0;
    unsigned owed = 0;  ///< consumed receives not yet posted again
    bool receives_posted = false;
    std::uint64_t taken = 0;  ///< receives completed in earlier entries
};

/// Posts chained requests by ibv_post_send(). @return 0 or an errno value
struct ClassicPost {
    static int post(Lane& lane, ibv_send_wr* list) {
        ibv_send_wr* bad;
        return ibv_post_send(lane.qp, list, &bad);
    }
};

/// Posts chained requests by ibv_wr_*(), which is faster on some devices.
struct ExtendedPost {
    static int post(Lane& lane, ibv_send_wr* list) {
        ibv_qp_ex* qp = lane.extended;
        ibv_wr_start(qp);
        ibv_send_wr* wr = list;
        do {
            qp->wr_id = wr->wr_id;
            qp->wr_flags = wr->send_flags;
            switch (wr->opcode) {
                case IBV_WR_RDMA_WRITE:
                    ibv_wr_rdma_write(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
                    break;
                case IBV_WR_RDMA_WRITE_WITH_IMM:
                    ibv_wr_rdma_write_imm(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr,
                                          wr->imm_data);
                    break;
                case IBV_WR_RDMA_READ:
                    ibv_wr_rdma_read(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
                    break;
                case IBV_WR_ATOMIC_FETCH_AND_ADD:
                    ibv_wr_atomic_fetch_add(qp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
                                            wr->wr.atomic.compare_add);
                    break;
                case IBV_WR_ATOMIC_CMP_AND_SWP:
                    ibv_wr_atomic_cmp_swp(qp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
                                          wr->wr.atomic.compare_add, wr->wr.atomic.swap);
                    break;
                default:
                    ibv_wr_send(qp);
                    if (wr->wr.ud.ah && qp->qp_base.qp_type == IBV_QPT_UD) {
                        ibv_wr_set_ud_addr(qp, wr->wr.ud.ah, wr->wr.ud.remote_qpn,
                                           wr->wr.ud.remote_qkey);
                    }
            }
            if (wr->send_flags & IBV_SEND_INLINE) {
                // An SGE has an integer address; this call takes a pointer.
                // NOLINTNEXTLINE(performance-no-int-to-ptr)
                auto* data = reinterpret_cast<void*>(wr->sg_list->addr);
                ibv_wr_set_inline_data(qp, data, wr->sg_list->length);
            } else {
                ibv_wr_set_sge(qp, wr->sg_list->lkey, wr->sg_list->addr, wr->sg_list->length);
            }
            wr = wr->next;
        } while (wr);
        return ibv_wr_complete(qp);
    }
};

/// Posts the next `lists` lists of a lane. @return 0 or an errno
template <class Post>
inline int post_lists(Lane& lane, std::uint64_t lists) {
    // Local copies: otherwise the compiler reloads the lane's fields after each call.
    ibv_send_wr* const begin = lane.ring.data();
    ibv_send_wr* const end = begin + lane.ring.size();
    ibv_send_wr* first = begin + lane.at;
    const unsigned list = lane.list;
    unsigned until = lane.until;
    int error = 0;
    lane.posted += lists * list;
    for (; lists && !error; --lists) {
        ibv_send_wr* const next = first + list;
        until -= list;
        if (until == 0) [[unlikely]] {
            until = lane.interval;
            next[-1].send_flags |= IBV_SEND_SIGNALED;
            error = Post::post(lane, first);
            next[-1].send_flags &= ~static_cast<unsigned>(IBV_SEND_SIGNALED);
        } else {
            error = Post::post(lane, first);
        }
        first = next == end ? begin : next;
    }
    lane.at = static_cast<unsigned>(first - begin);
    lane.until = until;
    return error;
}

/// Posts the next request of a lane as signaled. Advances the counters after the post.
/// @return 0 or an errno
template <class Post>
inline int post_single(Lane& lane) {
    ibv_send_wr& wr = lane.ring[lane.at];
    wr.send_flags |= IBV_SEND_SIGNALED;
    const int error = Post::post(lane, &wr);
    ++lane.posted;
    lane.at = lane.at + 1 == lane.ring.size() ? 0 : lane.at + 1;
    return error;
}

/// Posts the last `count` requests of the goal one by one, less than a list or not ending in a
/// signaled one; the last is signaled. @return 0 or an errno
template <class Post>
int post_tail(Lane& lane, unsigned count) {
    for (; count; --count) {
        ibv_send_wr wr = lane.ring[lane.at];
        wr.next = nullptr;
        if (count == 1) {
            wr.send_flags |= IBV_SEND_SIGNALED;
        }
        if (const int error = Post::post(lane, &wr)) {
            return error;
        }
        lane.at = lane.at + 1 == lane.ring.size() ? 0 : lane.at + 1;
        ++lane.posted;
    }
    lane.until = lane.interval;
    return 0;
}

/// Posts `count` receives of a ring again, in one call. @return 0 or an errno
inline int post_receives(ibv_qp* qp, ibv_srq* srq, std::vector<ibv_recv_wr>& ring, unsigned& at,
                         unsigned count) {
    while (count) {
        const unsigned run = std::min<unsigned>(count, static_cast<unsigned>(ring.size()) - at);
        ibv_recv_wr& last = ring[at + run - 1];
        ibv_recv_wr* const after = last.next;
        last.next = nullptr;
        ibv_recv_wr* bad;
        const int error =
            srq ? ibv_post_srq_recv(srq, &ring[at], &bad) : ibv_post_recv(qp, &ring[at], &bad);
        last.next = after;
        if (error) {
            return error;
        }
        at = at + run == ring.size() ? 0 : at + run;
        count -= run;
    }
    return 0;
}

}  // namespace rdma_bench
