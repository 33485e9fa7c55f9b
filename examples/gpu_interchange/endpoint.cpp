// SPDX-License-Identifier: BSD-2-Clause
#include "endpoint.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace gpu_interchange {
namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

template <typename T>
T* check(T* object, const char* step) {
    if (object == nullptr)
        fail(step, errno);
    return object;
}

void modify(ibv_qp* qp, ibv_qp_attr& attr, int mask, const char* state) {
    if (const int error = ibv_modify_qp(qp, &attr, mask); error != 0)
        fail(std::string("ibv_modify_qp to ") + state, error);
}

}  // namespace

void fail(const std::string& step, int error) {
    std::string text = step + ": " + std::strerror(error);
    if (*dingo_gda_error() != '\0')
        text += std::string(" (") + dingo_gda_error() + ")";
    throw std::runtime_error(text);
}

RdmaContext::RdmaContext() : list_(check(ibv_get_device_list(nullptr), "ibv_get_device_list")) {
    for (ibv_device** device = list_.get(); *device != nullptr; ++device) {
        if (dingodv_is_supported(*device))
            devices_.push_back(*device);
    }
}

std::vector<ActiveDevicePort> RdmaContext::active_ports() const {
    std::vector<ActiveDevicePort> active;
    for (ibv_device* const device : devices_) {
        const Owned<ibv_context, ibv_close_device> context(
            check(ibv_open_device(device), "ibv_open_device"));
        ibv_port_attr port{};
        if (ibv_query_port(context.get(), 1, &port) == 0 && port.state == IBV_PORT_ACTIVE)
            active.push_back({device, 1});
    }
    return active;
}

RdmaDeviceContext::RdmaDeviceContext(const ActiveDevicePort& port, dingo_gda* gpu)
    : port_(port.port),
      gpu_(gpu),
      context_(check(ibv_open_device(port.device), "ibv_open_device")),
      pd_(check(ibv_alloc_pd(context_.get()), "ibv_alloc_pd")) {
    std::array<ibv_gid_entry, 64> table{};
    const ssize_t n = ibv_query_gid_table(context_.get(), table.data(), table.size(), 0);
    for (ssize_t i = 0; i < n; ++i) {
        if (table[i].gid_type == IBV_GID_TYPE_ROCE_V2) {
            gid_ = table[i].gid;
            gid_index_ = static_cast<std::uint8_t>(table[i].gid_index);
        }
    }
}

RdmaEndpoint RdmaDeviceContext::create_endpoint() const {
    dingo_gda_qp_attr attr{};
    attr.pd = pd_.get();
    attr.qp_type = IBV_QPT_RC;
    attr.max_send_wr = 128;
    RdmaEndpoint endpoint;
    endpoint.queue.reset(check(dingo_gda_create(gpu_, &attr), "dingo_gda_create"));
    endpoint.handle = {dingo_gda_ibv_qp(endpoint.queue.get())->qp_num, gid_};
    return endpoint;
}

void RdmaDeviceContext::connect(const RdmaEndpoint& local, const RdmaEndpointHandle& remote) const {
    ibv_qp* const qp = dingo_gda_ibv_qp(local.queue.get());
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = port_;
    attr.qp_access_flags = kAccess;
    modify(qp, attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = remote.qpn;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.ah_attr.port_num = port_;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.dgid = remote.gid;
    attr.ah_attr.grh.sgid_index = gid_index_;
    attr.ah_attr.grh.hop_limit = 64;
    modify(qp, attr,
           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
           "RTR");
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 14;
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = 1;
    modify(qp, attr,
           IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
               IBV_QP_MAX_QP_RD_ATOMIC,
           "RTS");
}

RdmaMemoryRegion RdmaDeviceContext::register_memory(void* at, std::size_t bytes) {
    regions_.emplace_back(check(
        ibv_reg_mr(pd_.get(), at, bytes, kAccess),
        "ibv_reg_mr (of GPU memory: can this card access it? --mem pinned uses host memory)"));
    return {at, regions_.back()->lkey, regions_.back()->rkey, bytes};
}

}  // namespace gpu_interchange
