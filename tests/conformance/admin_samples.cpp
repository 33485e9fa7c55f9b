// SPDX-License-Identifier: BSD-2-Clause
#include "admin_samples.h"

#include <span>

#include "pair.h"

namespace dingo::conformance {
namespace {

template <typename Command>
Sample sample(std::uint16_t opcode, Command command) {
    command.hdr.opcode = opcode;
    const auto bytes = std::as_bytes(std::span(&command, 1));
    return {opcode, sizeof command, {bytes.begin(), bytes.end()}};
}

}  // namespace

std::vector<Sample> admin_samples(test::TestHost& host, std::uint64_t capabilities) {
    const std::uint64_t memory = host.alloc(1u << 16);
    std::vector<Sample> list;
    dingo_cmd_query_device device{};
    device.out_addr = memory;
    device.out_len = sizeof(dingo_limits);
    list.push_back(sample(DINGO_OP_QUERY_DEVICE, device));
    dingo_cmd_query_stats stats{};
    stats.out_addr = memory;
    stats.out_len = 512;
    list.push_back(sample(DINGO_OP_QUERY_STATS, stats));
    dingo_cmd_set_port port{};
    port.flags = DINGO_CMD_SET_PORT_FLAGS_ENABLE_MASK;
    port.mtu = 1500;
    list.push_back(sample(DINGO_OP_SET_PORT, port));
    dingo_cmd_set_mac mac{};
    mac.index = 3;
    mac.valid = 1;
    mac.mac[0] = 2;
    list.push_back(sample(DINGO_OP_SET_MAC, mac));
    dingo_cmd_set_gid gid{};
    gid.index = 7;
    gid.valid = 1;
    gid.mac[0] = 2;
    gid.vlan = DINGO_VLAN_NONE;
    gid.gid[0] = 0xfd;
    list.push_back(sample(DINGO_OP_SET_GID, gid));
    dingo_cmd_create_eq eq{};
    eq.eqn = 9;
    eq.vector = 1;
    eq.log_size = 2;
    eq.ring.addr = memory;
    list.push_back(sample(DINGO_OP_CREATE_EQ, eq));
    dingo_cmd_create_cq cq{};
    cq.cqn = 9;
    cq.eqn = 1;
    cq.log_size = 2;
    cq.ring.addr = memory;
    list.push_back(sample(DINGO_OP_CREATE_CQ, cq));
    dingo_cmd_modify_cq moderation{};
    moderation.cqn = cq.cqn;
    moderation.count = 16;
    moderation.period = 50;
    if ((capabilities & DINGO_CAP_CQ_MODERATION) != 0)
        list.push_back(sample(DINGO_OP_MODIFY_CQ, moderation));
    dingo_cmd_create_mr mr{};
    mr.key = 0x00091234;
    mr.pdn = 1;
    mr.access = kAllAccess;
    mr.mem.addr = memory;
    mr.iova = 0x1000;
    mr.length = 4096;
    list.push_back(sample(DINGO_OP_CREATE_MR, mr));
    dingo_cmd_create_qp qp{};
    qp.qpn = 0x10009;
    qp.pdn = 1;
    qp.send_cqn = qp.recv_cqn = 9;
    qp.srqn = DINGO_INVALID_ID;
    qp.kind = DINGO_QPT_RC;
    qp.log_sq = qp.log_rq = 2;
    qp.log_rq_stride = 5;
    qp.sq.addr = qp.rq.addr = memory;
    list.push_back(sample(DINGO_OP_CREATE_QP, qp));
    dingo_cmd_query_qp query{};
    query.qpn = qp.qpn;
    query.out_addr = memory;
    list.push_back(sample(DINGO_OP_QUERY_QP, query));
    dingo_cmd_create_srq srq{};
    srq.srqn = 9;
    srq.pdn = 1;
    srq.log_size = 2;
    srq.log_stride = 5;
    srq.ring.addr = memory;
    if ((capabilities & DINGO_CAP_SRQ) != 0)
        list.push_back(sample(DINGO_OP_CREATE_SRQ, srq));
    if ((capabilities & DINGO_CAP_COMPUTE) != 0) {
        dingo_cmd_query_compute kernel{};
        kernel.index = DINGO_KERNEL_DLRM;
        list.push_back(sample(DINGO_OP_QUERY_COMPUTE, kernel));
        dingo_cmd_set_compute compute{};
        compute.qpn = qp.qpn;
        compute.kernel = DINGO_KERNEL_DLRM;
        compute.param = 8192;
        list.push_back(sample(DINGO_OP_SET_COMPUTE, compute));
    }
    if ((capabilities & DINGO_CAP_SHARE_INDEXES) != 0) {
        dingo_cmd_share_indexes share{};
        share.qpn = qp.qpn;
        share.addr = memory + 4096;
        list.push_back(sample(DINGO_OP_SHARE_INDEXES, share));
    }
    if ((capabilities & DINGO_CAP_MCAST) != 0) {
        qp.qpn = 0x1000a;
        qp.kind = DINGO_QPT_UD;
        list.push_back(sample(DINGO_OP_CREATE_QP, qp));
        dingo_cmd_mcast group{};
        group.qpn = qp.qpn;
        group.gid[0] = 0xff;
        list.push_back(sample(DINGO_OP_ATTACH_MCAST, group));
        list.push_back(sample(DINGO_OP_DETACH_MCAST, group));
    }
    if ((capabilities & DINGO_CAP_ETH_RSS) != 0) {
        dingo_cmd_set_rss rss{};
        rss.enable = 1;
        rss.key[0] = 1;
        rss.rings[63] = 1;
        list.push_back(sample(DINGO_OP_SET_RSS, rss));
    }
    return list;
}

}  // namespace dingo::conformance
