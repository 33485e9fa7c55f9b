// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "mori/application/transport/rdma/providers/dingo/dingo.hpp"

#include <hip/hip_runtime_api.h>
#include <infiniband/dingodv.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "mori/application/transport/rdma/providers/dv_loader.hpp"
#include "mori/application/utils/check.hpp"
#include "mori/utils/mori_log.hpp"

namespace mori {
namespace application {
namespace {

// Inline bytes that fit into one slot, so that each WQE takes one slot.
constexpr uint32_t kInline = 32;
// MORI's collective kernels may report consumed entries only after 100 and a wavefront more. The
// CQ, with twice as many entries as the ring has slots, must have room for those, too.
constexpr uint32_t kLeastDepth = 256;

template <typename T>
bool Load(void* library, const char* name, T& to) {
    to = reinterpret_cast<T>(DvLoadSymbol(library, name));
    return to != nullptr;
}

/// From libdingo, a dependency of libdingo-gda.
decltype(&dingodv_is_supported) is_supported;

bool LoadAll(DingoGda& api) {
    void* const library = DvLoadLibrary("libdingo-gda.so.1");
    if (library == nullptr)
        return false;
    return Load(library, "dingo_gda_open", api.open) &&
           Load(library, "dingo_gda_close", api.close) &&
           Load(library, "dingo_gda_create", api.create) &&
           Load(library, "dingo_gda_destroy", api.destroy) &&
           Load(library, "dingo_gda_ibv_qp", api.ibv_qp) &&
           Load(library, "dingo_gda_describe", api.describe) &&
           Load(library, "dingo_gda_error", api.error) &&
           Load(library, "dingodv_is_supported", is_supported);
}

[[noreturn]] void Fail(const char* step, int error, const char* more = "") {
    MORI_APP_ERROR("Dingo: {}: {}{}{}", step, strerror(error), *more != '\0' ? ": " : "", more);
    std::abort();
}

void Modify(ibv_qp* qp, ibv_qp_attr& attr, int mask, const char* step) {
    if (const int error = ibv_modify_qp(qp, &attr, mask); error != 0)
        Fail(step, error);
}

}  // namespace

const DingoGda* DingoGda::Get() {
    static DingoGda api;
    static const bool loaded = LoadAll(api);
    return loaded ? &api : nullptr;
}

RdmaDevice* DingoDevice::Make(ibv_device* device) {
    const DingoGda* const gda = DingoGda::Get();
    if (gda == nullptr) {
        MORI_APP_ERROR("{} may be a Dingo card, but there is no libdingo-gda.so.1 of Dingo 1.1",
                       device->name);
        return nullptr;
    }
    return is_supported(device) ? new DingoDevice(device, *gda) : nullptr;
}

RdmaDeviceContext* DingoDevice::CreateRdmaDeviceContext() {
    ibv_pd* const pd = ibv_alloc_pd(defaultContext);
    if (pd == nullptr)
        Fail("ibv_alloc_pd", errno);
    return new DingoDeviceContext(this, pd, gda_);
}

DingoDeviceContext::DingoDeviceContext(RdmaDevice* device, ibv_pd* pd, const DingoGda& gda)
    : RdmaDeviceContext(device, pd), gda_(gda) {}

DingoDeviceContext::~DingoDeviceContext() {
    for (const auto& [qpn, queue] : queues_)
        Destroy(queue);
    if (device_ != nullptr)
        gda_.close(device_);
}

void DingoDeviceContext::Destroy(const Queue& queue) noexcept {
    if (queue.atomic_buffer != nullptr) {
        DeregisterRdmaMemoryRegion(queue.atomic_buffer);
        if (queue.on_gpu)
            (void)hipFree(queue.atomic_buffer);
        else
            std::free(queue.atomic_buffer);
    }
    if (const int error = gda_.destroy(queue.queue); error != 0)
        MORI_APP_WARN("Dingo: ibv_destroy_qp: {}", strerror(error));
}

/// Adds the buffer for results of atomics that the caller does not want.
void DingoDeviceContext::AddAtomicBuffer(const RdmaEndpointConfig& config, Queue& queue,
                                         RdmaEndpoint& endpoint) {
    uint32_t slots = 1;
    while (slots < config.atomicIbufSlots)
        slots *= 2;
    const size_t bytes = (size_t{slots} + 1) * ATOMIC_IBUF_SLOT_SIZE;
    queue.on_gpu = config.onGpu;
    if (config.onGpu) {
        HIP_RUNTIME_CHECK(
            hipExtMallocWithFlags(&queue.atomic_buffer, bytes, hipDeviceMallocUncached));
        HIP_RUNTIME_CHECK(hipMemset(queue.atomic_buffer, 0, bytes));
    } else {
        if (posix_memalign(&queue.atomic_buffer, config.alignment, bytes) != 0)
            Fail("memory for results of atomics", ENOMEM);
        std::memset(queue.atomic_buffer, 0, bytes);
    }
    const RdmaMemoryRegion region = RegisterRdmaMemoryRegionAuto(queue.atomic_buffer, bytes);
    endpoint.atomicIbuf.addr = region.addr;
    endpoint.atomicIbuf.lkey = region.lkey;
    endpoint.atomicIbuf.rkey = region.rkey;
    endpoint.atomicIbuf.nslots = slots;
}

RdmaEndpoint DingoDeviceContext::CreateRdmaEndpoint(const RdmaEndpointConfig& config) {
    if (config.withCompChannel)
        Fail("CreateRdmaEndpoint", EOPNOTSUPP, "a GPU's completion queue raises no events");
    if (device_ == nullptr) {
        int ordinal = 0;
        HIP_RUNTIME_CHECK(hipGetDevice(&ordinal));
        device_ = gda_.open(DINGO_GDA_HIP, ordinal);
        if (device_ == nullptr)
            Fail("dingo_gda_open", errno, gda_.error());
    }
    dingo_gda_qp_attr attr{};
    attr.pd = pd;
    attr.srq = config.enableSrq ? CreateRdmaSrqIfNx(config) : nullptr;
    attr.qp_type = IBV_QPT_RC;
    attr.max_send_wr = std::max(config.maxMsgsNum, kLeastDepth);
    attr.max_inline = kInline;
    attr.max_recv_wr = config.maxRecvWr != 0 ? config.maxRecvWr : config.maxMsgsNum;
    attr.max_recv_sge = 1;
    Queue queue{gda_.create(device_, &attr), nullptr, false};
    if (queue.queue == nullptr)
        Fail("dingo_gda_create", errno, gda_.error());
    ibv_qp* const qp = gda_.ibv_qp(queue.queue);

    RdmaEndpoint endpoint;
    endpoint.vendorId = RdmaDeviceVendorId::Dingo;
    endpoint.handle.qpn = qp->qp_num;
    endpoint.handle.portId = config.portId;
    endpoint.ibvHandle.qp = qp;
    endpoint.ibvHandle.cq = qp->send_cq;
    const GidSelectionResult gid = AutoSelectGidIndex(
        GetIbvContext(), config.portId, GetRdmaDevice()->GetPortAttr(config.portId), config.gidIdx);
    if (!gid.valid)
        Fail("the port's GID", EADDRNOTAVAIL);
    std::memcpy(endpoint.handle.eth.gid, gid.gid.raw, sizeof endpoint.handle.eth.gid);
    endpoint.handle.eth.gidIdx = gid.gidIdx;

    dingo_gda_qp rings;
    gda_.describe(queue.queue, &rings);
    core::WorkQueueHandle& wq = endpoint.wqHandle;
    wq.sqAddr = rings.sq;
    wq.dbrAddr = rings.sq_doorbell;
    wq.sqWqeNum = rings.sq_mask + 1;
    wq.sq_dbval = rings.sq_doorbell_word;
    core::CompletionQueueHandle& cq = endpoint.cqHandle;
    cq.cqAddr = const_cast<uint64_t*>(rings.cq);
    cq.dbrAddr = rings.cq_doorbell;
    cq.dbrRecAddr = rings.cq_doorbell;
    cq.cqeNum = rings.cq_mask + 1;
    cq.cqeSize = 32;
    cq.cq_dbval = rings.cq_doorbell_word;
    AddAtomicBuffer(config, queue, endpoint);
    queues_.emplace(qp->qp_num, queue);
    return endpoint;
}

void DingoDeviceContext::ConnectEndpoint(const RdmaEndpointHandle& local,
                                         const RdmaEndpointHandle& remote, uint32_t /*qpId*/) {
    const auto found = queues_.find(local.qpn);
    if (found == queues_.end())
        Fail("ConnectEndpoint", EINVAL, "not an endpoint of this context");
    ibv_qp* const qp = gda_.ibv_qp(found->second.queue);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = static_cast<uint8_t>(local.portId);
    attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                           IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    Modify(qp, attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
           "ibv_modify_qp to INIT");

    const ibv_device_attr& limits = GetRdmaDevice()->GetDeviceAttr()->orig_attr;
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = GetRdmaDevice()->GetPortAttr(local.portId)->active_mtu;
    attr.dest_qp_num = remote.qpn;
    attr.rq_psn = remote.psn;
    attr.max_dest_rd_atomic = static_cast<uint8_t>(std::min(limits.max_qp_rd_atom, 16));
    attr.min_rnr_timer = 12;
    attr.ah_attr.port_num = static_cast<uint8_t>(local.portId);
    attr.ah_attr.is_global = 1;
    attr.ah_attr.sl = ReadRdmaServiceLevelEnv().value_or(0);
    attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(local.eth.gidIdx);
    attr.ah_attr.grh.traffic_class = ReadRdmaTrafficClassEnv().value_or(0);
    attr.ah_attr.grh.hop_limit = 64;
    std::memcpy(attr.ah_attr.grh.dgid.raw, remote.eth.gid, sizeof attr.ah_attr.grh.dgid.raw);
    Modify(qp, attr,
           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
           "ibv_modify_qp to RTR");

    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = local.psn;
    attr.timeout = 14;
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = static_cast<uint8_t>(std::min(limits.max_qp_init_rd_atom, 16));
    Modify(qp, attr,
           IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
               IBV_QP_MAX_QP_RD_ATOMIC,
           "ibv_modify_qp to RTS");
}

bool DingoDeviceContext::DestroyRdmaEndpointNoThrow(const RdmaEndpoint& endpoint) noexcept {
    const auto found = queues_.find(endpoint.handle.qpn);
    if (found == queues_.end())
        return false;
    Destroy(found->second);
    queues_.erase(found);
    return true;
}

}  // namespace application
}  // namespace mori
