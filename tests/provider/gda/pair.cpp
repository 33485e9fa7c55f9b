// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "pair.h"

#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "launch.h"

namespace gda {
namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                        IBV_ACCESS_REMOTE_ATOMIC;

ibv_device* card(bool last) {
    ibv_device** const list = ibv_get_device_list(nullptr);
    ibv_device* found = nullptr;
    for (ibv_device** d = list; d != nullptr && *d != nullptr; ++d)
        if (dingodv_is_supported(*d) && (last || found == nullptr))
            found = *d;
    ibv_free_device_list(list);
    need(found != nullptr, "no Dingo card here: dingo run --card");
    return found;
}

void modify(ibv_qp* qp, ibv_qp_attr& attr, int mask, const char* state) {
    errno = ibv_modify_qp(qp, &attr, mask);
    need(errno == 0, std::string("ibv_modify_qp to ") + state);
}

void connect_one(ibv_qp* qp, const Side& side, std::uint32_t to, const ibv_gid& gid,
                 std::uint8_t retries) {
    ibv_port_attr port{};
    need(ibv_query_port(side.context.get(), 1, &port) == 0, "ibv_query_port");
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = kAccess;
    modify(qp, attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = to;
    attr.max_dest_rd_atomic = 16;
    attr.min_rnr_timer = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.dgid = gid;
    attr.ah_attr.grh.sgid_index = side.gid_index;
    attr.ah_attr.grh.hop_limit = 64;
    modify(qp, attr,
           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
           "RTR");
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 14;
    attr.retry_cnt = retries;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = 16;
    modify(qp, attr,
           IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
               IBV_QP_MAX_QP_RD_ATOMIC,
           "RTS");
}

void* host_memory(std::size_t bytes) {
    void* const at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(at != MAP_FAILED, "mmap");
    return at;
}

void to_reset(ibv_qp* qp) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RESET;
    modify(qp, attr, IBV_QP_STATE, "RESET");
}

}  // namespace

void need(bool ok, const std::string& step) {
    if (!ok)
        throw std::runtime_error(step + ": " + std::strerror(errno) + " " + dingo_gda_error());
}

Side::Side(ibv_device* device) : context(ibv_open_device(device)) {
    need(context != nullptr, "ibv_open_device");
    pd.reset(ibv_alloc_pd(context.get()));
    need(pd != nullptr, "ibv_alloc_pd");
    std::array<ibv_gid_entry, 64> table{};
    const ssize_t n = ibv_query_gid_table(context.get(), table.data(), table.size(), 0);
    for (ssize_t i = 0; i < n; ++i) {
        if (table[i].gid_type == IBV_GID_TYPE_ROCE_V2) {
            gid = table[i].gid;
            gid_index = static_cast<std::uint8_t>(table[i].gid_index);
        }
    }
}

Buffer::Buffer(const Side& side, std::size_t bytes, bool of_host)
    : at(static_cast<std::uint8_t*>(of_host ? host_memory(bytes) : device_memory(bytes))),
      mr(ibv_reg_mr(side.pd.get(), at, bytes, kAccess)) {
    need(mr != nullptr, "ibv_reg_mr");
}

Pair::Pair(const Options& options)
    : a(card(false)), b(card(true)), device(dingo_gda_open(device_kind(), 0)), options_(options) {
    need(device != nullptr, "dingo_gda_open");
    peer_cq.reset(ibv_create_cq(b.context.get(), 64, nullptr, nullptr, 0));
    need(peer_cq != nullptr, "ibv_create_cq");
    for (std::uint32_t i = 0; i < options.qps; ++i) {
        dingo_gda_qp_attr attr{};
        attr.pd = a.pd.get();
        attr.qp_type = IBV_QPT_RC;
        attr.max_send_wr = options.depth;
        attr.max_inline = options.max_inline;
        queues.emplace_back(dingo_gda_create(device.get(), &attr));
        need(queues.back() != nullptr, "dingo_gda_create");
        ibv_qp_init_attr init{};
        init.send_cq = init.recv_cq = peer_cq.get();
        init.qp_type = IBV_QPT_RC;
        init.cap = {1, 16, 1, 1, 0};
        peers.emplace_back(ibv_create_qp(b.pd.get(), &init));
        need(peers.back() != nullptr, "ibv_create_qp");
        connect(i);
    }
}

void Pair::connect(std::size_t i) {
    ibv_qp* const mine = dingo_gda_ibv_qp(queues[i].get());
    connect_one(peers[i].get(), b, mine->qp_num, a.gid, options_.retries);
    connect_one(mine, a, peers[i]->qp_num, b.gid, options_.retries);
}

void Pair::reconnect(std::size_t i) {
    to_reset(peers[i].get());
    to_reset(dingo_gda_ibv_qp(queues[i].get()));
    need((errno = dingo_gda_reset(queues[i].get())) == 0, "dingo_gda_reset");
    connect(i);
}

}  // namespace gda
