// SPDX-License-Identifier: BSD-2-Clause
#include "loop_verbs.h"

#include <endian.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

// libibverbs' macros hide the functions of these names, which this file defines.
#undef ibv_reg_mr
#undef ibv_query_port

namespace loop_verbs {
namespace {

struct Cq : ibv_cq {
    std::mutex mutex;
    std::deque<ibv_wc> done;
    bool armed = false;
};
/// A channel with one CQ, as in rdma-bench.
struct Channel : ibv_comp_channel {
    ibv_cq* cq = nullptr;
};
struct Receive {
    std::uint64_t id = 0, address = 0;
    std::uint32_t length = 0;
};
/// Receive queue of a QP or an SRQ.
struct Receives {
    std::mutex mutex;
    std::deque<Receive> posted;
    std::vector<std::uint32_t> waiting;  ///< QPs with a message that found no receive
};
struct Srq : ibv_srq {
    Receives receives;
};
struct Send {
    ibv_send_wr wr{};
    ibv_sge sge{};
    std::uint64_t number = 0;
};
struct Qp : ibv_qp {
    Receives own;
    Receives* receives = nullptr;
    std::uint32_t destination = 0;
    std::mutex mutex;
    std::deque<Send> pending;
    bool failed = false;
};
struct Region {
    std::uint64_t address = 0, length = 0;
};

// Protects the tables. Threads only share it, which does not order them; it is locked exclusively
// only while a side is created or destroyed.
std::shared_mutex tables;
std::map<std::uint32_t, Qp*> qps;
std::map<std::uint32_t, Region> regions;
std::uint32_t next_number = 100;

std::atomic<int> live{0};
std::atomic<std::uint64_t> messages{0};
Faults faults;

/// Copies as the device: not instrumented, and without memcpy(), which ThreadSanitizer intercepts.
__attribute__((no_sanitize("thread"))) void move_bytes(std::uint64_t to, std::uint64_t from,
                                                       std::size_t size) {
    auto* at = reinterpret_cast<volatile std::uint8_t*>(to);
    const auto* source = reinterpret_cast<const volatile std::uint8_t*>(from);
    for (std::size_t i = 0; i < size; ++i) {
        at[i] = source[i];
    }
}

__attribute__((no_sanitize("thread"))) void flip_byte(std::uint64_t at) {
    auto* byte = reinterpret_cast<volatile std::uint8_t*>(at);
    *byte = static_cast<std::uint8_t>(~*byte);
}

void complete(ibv_cq* of, const ibv_wc& wc) {
    auto* cq = static_cast<Cq*>(of);
    const std::lock_guard lock(cq->mutex);
    cq->done.push_back(wc);
    if (cq->armed) {
        cq->armed = false;
        eventfd_write(cq->channel->fd, 1);
    }
}

bool reachable(std::uint32_t key, std::uint64_t address, std::uint64_t length) {
    const auto found = regions.find(key);
    return found != regions.end() && address >= found->second.address &&
           length <= found->second.length &&
           address - found->second.address <= found->second.length - length;
}

/// @return nullopt if no receive is posted; the QP then waits for one
std::optional<ibv_wc_status> deliver(Qp& from, const Send& send, Qp& to) {
    Receive receive;
    {
        const std::lock_guard lock(to.receives->mutex);
        if (to.receives->posted.empty()) {
            if (from.qp_type != IBV_QPT_RC) {
                return IBV_WC_SUCCESS;
            }
            to.receives->waiting.push_back(from.qp_num);
            return std::nullopt;
        }
        receive = to.receives->posted.front();
        to.receives->posted.pop_front();
    }
    const std::uint32_t header = from.qp_type == IBV_QPT_UD ? 40 : 0;
    ibv_wc wc{};
    wc.wr_id = receive.id;
    wc.opcode = IBV_WC_RECV;
    wc.qp_num = to.qp_num;
    wc.src_qp = from.qp_num;
    wc.byte_len = send.sge.length + header;
    if (wc.byte_len > receive.length) {
        wc.status = IBV_WC_LOC_LEN_ERR;
        complete(to.recv_cq, wc);
        return from.qp_type == IBV_QPT_RC ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_SUCCESS;
    }
    move_bytes(receive.address + header, send.sge.addr, send.sge.length);
    if (send.number == faults.corrupt) {
        flip_byte(receive.address + header);
    }
    complete(to.recv_cq, wc);
    return IBV_WC_SUCCESS;
}

ibv_wc_status access_memory(const Send& send);

/// RDMA WRITE with immediate data. @return nullopt if no receive is posted; the QP waits for one
std::optional<ibv_wc_status> write_immediate(Qp& from, const Send& send, Qp& to) {
    const std::lock_guard lock(to.receives->mutex);
    if (to.receives->posted.empty()) {
        if (from.qp_type != IBV_QPT_RC) {
            return IBV_WC_SUCCESS;
        }
        to.receives->waiting.push_back(from.qp_num);
        return std::nullopt;
    }
    const auto status = access_memory(send);
    if (status == IBV_WC_SUCCESS) {
        ibv_wc wc{};
        wc.wr_id = to.receives->posted.front().id;
        wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
        wc.qp_num = to.qp_num;
        wc.byte_len = send.sge.length;
        wc.wc_flags = IBV_WC_WITH_IMM;
        wc.imm_data = send.wr.imm_data;
        to.receives->posted.pop_front();
        complete(to.recv_cq, wc);
    }
    return status;
}

ibv_wc_status access_memory(const Send& send) {
    const auto& rdma = send.wr.wr.rdma;
    const bool atomic = send.wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
                        send.wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    const std::uint64_t remote = atomic ? send.wr.wr.atomic.remote_addr : rdma.remote_addr;
    const std::uint32_t key = atomic ? send.wr.wr.atomic.rkey : rdma.rkey;
    if (!reachable(key, remote, send.sge.length)) {
        return IBV_WC_REM_ACCESS_ERR;
    }
    std::uint64_t landed = send.sge.addr;
    if (atomic) {
        const auto& what = send.wr.wr.atomic;
        std::uint64_t value = 0;
        move_bytes(send.sge.addr, remote, sizeof value);
        move_bytes(reinterpret_cast<std::uintptr_t>(&value), remote, sizeof value);
        if (send.wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
            value += what.compare_add;
        } else if (value == what.compare_add) {
            value = what.swap;
        }
        move_bytes(remote, reinterpret_cast<std::uintptr_t>(&value), sizeof value);
    } else if (send.wr.opcode == IBV_WR_RDMA_READ) {
        move_bytes(send.sge.addr, remote, send.sge.length);
    } else {
        move_bytes(remote, send.sge.addr, send.sge.length);
        landed = remote;
    }
    if (send.number == faults.corrupt) {
        flip_byte(landed);
    }
    return IBV_WC_SUCCESS;
}

std::optional<ibv_wc_status> carry(Qp& qp, Send& send) {
    if (qp.failed) {
        return IBV_WC_WR_FLUSH_ERR;
    }
    if (send.number == 0) {
        send.number = messages.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    if (send.number == faults.fail) {
        return IBV_WC_REM_OP_ERR;
    }
    const bool datagram = qp.qp_type == IBV_QPT_UD;
    const auto to = qps.find(datagram ? send.wr.wr.ud.remote_qpn : qp.destination);
    if (to == qps.end() || send.number == faults.lose) {
        return qp.qp_type == IBV_QPT_RC ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS;
    }
    if (send.wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
        return write_immediate(qp, send, *to->second);
    }
    return send.wr.opcode == IBV_WR_SEND ? deliver(qp, send, *to->second) : access_memory(send);
}

/// Processes the QP's queued sends until one lacks a receive. The caller holds `tables`.
void progress(Qp& qp) {
    const std::lock_guard lock(qp.mutex);
    while (!qp.pending.empty()) {
        Send& send = qp.pending.front();
        const auto status = carry(qp, send);
        if (!status) {
            return;
        }
        qp.failed = qp.failed || *status != IBV_WC_SUCCESS;
        if (*status != IBV_WC_SUCCESS || (send.wr.send_flags & IBV_SEND_SIGNALED) != 0) {
            ibv_wc wc{};
            wc.wr_id = send.wr.wr_id;
            wc.status = *status;
            wc.qp_num = qp.qp_num;
            complete(qp.send_cq, wc);
        }
        qp.pending.pop_front();
    }
}

int post_send(ibv_qp* on, ibv_send_wr* wr, ibv_send_wr** /*bad*/) {
    auto& qp = static_cast<Qp&>(*on);
    {
        const std::lock_guard lock(qp.mutex);
        for (; wr != nullptr; wr = wr->next) {
            qp.pending.push_back({*wr, *wr->sg_list, 0});
        }
    }
    const std::shared_lock lock(tables);
    progress(qp);
    return 0;
}

int post(Receives& receives, ibv_recv_wr* wr) {
    std::vector<std::uint32_t> waiting;
    {
        const std::lock_guard lock(receives.mutex);
        for (; wr != nullptr; wr = wr->next) {
            receives.posted.push_back({wr->wr_id, wr->sg_list->addr, wr->sg_list->length});
        }
        waiting.swap(receives.waiting);
    }
    const std::shared_lock lock(tables);
    for (const auto number : waiting) {
        if (const auto found = qps.find(number); found != qps.end()) {
            progress(*found->second);
        }
    }
    return 0;
}

int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** /*bad*/) {
    return post(static_cast<Qp*>(qp)->own, wr);
}
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** /*bad*/) {
    return post(static_cast<Srq*>(srq)->receives, wr);
}

int poll_cq(ibv_cq* of, int most, ibv_wc* wc) {
    auto* cq = static_cast<Cq*>(of);
    const std::lock_guard lock(cq->mutex);
    int count = 0;
    for (; count < most && !cq->done.empty(); ++count) {
        wc[count] = cq->done.front();
        cq->done.pop_front();
    }
    return count;
}

int req_notify_cq(ibv_cq* of, int /*solicited_only*/) {
    auto* cq = static_cast<Cq*>(of);
    const std::lock_guard lock(cq->mutex);
    cq->armed = true;
    return 0;
}

struct TheDevice : ibv_device {
    TheDevice() : ibv_device{} {
        node_type = IBV_NODE_CA;
        transport_type = IBV_TRANSPORT_IB;
        std::strcpy(name, "loop0");
    }
};

ibv_device* the_device() {
    static TheDevice device;
    return &device;
}

template <class T>
T* made(T* object) {
    ++live;
    return object;
}
/// Deletes the object. @return 0, as the verbs that destroy do
template <class T>
int gone(T* object) {
    delete object;
    --live;
    return 0;
}

}  // namespace

void set_faults(const Faults& wanted) {
    faults = wanted;
    messages = 0;
}

int live_objects() {
    return live;
}

}  // namespace loop_verbs

using namespace loop_verbs;

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
    if (count != nullptr) {
        *count = 1;
    }
    return new ibv_device* [2] { the_device(), nullptr };
}
void ibv_free_device_list(ibv_device** list) {
    delete[] list;
}

ibv_context* ibv_open_device(ibv_device* device) {
    auto* context = made(new ibv_context{});
    context->device = device;
    context->num_comp_vectors = 1;
    context->ops.poll_cq = poll_cq;
    context->ops.req_notify_cq = req_notify_cq;
    context->ops.post_send = post_send;
    context->ops.post_recv = post_recv;
    context->ops.post_srq_recv = post_srq_recv;
    return context;
}
int ibv_close_device(ibv_context* context) {
    return gone(context);
}

int ibv_query_device(ibv_context* /*context*/, ibv_device_attr* attr) {
    *attr = {};
    attr->phys_port_cnt = 1;
    attr->max_cqe = 1 << 20;
    attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = 16;
    attr->atomic_cap = IBV_ATOMIC_HCA;
    return 0;
}

int ibv_query_port(ibv_context* /*context*/, std::uint8_t /*port*/, _compat_ibv_port_attr* out) {
    // The caller passes an ibv_port_attr, which begins with the older structure.
    ibv_port_attr attr{};
    attr.state = IBV_PORT_ACTIVE;
    attr.max_mtu = attr.active_mtu = IBV_MTU_4096;
    attr.gid_tbl_len = 1;
    attr.link_layer = IBV_LINK_LAYER_ETHERNET;
    std::memcpy(out, &attr, offsetof(ibv_port_attr, flags));
    return 0;
}

ssize_t _ibv_query_gid_table(ibv_context* /*context*/, ibv_gid_entry* entries, std::size_t max,
                             std::uint32_t /*flags*/, std::size_t /*size*/) {
    if (max == 0) {
        return -EINVAL;
    }
    entries[0] = {};
    entries[0].port_num = 1;
    entries[0].gid_type = IBV_GID_TYPE_ROCE_V2;
    const std::uint8_t loopback[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
    std::memcpy(entries[0].gid.raw, loopback, sizeof loopback);
    return 1;
}

ibv_pd* ibv_alloc_pd(ibv_context* context) {
    auto* pd = made(new ibv_pd{});
    pd->context = context;
    return pd;
}
int ibv_dealloc_pd(ibv_pd* pd) {
    return gone(pd);
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int /*access*/) {
    auto* mr = made(new ibv_mr{});
    mr->context = pd->context;
    mr->pd = pd;
    mr->addr = address;
    mr->length = length;
    const std::unique_lock lock(tables);
    mr->lkey = mr->rkey = next_number++;
    regions[mr->rkey] = {reinterpret_cast<std::uintptr_t>(address), length};
    return mr;
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t /*iova*/,
                         unsigned access) {
    return ibv_reg_mr(pd, address, length, static_cast<int>(access));
}
int ibv_dereg_mr(ibv_mr* mr) {
    const std::unique_lock lock(tables);
    regions.erase(mr->rkey);
    return gone(mr);
}

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
    auto* channel = made(new Channel{});
    channel->context = context;
    channel->fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    return channel;
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
    close(channel->fd);
    return gone(static_cast<Channel*>(channel));
}
int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** context) {
    eventfd_t one = 0;
    if (eventfd_read(channel->fd, &one) != 0) {
        return -1;
    }
    *cq = static_cast<Channel*>(channel)->cq;
    *context = (*cq)->cq_context;
    return 0;
}
void ibv_ack_cq_events(ibv_cq* /*cq*/, unsigned /*count*/) {}

ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                      int /*vector*/) {
    auto* cq = made(new Cq{});
    cq->context = context;
    cq->cqe = cqe;
    cq->cq_context = cq_context;
    cq->channel = channel;
    if (channel != nullptr) {
        static_cast<Channel*>(channel)->cq = cq;
    }
    return cq;
}
int ibv_destroy_cq(ibv_cq* cq) {
    return gone(static_cast<Cq*>(cq));
}

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* /*attr*/) {
    auto* srq = made(new Srq{});
    srq->context = pd->context;
    srq->pd = pd;
    return srq;
}
int ibv_destroy_srq(ibv_srq* srq) {
    return gone(static_cast<Srq*>(srq));
}

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
    auto* qp = made(new Qp{});
    qp->context = pd->context;
    qp->pd = pd;
    qp->send_cq = attr->send_cq;
    qp->recv_cq = attr->recv_cq;
    qp->srq = attr->srq;
    qp->qp_type = attr->qp_type;
    qp->receives = attr->srq != nullptr ? &static_cast<Srq*>(attr->srq)->receives : &qp->own;
    attr->cap.max_inline_data = 0;
    const std::unique_lock lock(tables);
    qp->qp_num = next_number++;
    qps[qp->qp_num] = qp;
    return qp;
}
int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
    if ((mask & IBV_QP_DEST_QPN) != 0) {
        static_cast<Qp*>(qp)->destination = attr->dest_qp_num;
    }
    qp->state = attr->qp_state;
    return 0;
}
int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int /*mask*/, ibv_qp_init_attr* /*init*/) {
    attr->qp_state = static_cast<Qp*>(qp)->failed ? IBV_QPS_ERR : qp->state;
    return 0;
}
int ibv_destroy_qp(ibv_qp* qp) {
    const std::unique_lock lock(tables);
    qps.erase(qp->qp_num);
    return gone(static_cast<Qp*>(qp));
}

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* /*attr*/) {
    auto* ah = made(new ibv_ah{});
    ah->context = pd->context;
    ah->pd = pd;
    return ah;
}
int ibv_destroy_ah(ibv_ah* ah) {
    return gone(ah);
}

}  // extern "C"
