// SPDX-License-Identifier: BSD-2-Clause
//
// Steps from RESET to RTS, and class Pair: two connected queue pairs.
#include "bench.h"

namespace verbs_promises {

Step to_state(ibv_qp_state state) {
    Step step;
    step.attr.qp_state = state;
    step.mask = IBV_QP_STATE;
    return step;
}

Step to_init(ibv_qp_type type, int access) {
    Step step = to_state(IBV_QPS_INIT);
    step.attr.port_num = 1;
    step.mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    if (type == IBV_QPT_UD) {
        step.attr.qkey = kQkey;
        step.mask |= IBV_QP_QKEY;
    } else {
        step.attr.qp_access_flags = static_cast<unsigned>(access);
        step.mask |= IBV_QP_ACCESS_FLAGS;
    }
    return step;
}

Step to_rtr(const Bench& bench, ibv_qp_type type, std::uint32_t dest_qpn) {
    Step step = to_state(IBV_QPS_RTR);
    if (type == IBV_QPT_UD) {
        return step;
    }
    step.attr.ah_attr = bench.self();
    step.attr.path_mtu = bench.port.active_mtu;
    step.attr.dest_qp_num = dest_qpn;
    step.attr.rq_psn = 7;
    step.mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (type == IBV_QPT_RC) {
        step.attr.max_dest_rd_atomic = 1;
        step.attr.min_rnr_timer = 1;
        step.mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    }
    return step;
}

Step to_rts(ibv_qp_type type) {
    Step step = to_state(IBV_QPS_RTS);
    step.attr.sq_psn = 7;
    step.mask |= IBV_QP_SQ_PSN;
    if (type == IBV_QPT_RC) {
        step.attr.timeout = 14;
        step.attr.retry_cnt = 7;
        step.attr.rnr_retry = 7;
        step.attr.max_rd_atomic = 1;
        step.mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    }
    return step;
}

int modify(ibv_qp* qp, Step step) {
    return ibv_modify_qp(qp, &step.attr, step.mask);
}

void connect(const Bench& bench, ibv_qp* qp, std::uint32_t dest_qpn, int access) {
    done(modify(qp, to_init(qp->qp_type, access)), "to INIT");
    done(modify(qp, to_rtr(bench, qp->qp_type, dest_qpn)), "to RTR");
    done(modify(qp, to_rts(qp->qp_type)), "to RTS");
}

Pair::Pair(Bench& bench, ibv_qp_type type, int entries, std::uint32_t wrs, int access)
    : self_(bench.self()) {
    if (bench.attr.atomic_cap == IBV_ATOMIC_NONE) {
        access &= ~IBV_ACCESS_REMOTE_ATOMIC;
    }
    for (int side = 0; side < 2; ++side) {
        memory_[side] = std::make_unique<Region>(bench.pd.get(), 1 << 16, access);
        cqs_[side] = bench.cq(entries);
        auto init = bench.init(cqs_[side].get(), type);
        init.cap.max_send_wr = init.cap.max_recv_wr = wrs;
        init.cap.max_inline_data = 64;
        qps_[side] = bench.qp(init);
    }
    for (int side = 0; side < 2; ++side) {
        connect(bench, qp(side), qp(1 - side)->qp_num, access);
    }
    if (type == IBV_QPT_UD) {
        ah_.reset(made(ibv_create_ah(bench.pd.get(), &self_), "ibv_create_ah"));
    }
}

int Pair::receive(int side, std::uint64_t id, std::uint32_t bytes, std::size_t offset) {
    ibv_sge sge = memory(side).sge(offset, bytes);
    ibv_recv_wr wr{};
    wr.wr_id = id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_recv(qp(side), &wr, &bad);
}

ibv_send_wr Pair::request(ibv_wr_opcode opcode, unsigned flags, std::uint32_t bytes) {
    sge_ = memory(0).sge(0, bytes);
    ibv_send_wr wr{};
    wr.wr_id = 77;
    wr.sg_list = &sge_;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.send_flags = flags;
    if (qp(0)->qp_type == IBV_QPT_UD) {
        wr.wr.ud = {ah_.get(), qp(1)->qp_num, kQkey};
        return wr;
    }
    if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        sge_.length = 8;
        wr.wr.atomic.remote_addr = memory(1).address();
        wr.wr.atomic.rkey = memory(1).rkey();
    } else {
        wr.wr.rdma.remote_addr = memory(1).address();
        wr.wr.rdma.rkey = memory(1).rkey();
    }
    return wr;
}

int Pair::post(ibv_send_wr wr) {
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp(0), &wr, &bad);
}

ibv_wc Pair::run(ibv_send_wr wr) {
    done(post(wr), "ibv_post_send");
    return wait_wc(cq(0));
}

}  // namespace verbs_promises
