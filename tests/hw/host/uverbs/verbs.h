// SPDX-License-Identifier: BSD-2-Clause
// Verbs through a client of a kernel-less card, as requested by libibverbs and the provider.
#pragma once

#include <algorithm>

#include "client.h"
#include "dingo-abi.h"

namespace dingo::uverbs::test {

class Verbs {
  public:
    explicit Verbs(Client& c) : client(c) {}

    int get_context() {
        Ioctl io(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
        dingo_alloc_ucontext_req request{};
        request.kick_modes = 1U << DINGO_KICK_NONE | 1U << DINGO_KICK_FD;
        io.in(UVERBS_ATTR_UHW_IN, request).out(UVERBS_ATTR_UHW_OUT, context);
        io.out(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, vectors)
            .out(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, core_support);
        return client.ioctl(io);
    }
    /// Returns a descriptor, or -errno.
    int async_fd() {
        Ioctl io(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
        io.object(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
        const int r = client.ioctl(io);
        return r != 0 ? r
                      : static_cast<int>(io.attr(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE).data_s64);
    }
    int channel() {
        ib_uverbs_create_comp_channel_resp resp{};
        const int r = client.command(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
                                     ib_uverbs_create_comp_channel{}, resp);
        return r < 0 ? r : static_cast<int>(resp.fd);
    }
    // These return 0 or -errno, and set `handle`.
    int alloc_pd() {
        struct {
            std::uint32_t handle;
            dingo_alloc_pd_resp driver;
        } resp{};
        const int r =
            client.command(IB_USER_VERBS_CMD_ALLOC_PD, zeroed<ib_uverbs_alloc_pd>(), resp);
        handle = resp.handle;
        return std::min(r, 0);
    }
    int create_cq(int channel_fd = -1, std::uint64_t user = 1, std::uint32_t cqe = 64,
                  int async = -1) {
        std::uint32_t entries = 0;
        cq_map = {};
        Ioctl io(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
        io.object(UVERBS_ATTR_CREATE_CQ_HANDLE)
            .in(UVERBS_ATTR_CREATE_CQ_CQE, cqe)
            .in(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, user)
            .in(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, std::uint32_t{0})
            .out(UVERBS_ATTR_CREATE_CQ_RESP_CQE, entries)
            .in(UVERBS_ATTR_UHW_IN, dingo_create_cq_req{})
            .out(UVERBS_ATTR_UHW_OUT, cq_map);
        if (channel_fd >= 0) {
            io.object(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, channel_fd);
        }
        if (async >= 0) {
            io.object(UVERBS_ATTR_CREATE_CQ_EVENT_FD, async);
        }
        const int r = client.ioctl(io);
        handle = static_cast<std::uint32_t>(io.attr(UVERBS_ATTR_CREATE_CQ_HANDLE).data);
        return r;
    }
    int create_srq(std::uint32_t pd) {
        std::uint32_t max_wr = 0;
        std::uint32_t max_sge = 0;
        dingo_create_srq_req request{};
        request.log_size = 6;
        request.log_stride = 6;
        srq_map = {};
        Ioctl io(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
        io.object(UVERBS_ATTR_CREATE_SRQ_HANDLE)
            .object(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, pd)
            .constant(UVERBS_ATTR_CREATE_SRQ_TYPE, IB_UVERBS_SRQT_BASIC)
            .in(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, std::uint64_t{7})
            .in(UVERBS_ATTR_CREATE_SRQ_MAX_WR, std::uint32_t{64})
            .in(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, std::uint32_t{1})
            .in(UVERBS_ATTR_CREATE_SRQ_LIMIT, std::uint32_t{0})
            .out(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, max_wr)
            .out(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, max_sge)
            .in(UVERBS_ATTR_UHW_IN, request)
            .out(UVERBS_ATTR_UHW_OUT, srq_map);
        const int r = client.ioctl(io);
        handle = static_cast<std::uint32_t>(io.attr(UVERBS_ATTR_CREATE_SRQ_HANDLE).data);
        return r;
    }
    int create_qp(std::uint32_t pd, std::uint32_t cq, int srq = -1, std::uint64_t type = 2,
                  std::uint64_t user = 9, std::uint32_t flags = 0) {
        ib_uverbs_qp_cap cap{64, srq >= 0 ? 0U : 64U, 1, srq >= 0 ? 0U : 1U, 0};
        qp_cap = {};
        dingo_create_qp_req request{};
        request.log_sq = 6;
        request.log_rq = srq >= 0 ? 0 : 6;
        request.log_rq_stride = srq >= 0 ? 0 : 6;
        qp_map = {};
        Ioctl io(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
        io.object(UVERBS_ATTR_CREATE_QP_HANDLE)
            .object(UVERBS_ATTR_CREATE_QP_PD_HANDLE, pd)
            .object(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, cq)
            .object(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, cq)
            .in(UVERBS_ATTR_CREATE_QP_USER_HANDLE, user)
            .in(UVERBS_ATTR_CREATE_QP_CAP, cap)
            .constant(UVERBS_ATTR_CREATE_QP_TYPE, type)
            .out(UVERBS_ATTR_CREATE_QP_RESP_CAP, qp_cap)
            .out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qpn)
            .in(UVERBS_ATTR_UHW_IN, request)
            .out(UVERBS_ATTR_UHW_OUT, qp_map);
        if (srq >= 0) {
            io.object(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, srq);
        }
        if (flags != 0) {
            io.in(UVERBS_ATTR_CREATE_QP_FLAGS, flags);
        }
        const int r = client.ioctl(io);
        handle = static_cast<std::uint32_t>(io.attr(UVERBS_ATTR_CREATE_QP_HANDLE).data);
        return r;
    }
    int reg_mr(std::uint32_t pd, void* at, std::size_t length, std::uint32_t access = 1) {
        auto cmd = zeroed<ib_uverbs_reg_mr>();
        cmd.start = cmd.hca_va = reinterpret_cast<std::uintptr_t>(at);
        cmd.length = length;
        cmd.pd_handle = pd;
        cmd.access_flags = access;
        std::array<std::uint32_t, 3> resp{};
        const int r = client.command(IB_USER_VERBS_CMD_REG_MR, cmd, resp);
        handle = resp[0];
        key = resp[1];
        return std::min(r, 0);
    }
    int modify_qp(ib_uverbs_modify_qp cmd, std::uint32_t qp, std::uint8_t state,
                  std::uint32_t mask) {
        cmd.qp_handle = qp;
        cmd.qp_state = state;
        cmd.attr_mask = mask | kQpState;
        return std::min(client.command(IB_USER_VERBS_CMD_MODIFY_QP, cmd), 0);
    }
    /// Moves a QP from RESET to RTS (`type`: RC 2, UC 3, UD 4). Its peer is a QP of the same card,
    /// at GID `sgid_index`.
    int connect_qp(std::uint32_t qp, std::uint32_t peer_qpn,
                   const std::array<std::uint8_t, 16>& gid, std::uint8_t sgid_index,
                   std::uint64_t type = 2) {
        auto cmd = zeroed<ib_uverbs_modify_qp>();
        std::memcpy(cmd.dest.dgid, gid.data(), gid.size());
        cmd.dest.sgid_index = sgid_index;
        cmd.dest.hop_limit = 64;
        cmd.dest.is_global = 1;
        cmd.dest.port_num = cmd.port_num = 1;
        cmd.qp_access_flags = 0xf;
        cmd.dest_qp_num = peer_qpn;
        cmd.path_mtu = 3;
        cmd.max_rd_atomic = cmd.max_dest_rd_atomic = 4;
        cmd.min_rnr_timer = 1;
        cmd.timeout = 14;
        cmd.retry_cnt = cmd.rnr_retry = 7;
        // IBV_QP_PKEY_INDEX, PORT and ACCESS_FLAGS or QKEY; AV, PATH_MTU, RQ_PSN, DEST_QPN and, for
        // RC, MIN_RNR_TIMER, MAX_DEST_RD_ATOMIC; SQ_PSN and, for RC, TIMEOUT, RETRY_CNT, RNR_RETRY,
        // MAX_QP_RD_ATOMIC.
        std::array<std::uint32_t, 3> masks{1U << 4 | 1U << 5, 0, 1U << 16};
        masks[0] |= type == 4 ? 1U << 6 : 1U << 3;
        masks[1] |= type == 4 ? 0 : 1U << 7 | 1U << 8 | 1U << 12 | 1U << 20;
        if (type == 2) {
            masks[1] |= 1U << 15 | 1U << 17;
            masks[2] |= 1U << 9 | 1U << 10 | 1U << 11 | 1U << 13;
        }
        for (std::uint8_t state = 1; state <= 3; ++state) {  // INIT, RTR, RTS
            if (const int r = modify_qp(cmd, qp, state, masks[state - 1U]); r != 0) {
                return r;
            }
        }
        return 0;
    }
    /// `method` is IB_USER_VERBS_CMD_ATTACH_MCAST or _DETACH_MCAST.
    int change_group(std::uint32_t method, std::uint32_t qp,
                     const std::array<std::uint8_t, 16>& gid, std::uint16_t lid = 0) {
        auto cmd = zeroed<ib_uverbs_attach_mcast>();
        std::memcpy(cmd.gid, gid.data(), gid.size());
        cmd.qp_handle = qp;
        cmd.mlid = lid;
        return std::min(client.command(method, cmd), 0);
    }
    int attach(std::uint32_t qp, const std::array<std::uint8_t, 16>& gid, std::uint16_t lid = 0) {
        return change_group(IB_USER_VERBS_CMD_ATTACH_MCAST, qp, gid, lid);
    }
    int detach(std::uint32_t qp, const std::array<std::uint8_t, 16>& gid, std::uint16_t lid = 0) {
        return change_group(IB_USER_VERBS_CMD_DETACH_MCAST, qp, gid, lid);
    }
    /// Destroys an object by ioctl; the handle's attribute id is 0 for all types.
    int destroy(std::uint16_t object, std::uint16_t method, std::uint32_t number) {
        std::array<std::uint32_t, 2> resp{};
        std::uint32_t small = 0;
        Ioctl io(object, method);
        io.object(0, number);
        if (object == UVERBS_OBJECT_CQ) {
            io.out(1, resp);
        } else if (object == UVERBS_OBJECT_QP || object == UVERBS_OBJECT_SRQ) {
            io.out(1, small);
        }
        const int r = client.ioctl(io);
        reported = object == UVERBS_OBJECT_CQ ? resp : std::array<std::uint32_t, 2>{0, small};
        return r;
    }
    int destroy_pd(std::uint32_t n) {
        return destroy(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, n);
    }
    int destroy_cq(std::uint32_t n) {
        return destroy(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, n);
    }
    int destroy_qp(std::uint32_t n) {
        return destroy(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, n);
    }
    int destroy_srq(std::uint32_t n) {
        return destroy(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, n);
    }
    int destroy_mr(std::uint32_t n) {
        return destroy(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, n);
    }

    static constexpr std::uint32_t kQpState = 1;

    template <typename T>
    static T zeroed() {
        T value;
        std::memset(&value, 0, sizeof value);
        return value;
    }

    Client& client;
    dingo_alloc_ucontext_resp context{};
    std::uint32_t vectors = 0;
    std::uint64_t core_support = 0;
    ib_uverbs_qp_cap qp_cap{};
    std::uint32_t handle = 0;
    std::uint32_t qpn = 0;
    std::uint32_t key = 0;
    // Mapping of the most recent queue of each kind.
    dingo_create_cq_resp cq_map{};
    dingo_create_srq_resp srq_map{};
    dingo_create_qp_resp qp_map{};
    std::array<std::uint32_t, 2> reported{};  ///< of the last destroy: completion, async events
};

}  // namespace dingo::uverbs::test
