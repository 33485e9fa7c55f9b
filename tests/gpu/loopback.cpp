// SPDX-License-Identifier: BSD-2-Clause
#include "loopback.h"

#include <chrono>
#include <stdexcept>

namespace gpu_test {
namespace {

void need(bool ok, const char* what) {
    if (!ok) {
        throw std::runtime_error(what);
    }
}

}  // namespace

Loopback::Loopback() {
    int count = 0;
    ibv_device** const devices = ibv_get_device_list(&count);
    need(devices != nullptr && count > 0, "no RDMA device");
    context_ = ibv_open_device(devices[0]);
    ibv_free_device_list(devices);
    need(context_ != nullptr, "ibv_open_device");
    pd_ = ibv_alloc_pd(context_);
    cq_ = ibv_create_cq(context_, 256, nullptr, nullptr, 0);
    need(pd_ != nullptr && cq_ != nullptr, "ibv_alloc_pd, ibv_create_cq");
    qp_ = make_qp();
    peer_ = make_qp();
    connect(qp_, peer_);
    connect(peer_, qp_);
}

Loopback::~Loopback() {
    ibv_destroy_qp(qp_);
    ibv_destroy_qp(peer_);
    ibv_destroy_cq(cq_);
    ibv_dealloc_pd(pd_);
    ibv_close_device(context_);
}

ibv_qp* Loopback::make_qp() {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.qp_type = IBV_QPT_RC;
    init.sq_sig_all = 1;
    init.cap = {128, 1, 1, 1, 0};
    ibv_qp* const qp = ibv_create_qp(pd_, &init);
    need(qp != nullptr, "ibv_create_qp");
    return qp;
}

void Loopback::connect(ibv_qp* qp, const ibv_qp* to) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags =
        IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    need(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
         "INIT");
    attr = {};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_4096;
    attr.dest_qp_num = to->qp_num;
    attr.max_dest_rd_atomic = 16;
    attr.min_rnr_timer = 12;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.sgid_index = 1;
    attr.ah_attr.grh.hop_limit = 64;
    need(ibv_query_gid(context_, 1, 1, &attr.ah_attr.grh.dgid) == 0, "ibv_query_gid");
    need(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                           IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
         "RTR");
    attr = {};
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 14;
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = 16;
    need(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
         "RTS");
}

void Loopback::post(ibv_wr_opcode opcode, Place local, Place remote, std::uint32_t bytes,
                    std::uint64_t add) {
    ibv_sge sge{local.address, bytes, local.key};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = opcode;
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.remote_addr = remote.address;
        wr.wr.atomic.rkey = remote.key;
        wr.wr.atomic.compare_add = add;
    } else {
        wr.wr.rdma.remote_addr = remote.address;
        wr.wr.rdma.rkey = remote.key;
    }
    ibv_send_wr* bad = nullptr;
    need(ibv_post_send(qp_, &wr, &bad) == 0, "ibv_post_send");
}

std::optional<ibv_wc_status> Loopback::wait() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    ibv_wc wc{};
    while (std::chrono::steady_clock::now() < end) {
        const int got = ibv_poll_cq(cq_, 1, &wc);
        need(got >= 0, "ibv_poll_cq: the card is gone");
        if (got == 1) {
            return wc.status;
        }
    }
    return std::nullopt;
}

}  // namespace gpu_test
