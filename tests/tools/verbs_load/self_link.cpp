// SPDX-License-Identifier: BSD-2-Clause
#include "self_link.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace verbs_load {
namespace {

[[noreturn]] void fail(const char* what, int error = errno) {
    throw std::runtime_error(std::string(what) + ": " + std::strerror(error));
}

ibv_context* open_device(const std::string& name) {
    int n = 0;
    ibv_device** list = ibv_get_device_list(&n);
    if (list == nullptr)
        fail("ibv_get_device_list");
    ibv_context* context = nullptr;
    for (int i = 0; i < n; ++i) {
        if (!name.empty() && name != ibv_get_device_name(list[i]))
            continue;
        context = ibv_open_device(list[i]);
        break;
    }
    ibv_free_device_list(list);
    if (context == nullptr)
        fail("no such RDMA device");
    return context;
}

}  // namespace

SelfLink::Phase SelfLink::phase_of(const std::string& name) {
    static const char* const names[] = {"context", "pd", "mr", "cq", "qp", "rts"};
    for (unsigned i = 0; i < 6; ++i)
        if (name == names[i])
            return static_cast<Phase>(i);
    throw std::runtime_error("phases are context, pd, mr, cq, qp, rts");
}

SelfLink::SelfLink(const std::string& device, unsigned qps, std::size_t bytes, Phase last)
    : bytes_(bytes) {
    context_ = open_device(device);
    if (last == Phase::kContext)
        return;
    find_gid();
    if ((pd_ = ibv_alloc_pd(context_)) == nullptr)
        fail("ibv_alloc_pd");
    if (last == Phase::kPd)
        return;
    buffer_ =
        static_cast<std::uint8_t*>(std::aligned_alloc(4096, (bytes + 4095) & ~std::size_t{4095}));
    if (buffer_ == nullptr)
        fail("aligned_alloc");
    mr_ = ibv_reg_mr(pd_, buffer_, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (mr_ == nullptr)
        fail("ibv_reg_mr");
    if (last != Phase::kMr)
        make_queues(qps, last);
}

SelfLink::SelfLink(const Borrowed& borrowed, unsigned qps, std::size_t bytes)
    : owner_(false),
      context_(borrowed.context),
      pd_(borrowed.pd),
      mr_(borrowed.mr),
      buffer_(borrowed.buffer),
      bytes_(bytes) {
    find_gid();
    try {
        make_queues(qps, Phase::kRts);
    } catch (...) {
        const int error = errno;
        destroy_queues();
        errno = error;
        throw;
    }
}

void SelfLink::find_gid() {
    ibv_port_attr port{};
    if (ibv_query_port(context_, 1, &port) != 0)
        fail("ibv_query_port");
    for (int i = 0; i < port.gid_tbl_len; ++i) {
        ibv_gid_entry entry{};
        if (ibv_query_gid_ex(context_, 1, static_cast<std::uint32_t>(i), &entry, 0) == 0 &&
            entry.gid_type == IBV_GID_TYPE_ROCE_V2) {
            gid_ = entry.gid;
            gid_index_ = i;
            if (gid_.raw[0] != 0xfe)
                break;
        }
    }
}

void SelfLink::make_queues(unsigned qps, Phase last) {
    if ((cq_ = ibv_create_cq(context_, 4096, nullptr, nullptr, 0)) == nullptr)
        fail("ibv_create_cq");
    if (last == Phase::kCq)
        return;
    share_ = bytes_ / (qps != 0 ? qps : 1) & ~std::size_t{1};
    for (unsigned i = 0; i < qps; ++i) {
        qps_.push_back(create_qp());
        if (last == Phase::kRts)
            connect(qps_.back());
    }
}

void SelfLink::destroy_queues() {
    for (ibv_qp* qp : qps_)
        ibv_destroy_qp(qp);
    if (cq_ != nullptr)
        ibv_destroy_cq(cq_);
}

SelfLink::~SelfLink() {
    destroy_queues();
    if (!owner_)
        return;
    if (mr_ != nullptr)
        ibv_dereg_mr(mr_);
    if (pd_ != nullptr)
        ibv_dealloc_pd(pd_);
    if (context_ != nullptr)
        ibv_close_device(context_);
    std::free(buffer_);
}

ibv_qp* SelfLink::make_qp() const {
    ibv_qp_init_attr init{};
    init.send_cq = cq_;
    init.recv_cq = cq_;
    init.qp_type = IBV_QPT_RC;
    init.cap = {64, 16, 1, 1, 0};
    return ibv_create_qp(pd_, &init);
}

ibv_qp* SelfLink::create_qp() {
    ibv_qp* qp = make_qp();
    if (qp == nullptr)
        fail("ibv_create_qp");
    return qp;
}

void SelfLink::connect(ibv_qp* qp, std::uint32_t peer) const {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags =
        IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    if (int e = ibv_modify_qp(qp, &attr,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
        fail("to INIT", e);
    attr = {};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_4096;
    attr.dest_qp_num = peer;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.dgid = gid_;
    attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index_);
    attr.ah_attr.grh.hop_limit = 64;
    attr.ah_attr.port_num = 1;
    if (int e = ibv_modify_qp(qp, &attr,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
        fail("to RTR", e);
    attr = {};
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 14;
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = 1;
    if (int e = ibv_modify_qp(qp, &attr,
                              IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
        fail("to RTS", e);
}

void SelfLink::post(unsigned n) {
    const auto from = reinterpret_cast<std::uintptr_t>(buffer_ + n * share_);
    ibv_sge sge{from, static_cast<std::uint32_t>(share_ / 2), mr_->lkey};
    ibv_send_wr wr{};
    ibv_send_wr* bad = nullptr;
    wr.wr_id = n;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma.remote_addr = from + share_ / 2;
    wr.wr.rdma.rkey = mr_->rkey;
    if (int e = ibv_post_send(qps_[n], &wr, &bad))
        fail("ibv_post_send", e);
}

unsigned SelfLink::wait() {
    ibv_wc wc{};
    int got = 0;
    while ((got = ibv_poll_cq(cq_, 1, &wc)) == 0) {
    }
    if (got < 0)
        throw std::runtime_error("ibv_poll_cq failed");
    if (wc.status != IBV_WC_SUCCESS)
        throw std::runtime_error(ibv_wc_status_str(wc.status));
    return static_cast<unsigned>(wc.wr_id);
}

void SelfLink::check(unsigned n, std::uint8_t seed) {
    std::uint8_t* from = buffer_ + n * share_;
    for (std::size_t i = 0; i < share_ / 2; ++i)
        from[i] = static_cast<std::uint8_t>(seed + i * 7 + n);
    std::memset(from + share_ / 2, 0, share_ / 2);
    post(n);
    wait();
    if (std::memcmp(from, from + share_ / 2, share_ / 2) != 0)
        throw std::runtime_error("the bytes that arrived differ");
}

int SelfLink::stream() {
    round();
    std::puts("holding");
    std::fflush(stdout);
    for (;;)
        round();
}

void SelfLink::round() {
    for (unsigned n = 0; n < qps(); ++n)
        post(n);
    for (unsigned n = 0; n < qps(); ++n)
        wait();
}

}  // namespace verbs_load
