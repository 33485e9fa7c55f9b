// SPDX-License-Identifier: BSD-2-Clause
//
// TestDriver: creating objects, QP states.
#include <algorithm>

#include "driver.h"

namespace dingo::test {

Eq TestDriver::create_eq(std::uint32_t eqn, unsigned vector, unsigned log_size,
                         std::uint8_t flags) {
    Eq eq;
    eq.eqn = eqn;
    eq.vector = vector;
    eq.log_size = log_size;
    eq.ring = host_.alloc(std::uint64_t{DINGO_EQE_SIZE} << log_size);
    dingo_cmd_create_eq cmd{};
    cmd.eqn = eqn;
    cmd.vector = static_cast<std::uint16_t>(vector);
    cmd.log_size = static_cast<std::uint8_t>(log_size);
    cmd.flags = flags;
    cmd.ring.addr = eq.ring;
    execute_ok(DINGO_OP_CREATE_EQ, cmd);
    return eq;
}

Cq TestDriver::create_cq(unsigned log_size, std::uint32_t eqn, std::uint32_t db_page) {
    Cq cq;
    cq.cqn = next_cq_++;
    cq.log_size = log_size;
    cq.db_page = db_page;
    cq.ring = host_.alloc(std::uint64_t{DINGO_CQE_SIZE} << log_size);
    dingo_cmd_create_cq cmd{};
    cmd.cqn = cq.cqn;
    cmd.eqn = eqn;
    cmd.db_page = db_page;
    cmd.log_size = static_cast<std::uint8_t>(log_size);
    cmd.ring.addr = cq.ring;
    execute_ok(DINGO_OP_CREATE_CQ, cmd);
    return cq;
}

Mr TestDriver::create_mr(std::uint64_t bytes, std::uint32_t access, std::uint32_t pdn,
                         std::optional<std::uint64_t> iova) {
    dingo_mem mem{};
    mem.addr = host_.alloc(bytes);
    Mr mr = create_mr(mem, iova.value_or(mem.addr), bytes, access, pdn);
    mr.bus = mem.addr;
    return mr;
}

Mr TestDriver::create_mr(const dingo_mem& mem, std::uint64_t iova, std::uint64_t length,
                         std::uint32_t access, std::uint32_t pdn) {
    dingo_cmd_create_mr cmd{};
    cmd.key = next_key();
    cmd.pdn = pdn;
    cmd.access = access;
    cmd.kind = DINGO_MRT_MR;
    cmd.mem = mem;
    cmd.iova = iova;
    cmd.length = length;
    execute_ok(DINGO_OP_CREATE_MR, cmd);
    return Mr{cmd.key, iova, length, 0};
}

void TestDriver::move_mr(const Mr& mr, std::uint64_t bus, std::uint32_t access, std::uint32_t pdn) {
    dingo_cmd_create_mr cmd{};
    cmd.key = cmd.old_key = mr.key;
    cmd.pdn = pdn;
    cmd.access = access;
    cmd.mem.addr = bus;
    cmd.iova = mr.iova;
    cmd.length = mr.length;
    execute_ok(DINGO_OP_REREG_MR, cmd);
}

Mr TestDriver::create_key(std::uint8_t kind, std::uint64_t length, std::uint32_t pdn) {
    dingo_cmd_create_mr cmd{};
    cmd.key = next_key();
    cmd.pdn = pdn;
    cmd.kind = kind;
    cmd.length = length;
    execute_ok(DINGO_OP_CREATE_MR, cmd);
    return Mr{cmd.key, 0, length, 0};
}

Srq TestDriver::create_srq(unsigned log_size, unsigned log_stride, std::uint32_t pdn,
                           std::uint32_t limit) {
    Srq srq;
    srq.srqn = next_srq_++;
    srq.log_size = log_size;
    srq.log_stride = log_stride;
    srq.db_page = 1;
    srq.ring = host_.alloc(1ull << (log_size + log_stride));
    dingo_cmd_create_srq cmd{};
    cmd.srqn = srq.srqn;
    cmd.pdn = pdn;
    cmd.db_page = srq.db_page;
    cmd.log_size = static_cast<std::uint8_t>(log_size);
    cmd.log_stride = static_cast<std::uint8_t>(log_stride);
    cmd.ring.addr = srq.ring;
    cmd.limit = limit;
    execute_ok(DINGO_OP_CREATE_SRQ, cmd);
    return srq;
}

TestQp TestDriver::create_qp(const Cq& send_cq, const Cq& recv_cq, const QpOptions& options) {
    const bool own_rq = options.srqn == DINGO_INVALID_ID;
    TestQp qp;
    qp.kind = options.kind;
    if (options.qpn != 0) {
        qp.qpn = options.qpn;
    } else if (options.kind == DINGO_QPT_GSI) {
        qp.qpn = DINGO_QPN_GSI;
    } else {
        const std::uint32_t index = next_qp_++;
        qp.qpn = (index * 37 & 0xff) << DINGO_QPN_INDEX_BITS | index;
    }
    qp.log_sq = options.log_sq;
    qp.db_page = options.db_page;
    qp.sq = host_.alloc(std::uint64_t{DINGO_SQ_BLOCK} << options.log_sq);
    if (own_rq) {
        qp.log_rq = options.log_rq;
        qp.log_stride = options.log_stride;
        qp.rq = host_.alloc(1ull << (options.log_rq + options.log_stride));
    }
    dingo_cmd_create_qp cmd{};
    cmd.qpn = qp.qpn;
    cmd.pdn = options.pdn;
    cmd.send_cqn = send_cq.cqn;
    cmd.recv_cqn = recv_cq.cqn;
    cmd.srqn = options.srqn;
    cmd.db_page = options.db_page;
    cmd.domain = options.domain;
    cmd.kind = options.kind;
    cmd.flags = options.flags;
    cmd.log_sq = static_cast<std::uint8_t>(options.log_sq);
    cmd.log_rq = static_cast<std::uint8_t>(qp.log_rq);
    cmd.log_rq_stride = static_cast<std::uint8_t>(qp.log_stride);
    cmd.sq.addr = qp.sq;
    cmd.rq.addr = qp.rq;
    execute_ok(DINGO_OP_CREATE_QP, cmd);
    return qp;
}

EthRing TestDriver::create_eth(std::uint8_t kind, std::uint8_t number, const Cq& cq,
                               unsigned log_size) {
    EthRing ring;
    ring.kind = kind;
    ring.number = number;
    ring.log_size = log_size;
    ring.ring = host_.alloc(sizeof(dingo_eth_desc) << log_size);
    dingo_cmd_create_eth cmd{};
    cmd.kind = kind;
    cmd.ring = number;
    cmd.log_size = static_cast<std::uint8_t>(log_size);
    cmd.cqn = cq.cqn;
    cmd.mem.addr = ring.ring;
    execute_ok(DINGO_OP_CREATE_ETH, cmd);
    return ring;
}

dingo_mem TestDriver::page_list(const std::vector<std::uint64_t>& pages, unsigned levels,
                                unsigned page_shift, std::uint32_t offset) {
    constexpr std::size_t kLeaf = DINGO_PBL_LEAF_ENTRIES;
    dingo_mem mem{};
    mem.levels = static_cast<std::uint8_t>(levels);
    mem.page_shift = static_cast<std::uint8_t>(page_shift);
    mem.offset = offset;
    if (levels == 1) {
        mem.addr = host_.alloc(pages.size() * 8);
        for (std::size_t i = 0; i < pages.size(); ++i) {
            host_.store(mem.addr + i * 8, pages[i]);
        }
        return mem;
    }
    const std::size_t leaves = (pages.size() + kLeaf - 1) / kLeaf;
    mem.addr = host_.alloc(leaves * 8);
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
        const std::uint64_t addr = host_.alloc(kLeaf * 8);
        host_.store(mem.addr + leaf * 8, addr);
        for (std::size_t i = leaf * kLeaf; i < std::min(pages.size(), (leaf + 1) * kLeaf); ++i) {
            host_.store(addr + i % kLeaf * 8, pages[i]);
        }
    }
    return mem;
}

void TestDriver::modify(const TestQp& qp, std::uint32_t mask, const dingo_cmd_modify_qp& command) {
    dingo_cmd_modify_qp cmd = command;
    cmd.qpn = qp.qpn;
    cmd.mask = mask;
    execute_ok(DINGO_OP_MODIFY_QP, cmd);
}

dingo_admin_cpl TestDriver::multicast(std::uint16_t opcode, std::uint32_t qpn,
                                      const std::array<std::uint8_t, 16>& gid) {
    dingo_cmd_mcast cmd{};
    cmd.qpn = qpn;
    std::ranges::copy(gid, cmd.gid);
    return execute(opcode, cmd);
}

dingo_admin_cpl TestDriver::set_compute(std::uint32_t qpn, std::uint32_t kernel,
                                        std::uint32_t param, std::uint32_t direction) {
    dingo_cmd_set_compute cmd{};
    cmd.qpn = qpn;
    cmd.kernel = kernel;
    cmd.param = param;
    cmd.direction = direction;
    return execute(DINGO_OP_SET_COMPUTE, cmd);
}

dingo_qp_info TestDriver::query_qp(std::uint32_t qpn) {
    if (scratch_ == 0) {
        scratch_ = host_.alloc(4096);
    }
    dingo_cmd_query_qp cmd{};
    cmd.qpn = qpn;
    cmd.out_addr = scratch_;
    execute_ok(DINGO_OP_QUERY_QP, cmd);
    return host_.load<dingo_qp_info>(scratch_);
}

void TestDriver::to_init(const TestQp& qp, const PathOptions& path) {
    dingo_cmd_modify_qp cmd{};
    cmd.next_state = DINGO_QPS_INIT;
    std::uint32_t mask = DINGO_QPM_STATE | DINGO_QPM_PKEY_INDEX;
    cmd.attr.port = 1;
    cmd.attr.qkey = path.qkey;
    cmd.attr.access = path.access;
    mask |= qp.kind == DINGO_QPT_GSI ? 0 : DINGO_QPM_PORT;
    mask |= qp.datagram() ? DINGO_QPM_QKEY : DINGO_QPM_ACCESS;
    modify(qp, mask, cmd);
}

void TestDriver::to_rtr(const TestQp& qp, const PathOptions& path) {
    dingo_cmd_modify_qp cmd{};
    cmd.next_state = DINGO_QPS_RTR;
    std::uint32_t mask = DINGO_QPM_STATE;
    if (!qp.datagram()) {
        mask |= DINGO_QPM_AV | DINGO_QPM_PATH_MTU | DINGO_QPM_DEST_QPN | DINGO_QPM_RQ_PSN;
        std::ranges::copy(path.dgid, cmd.attr.dgid);
        std::ranges::copy(path.dmac, cmd.attr.dmac);
        cmd.attr.sgid_index = path.sgid_index;
        cmd.attr.flow_label = path.flow_label;
        cmd.attr.udp_sport = path.udp_sport;
        cmd.attr.hop_limit = path.hop_limit;
        cmd.attr.tclass = path.tclass;
        cmd.attr.sl = path.sl;
        cmd.attr.path_mtu = path.path_mtu;
        cmd.attr.dest_qpn = path.dest_qpn;
        cmd.attr.rq_psn = path.rq_psn;
    }
    if (qp.kind == DINGO_QPT_RC) {
        mask |= DINGO_QPM_MAX_DEST_RD_ATOMIC | DINGO_QPM_MIN_RNR_TIMER;
        cmd.attr.max_dest_rd_atomic = path.max_rd_atomic;
        cmd.attr.min_rnr_timer = path.min_rnr_timer;
    }
    modify(qp, mask, cmd);
}

void TestDriver::to_rts(const TestQp& qp, const PathOptions& path) {
    dingo_cmd_modify_qp cmd{};
    cmd.next_state = DINGO_QPS_RTS;
    std::uint32_t mask = DINGO_QPM_STATE | DINGO_QPM_SQ_PSN;
    cmd.attr.sq_psn = path.sq_psn;
    if (qp.kind == DINGO_QPT_RC) {
        mask |=
            DINGO_QPM_TIMEOUT | DINGO_QPM_RETRY_CNT | DINGO_QPM_RNR_RETRY | DINGO_QPM_MAX_RD_ATOMIC;
        cmd.attr.timeout = path.timeout;
        cmd.attr.retry_cnt = path.retry_cnt;
        cmd.attr.rnr_retry = path.rnr_retry;
        cmd.attr.max_rd_atomic = path.max_rd_atomic;
    }
    modify(qp, mask, cmd);
}

void TestDriver::bring_up(const TestQp& qp, const PathOptions& path) {
    to_init(qp, path);
    to_rtr(qp, path);
    to_rts(qp, path);
}

void TestDriver::to_state(const TestQp& qp, std::uint8_t state) {
    dingo_cmd_modify_qp cmd{};
    cmd.next_state = state;
    modify(qp, DINGO_QPM_STATE, cmd);
}

}  // namespace dingo::test
