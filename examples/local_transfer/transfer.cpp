// SPDX-License-Identifier: BSD-2-Clause
#include "transfer.h"

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace local_transfer {
namespace {

using examples::check;
using examples::fail;
using examples::roce_gid;

void* pointer(std::uint64_t address) {
    return reinterpret_cast<void*>(address);
}

}  // namespace

Context open_device(const std::string& name) {
    unsigned cards = 0;
    Context context = examples::find_device(name, 0, cards);
    if (!context)
        throw std::runtime_error("no Dingo card here: start one, or use `dingo run`");
    return context;
}

std::vector<dingodv_kernel> kernels_of(ibv_context* context) {
    std::size_t count = 0;
    check(dingodv_query_compute(context, nullptr, &count), "dingodv_query_compute");
    std::vector<dingodv_kernel> kernels(count);
    check(dingodv_query_compute(context, kernels.data(), &count), "dingodv_query_compute");
    return kernels;
}

Transfer::Transfer(ibv_context* context, std::uint32_t kernel, std::uint32_t param, bool receive,
                   std::size_t bytes, std::unique_ptr<rdma_bench::Gpu> gpu)
    : gpu_(std::move(gpu)), source_(bytes), target_(bytes) {
    source_at_ = gpu_ ? gpu_->allocate(bytes) : reinterpret_cast<std::uintptr_t>(source_.data());
    target_at_ = gpu_ ? gpu_->allocate(bytes) : reinterpret_cast<std::uintptr_t>(target_.data());
    pd_.reset(check(ibv_alloc_pd(context), "ibv_alloc_pd"));
    cq_.reset(check(ibv_create_cq(context, kDepth, nullptr, nullptr, 0), "ibv_create_cq"));
    source_mr_.reset(check(ibv_reg_mr(pd_.get(), pointer(source_at_), bytes, 0), "ibv_reg_mr"));
    target_mr_.reset(check(ibv_reg_mr(pd_.get(), pointer(target_at_), bytes,
                                      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
                           "ibv_reg_mr"));
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_.get();
    init.qp_type = IBV_QPT_RC;
    init.sq_sig_all = 1;
    init.cap = {kDepth, 1, 1, 1, 0};
    qp_.reset(check(ibv_create_qp(pd_.get(), &init), "ibv_create_qp"));
    dingodv_compute_params params{};
    params.param = param;
    if (receive)
        check(dingodv_set_receive_compute(qp_.get(), kernel, &params),
              "dingodv_set_receive_compute");
    else
        check(dingodv_set_compute(qp_.get(), kernel, &params), "dingodv_set_compute");
    connect(context);
}

Transfer::~Transfer() {
    source_mr_.reset();
    target_mr_.reset();
    if (gpu_) {
        gpu_->release(source_at_);
        gpu_->release(target_at_);
    }
}

void Transfer::put(std::size_t bytes) {
    if (gpu_) {
        gpu_->write(source_at_, source().first(bytes));
        gpu_->write(target_at_, target().first(bytes));
    }
}

void Transfer::fetch(std::size_t bytes) {
    if (gpu_) {
        gpu_->read(target_at_, target().first(bytes));
    }
}

void Transfer::connect(ibv_context* context) {
    ibv_port_attr port{};
    check(ibv_query_port(context, 1, &port), "ibv_query_port");
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    check(ibv_modify_qp(qp_.get(), &attr,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
          "ibv_modify_qp to INIT");
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = port.active_mtu;
    attr.dest_qp_num = qp_->qp_num;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.hop_limit = 64;
    attr.ah_attr.grh.sgid_index = roce_gid(context, attr.ah_attr.grh.dgid);
    check(ibv_modify_qp(qp_.get(), &attr,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
          "ibv_modify_qp to RTR");
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 18;
    attr.retry_cnt = 7;
    attr.max_rd_atomic = 1;
    check(ibv_modify_qp(qp_.get(), &attr,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
          "ibv_modify_qp to RTS");
}

void Transfer::run(std::size_t bytes, unsigned times) {
    ibv_sge sge{source_at_, static_cast<std::uint32_t>(bytes), source_mr_->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.wr.rdma.remote_addr = target_at_;
    wr.wr.rdma.rkey = target_mr_->rkey;
    for (unsigned i = 0; i < times; ++i) {
        ibv_send_wr* bad = nullptr;
        check(ibv_post_send(qp_.get(), &wr, &bad), "ibv_post_send");
    }
    for (unsigned done = 0; done < times;) {
        std::array<ibv_wc, kDepth> completions{};
        const int polled = ibv_poll_cq(cq_.get(), kDepth, completions.data());
        if (polled < 0)
            throw std::runtime_error("ibv_poll_cq failed");
        for (int i = 0; i < polled; ++i) {
            if (completions[i].status != IBV_WC_SUCCESS)
                throw std::runtime_error(std::string("transfer: ") +
                                         ibv_wc_status_str(completions[i].status));
        }
        done += static_cast<unsigned>(polled);
    }
}

}  // namespace local_transfer
