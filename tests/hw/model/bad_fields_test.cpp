// SPDX-License-Identifier: BSD-2-Clause
//
// Every command rejects every invalid field, reports its offset, and changes nothing.
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <sstream>

#include "two_cards.h"

namespace dingo::test {
namespace {

/// Commands that would succeed, and helpers that make one field invalid.
class BadFields : public testing::Test {
  protected:
    BadFields() {
        d.start();
        d.enable_port();
        d.set_ipv4(0, 0x0a4d0001);
        cq = d.create_cq();
    }

    /// Writes `value` of `size` bytes at `offset` of `command` and expects BAD_FIELD with that
    /// offset (or `detail`).
    template <typename Command>
    void expect_bad(std::uint16_t opcode, Command command, std::size_t offset, std::size_t size,
                    std::uint64_t value, std::optional<std::size_t> detail = std::nullopt) {
        std::memcpy(reinterpret_cast<std::byte*>(&command) + offset, &value, size);
        const auto completion = d.execute(opcode, command);
        EXPECT_EQ(completion.status, DINGO_ST_BAD_FIELD + 0u)
            << "opcode " << opcode << " offset " << offset << " value " << value;
        EXPECT_EQ(completion.detail, detail.value_or(offset))
            << "opcode " << opcode << " offset " << offset << " value " << value;
    }
    /// Checks each byte of a reserved range.
    template <typename Command>
    void expect_reserved(std::uint16_t opcode, const Command& command, std::size_t offset,
                         std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
            expect_bad(opcode, command, offset + i, 1, 1, offset);
        }
    }
    /// Checks all fields of a ring's struct mem.
    template <typename Command>
    void expect_ring(std::uint16_t opcode, const Command& command, std::size_t at) {
        expect_bad(opcode, command, at + offsetof(dingo_mem, addr), 8,
                   0xFFFF'FFFF'FFFF'FFC0);  // wraps
        expect_bad(opcode, command, at + offsetof(dingo_mem, addr), 8,
                   card.host.alloc(4096) + 8);  // misaligned
        expect_bad(opcode, command, at + offsetof(dingo_mem, offset), 4, 64);
        expect_bad(opcode, command, at + offsetof(dingo_mem, levels), 1, 3);
        expect_bad(opcode, command, at + offsetof(dingo_mem, levels), 1, 1,
                   at + offsetof(dingo_mem, page_shift));
        expect_bad(opcode, command, at + offsetof(dingo_mem, page_shift), 1, 12);
        expect_bad(opcode, command, at + offsetof(dingo_mem, rsvd), 2, 1);
        Command listed = command;
        dingo_mem mem{};
        mem.addr = card.host.alloc(4096);
        mem.levels = 1;
        for (const int shift : {0, 11, 31, 255}) {
            mem.page_shift = static_cast<std::uint8_t>(shift);
            std::memcpy(reinterpret_cast<std::byte*>(&listed) + at, &mem, sizeof mem);
            expect_bad(opcode, listed, at + offsetof(dingo_mem, page_shift), 1,
                       static_cast<std::uint64_t>(shift));
        }
        mem.page_shift = 12;
        card.host.store<std::uint64_t>(mem.addr, 0x1001);  // a misaligned page
        std::memcpy(reinterpret_cast<std::byte*>(&listed) + at, &mem, sizeof mem);
        auto completion = d.execute(opcode, listed);
        EXPECT_EQ(completion.status, DINGO_ST_BAD_FIELD + 0u);
        EXPECT_EQ(completion.detail, at);
        mem.addr = 0x10000;  // an unmapped list
        std::memcpy(reinterpret_cast<std::byte*>(&listed) + at, &mem, sizeof mem);
        EXPECT_EQ(d.execute(opcode, listed).status, DINGO_ST_BUS_ERROR + 0u);
    }
    template <typename Command>
    std::uint32_t status(std::uint16_t opcode, const Command& command) {
        return d.execute(opcode, command).status;
    }

    OneCard card;
    TestDriver& d = card.driver;
    Cq cq;
};

TEST_F(BadFields, QueryDevice) {
    dingo_cmd_query_device cmd{};
    cmd.out_addr = card.host.alloc(4096);
    cmd.out_len = 128;
    expect_bad(DINGO_OP_QUERY_DEVICE, cmd, 8, 8, cmd.out_addr + 4);
    expect_reserved(DINGO_OP_QUERY_DEVICE, cmd, 20, 4);
}

TEST_F(BadFields, QueryStats) {
    dingo_cmd_query_stats cmd{};
    cmd.out_addr = card.host.alloc(4096);
    cmd.out_len = 16;
    expect_bad(DINGO_OP_QUERY_STATS, cmd, 8, 8, cmd.out_addr + 1);
    expect_bad(DINGO_OP_QUERY_STATS, cmd, 16, 4, 12);
    expect_bad(DINGO_OP_QUERY_STATS, cmd, 20, 4, 2);
    expect_bad(DINGO_OP_QUERY_STATS, cmd, 24, 4, 1);
    expect_reserved(DINGO_OP_QUERY_STATS, cmd, 28, 4);
    EXPECT_EQ(d.execute(DINGO_OP_QUERY_STATS, cmd).result[0], 16u);
    cmd.scope = 1;
    cmd.id = 77;
    EXPECT_EQ(status(DINGO_OP_QUERY_STATS, cmd), DINGO_ST_BAD_ID + 0u);
}

TEST_F(BadFields, Compute) {
    expect_reserved(DINGO_OP_QUERY_COMPUTE, dingo_cmd_query_compute{}, 12, 4);
    dingo_cmd_set_compute cmd{};
    cmd.qpn = d.create_qp(cq, cq).qpn;
    cmd.kernel = DINGO_KERNEL_DLRM;
    cmd.param = 10;
    expect_bad(DINGO_OP_SET_COMPUTE, cmd, 12, 4, 3);
    expect_bad(DINGO_OP_SET_COMPUTE, cmd, 16, 4, 0);
    expect_bad(DINGO_OP_SET_COMPUTE, cmd, 20, 4, 2);
    expect_reserved(DINGO_OP_SET_COMPUTE, cmd, 24, 8);
    EXPECT_EQ(status(DINGO_OP_SET_COMPUTE, cmd), DINGO_ST_OK + 0u);
}

TEST_F(BadFields, Multicast) {
    QpOptions datagram;
    datagram.kind = DINGO_QPT_UD;
    for (const std::uint16_t opcode : {DINGO_OP_ATTACH_MCAST, DINGO_OP_DETACH_MCAST}) {
        dingo_cmd_mcast cmd{};
        cmd.qpn = d.create_qp(cq, cq, datagram).qpn;
        cmd.gid[0] = 0xff;
        expect_bad(opcode, cmd, 8, 4, d.create_qp(cq, cq).qpn);
        expect_reserved(opcode, cmd, 12, 4);
        expect_bad(opcode, cmd, 16, 1, 0xfe);
        cmd.qpn ^= 1u << DINGO_QPN_INDEX_BITS;
        EXPECT_EQ(status(opcode, cmd), DINGO_ST_BAD_ID + 0u);
    }
    dingo_cmd_create_qp qp{};
    qp.qpn = DINGO_QPN_MCAST;
    qp.kind = DINGO_QPT_UD;
    expect_bad(DINGO_OP_CREATE_QP, qp, 8, 4, DINGO_QPN_MCAST);
}

TEST_F(BadFields, SetPort) {
    dingo_cmd_set_port cmd{};
    cmd.mtu = 1500;
    expect_bad(DINGO_OP_SET_PORT, cmd, 8, 4, 8);
    expect_bad(DINGO_OP_SET_PORT, cmd, 12, 4, DINGO_MIN_MTU - 1);
    expect_bad(DINGO_OP_SET_PORT, cmd, 12, 4, DINGO_MAX_MTU + 1);
}

TEST_F(BadFields, SetMac) {
    dingo_cmd_set_mac cmd{};
    cmd.index = 1;
    cmd.valid = 1;
    cmd.mac[0] = 2;
    expect_bad(DINGO_OP_SET_MAC, cmd, 8, 4, DINGO_MAC_TABLE);
    expect_bad(DINGO_OP_SET_MAC, cmd, 12, 1, 2);
    expect_reserved(DINGO_OP_SET_MAC, cmd, 13, 1);
    expect_bad(DINGO_OP_SET_MAC, cmd, 14, 6, 0);
    expect_reserved(DINGO_OP_SET_MAC, cmd, 20, 4);
    cmd.index = 0;
    // the port's own address must not be a group address
    expect_bad(DINGO_OP_SET_MAC, cmd, 14, 1, 1);
}

TEST_F(BadFields, SetGid) {
    dingo_cmd_set_gid cmd{};
    cmd.index = 3;
    cmd.valid = 1;
    cmd.mac[0] = 2;
    cmd.vlan = 100;
    cmd.gid[0] = 0xfd;
    expect_bad(DINGO_OP_SET_GID, cmd, 8, 4, 256);
    expect_bad(DINGO_OP_SET_GID, cmd, 12, 1, 2);
    expect_reserved(DINGO_OP_SET_GID, cmd, 13, 1);
    expect_bad(DINGO_OP_SET_GID, cmd, 14, 6, 0);
    expect_bad(DINGO_OP_SET_GID, cmd, 14, 1, 1);
    expect_bad(DINGO_OP_SET_GID, cmd, 20, 2, 4095);
    cmd.domain = 9;
    expect_bad(DINGO_OP_SET_GID, cmd, 24, 1, 0);
    cmd.valid = 0;
    expect_bad(DINGO_OP_SET_GID, cmd, 22, 2, 1);
}

TEST_F(BadFields, CreateEq) {
    dingo_cmd_create_eq cmd{};
    cmd.eqn = 5;
    cmd.log_size = 4;
    cmd.ring.addr = card.host.alloc(4096);
    expect_bad(DINGO_OP_CREATE_EQ, cmd, 8, 4, d.query_limits().max_eq);
    expect_bad(DINGO_OP_CREATE_EQ, cmd, 12, 2, d.read32(DINGO_REG_VECTORS));
    expect_bad(DINGO_OP_CREATE_EQ, cmd, 14, 1, DINGO_MAX_LOG_EQ + 1);
    expect_bad(DINGO_OP_CREATE_EQ, cmd, 14, 1, 255);
    expect_bad(DINGO_OP_CREATE_EQ, cmd, 15, 1, 2);
    expect_ring(DINGO_OP_CREATE_EQ, cmd, 16);
    expect_reserved(DINGO_OP_CREATE_EQ, cmd, 32, 8);
    cmd.flags = DINGO_CMD_CREATE_EQ_FLAGS_ASYNC_MASK;
    EXPECT_EQ(status(DINGO_OP_CREATE_EQ, cmd), DINGO_ST_IN_USE + 0u);  // one exists already
    cmd.flags = 0;
    EXPECT_EQ(status(DINGO_OP_CREATE_EQ, cmd), DINGO_ST_OK + 0u);
    EXPECT_EQ(status(DINGO_OP_CREATE_EQ, cmd), DINGO_ST_IN_USE + 0u);
}

TEST_F(BadFields, CreateCq) {
    dingo_cmd_create_cq cmd{};
    cmd.cqn = 50;
    cmd.eqn = 1;
    cmd.log_size = 4;
    cmd.ring.addr = card.host.alloc(4096);
    expect_bad(DINGO_OP_CREATE_CQ, cmd, 8, 4, EngineConfig{}.max_cq);
    expect_bad(DINGO_OP_CREATE_CQ, cmd, 16, 4, d.read32(DINGO_REG_DB_PAGES));
    expect_bad(DINGO_OP_CREATE_CQ, cmd, 20, 1, DINGO_MAX_LOG_CQ + 1);
    expect_bad(DINGO_OP_CREATE_CQ, cmd, 21, 1, 1);
    expect_reserved(DINGO_OP_CREATE_CQ, cmd, 22, 2);
    expect_ring(DINGO_OP_CREATE_CQ, cmd, 24);
    expect_reserved(DINGO_OP_CREATE_CQ, cmd, 40, 8);
    cmd.eqn = 99;
    EXPECT_EQ(status(DINGO_OP_CREATE_CQ, cmd), DINGO_ST_BAD_ID + 0u);
    cmd.eqn = 1;
    EXPECT_EQ(status(DINGO_OP_CREATE_CQ, cmd), DINGO_ST_OK + 0u);
    EXPECT_EQ(status(DINGO_OP_CREATE_CQ, cmd), DINGO_ST_IN_USE + 0u);
}

TEST_F(BadFields, ResizeCq) {
    dingo_cmd_create_cq cmd{};
    cmd.cqn = cq.cqn;
    cmd.log_size = 4;
    cmd.ring.addr = card.host.alloc(4096);
    expect_bad(DINGO_OP_RESIZE_CQ, cmd, 12, 4, 1);
    expect_bad(DINGO_OP_RESIZE_CQ, cmd, 16, 4, 1);
    expect_bad(DINGO_OP_RESIZE_CQ, cmd, 20, 1, DINGO_MAX_LOG_CQ + 1);
    expect_bad(DINGO_OP_RESIZE_CQ, cmd, 21, 1, 1);
    expect_reserved(DINGO_OP_RESIZE_CQ, cmd, 22, 2);
    expect_ring(DINGO_OP_RESIZE_CQ, cmd, 24);
    expect_reserved(DINGO_OP_RESIZE_CQ, cmd, 40, 8);
    cmd.cqn = 1234;
    EXPECT_EQ(status(DINGO_OP_RESIZE_CQ, cmd), DINGO_ST_BAD_ID + 0u);
}

TEST_F(BadFields, ModifyCq) {
    dingo_cmd_modify_cq cmd{};
    cmd.cqn = cq.cqn;
    cmd.count = cmd.period = 0xFFFF;
    expect_reserved(DINGO_OP_MODIFY_CQ, cmd, 16, 8);
    EXPECT_EQ(status(DINGO_OP_MODIFY_CQ, cmd), DINGO_ST_OK + 0u);
    cmd.cqn = 1234;
    EXPECT_EQ(status(DINGO_OP_MODIFY_CQ, cmd), DINGO_ST_BAD_ID + 0u);
}

TEST_F(BadFields, CreateMr) {
    dingo_cmd_create_mr cmd{};
    cmd.key = d.next_key();
    cmd.pdn = 1;
    cmd.access = DINGO_ACC_LOCAL_WRITE;
    cmd.mem.addr = card.host.alloc(8192);
    cmd.iova = cmd.mem.addr;
    cmd.length = 8192;
    expect_bad(DINGO_OP_CREATE_MR, cmd, 12, 4, d.query_limits().max_pd);
    expect_bad(DINGO_OP_CREATE_MR, cmd, 16, 4, 0x20);                    // ZERO_BASED
    expect_bad(DINGO_OP_CREATE_MR, cmd, 16, 4, 0x40);                    // unknown
    expect_bad(DINGO_OP_CREATE_MR, cmd, 16, 4, DINGO_ACC_REMOTE_WRITE);  // without local write
    expect_bad(DINGO_OP_CREATE_MR, cmd, 16, 4, DINGO_ACC_REMOTE_ATOMIC);
    expect_bad(DINGO_OP_CREATE_MR, cmd, 20, 1, 5);
    expect_reserved(DINGO_OP_CREATE_MR, cmd, 21, 3);
    expect_bad(DINGO_OP_CREATE_MR, cmd, 24, 8, ~0ull - 8000);  // bus range wraps
    expect_bad(DINGO_OP_CREATE_MR, cmd, 32, 4, 1);             // offset without a page size
    expect_bad(DINGO_OP_CREATE_MR, cmd, 36, 1, 3);
    expect_bad(DINGO_OP_CREATE_MR, cmd, 37, 1, 12);
    expect_reserved(DINGO_OP_CREATE_MR, cmd, 38, 2);
    expect_bad(DINGO_OP_CREATE_MR, cmd, 40, 8, ~0ull - 8190);  // iova + length > 2^64
    expect_bad(DINGO_OP_CREATE_MR, cmd, 48, 8, 0);             // a key to nothing or everything
    expect_bad(DINGO_OP_CREATE_MR, cmd, 48, 8, d.query_limits().max_mr_size + 1);
    expect_bad(DINGO_OP_CREATE_MR, cmd, 48, 8, ~0ull);
    expect_bad(DINGO_OP_CREATE_MR, cmd, 56, 4, 1);
    expect_reserved(DINGO_OP_CREATE_MR, cmd, 60, 4);
    cmd.iova = ~0ull - 8191;  // ends exactly at 2^64
    EXPECT_EQ(status(DINGO_OP_CREATE_MR, cmd), DINGO_ST_OK + 0u);
    EXPECT_EQ(status(DINGO_OP_CREATE_MR, cmd), DINGO_ST_IN_USE + 0u);
    cmd.key ^= 1;  // another tag, same index
    EXPECT_EQ(status(DINGO_OP_CREATE_MR, cmd), DINGO_ST_IN_USE + 0u);
}

TEST_F(BadFields, CreateMrOfOtherKinds) {
    for (const int kind : {DINGO_MRT_PHYS, DINGO_MRT_FRWR, DINGO_MRT_MW1, DINGO_MRT_MW2}) {
        dingo_cmd_create_mr cmd{};
        cmd.key = d.next_key();
        cmd.kind = static_cast<std::uint8_t>(kind);
        const bool window = kind >= DINGO_MRT_MW1;
        cmd.length = window ? 0 : 1ull << 20;
        expect_bad(DINGO_OP_CREATE_MR, cmd, 16, 4, window ? 1u : 0x20u);
        expect_bad(DINGO_OP_CREATE_MR, cmd, 24, 8, 4096);
        expect_bad(DINGO_OP_CREATE_MR, cmd, 36, 1, 1);
        expect_bad(DINGO_OP_CREATE_MR, cmd, 40, 8, 1);
        expect_bad(DINGO_OP_CREATE_MR, cmd, 48, 8, window ? 1 : 0);
        if (kind == DINGO_MRT_FRWR) {
            expect_bad(DINGO_OP_CREATE_MR, cmd, 48, 8, 4097);
            expect_bad(DINGO_OP_CREATE_MR, cmd, 48, 8,
                       (d.query_limits().max_frwr_pages + 1ull) << 12);
        }
        EXPECT_EQ(status(DINGO_OP_CREATE_MR, cmd), DINGO_ST_OK + 0u) << kind;
    }
}

TEST_F(BadFields, MrIndexBeyondTheLimit) {
    EngineConfig config;
    config.max_mr = 16;
    OneCard small("model", config);
    small.driver.start();
    dingo_cmd_create_mr cmd{};
    cmd.key = 16u << DINGO_MR_INDEX_SHIFT;
    cmd.kind = DINGO_MRT_MW1;
    auto completion = small.driver.execute(DINGO_OP_CREATE_MR, cmd);
    EXPECT_EQ(completion.status, DINGO_ST_BAD_FIELD + 0u);
    EXPECT_EQ(completion.detail, 8u);
    cmd.key = 15u << DINGO_MR_INDEX_SHIFT;
    EXPECT_EQ(small.driver.execute(DINGO_OP_CREATE_MR, cmd).status, DINGO_ST_OK + 0u);
}

TEST_F(BadFields, ReregMr) {
    const Mr mr = d.create_mr(8192, DINGO_ACC_LOCAL_WRITE);
    dingo_cmd_create_mr cmd{};
    cmd.key = mr.key ^ 0x55;
    cmd.old_key = mr.key;
    cmd.pdn = 2;
    cmd.access = DINGO_ACC_LOCAL_WRITE;
    cmd.mem.addr = mr.bus;
    cmd.iova = 0;
    cmd.length = 4096;
    expect_bad(DINGO_OP_REREG_MR, cmd, 8, 4, mr.key + (1u << DINGO_MR_INDEX_SHIFT));
    expect_bad(DINGO_OP_REREG_MR, cmd, 20, 1, DINGO_MRT_PHYS);
    expect_bad(DINGO_OP_REREG_MR, cmd, 48, 8, 0);
    expect_reserved(DINGO_OP_REREG_MR, cmd, 60, 4);
    cmd.old_key ^= 1;
    EXPECT_EQ(status(DINGO_OP_REREG_MR, cmd), DINGO_ST_BAD_ID + 0u);
    const Mr window = d.create_key(DINGO_MRT_MW1);
    cmd.old_key = window.key;
    cmd.key = window.key;
    EXPECT_EQ(status(DINGO_OP_REREG_MR, cmd), DINGO_ST_BAD_STATE + 0u);
    EXPECT_EQ(d.destroy(DINGO_OP_PAUSE_MR, window.key).status, DINGO_ST_BAD_STATE + 0u);
}

TEST_F(BadFields, CreateQp) {
    dingo_cmd_create_qp cmd{};
    cmd.qpn = 0x33 << 16 | 9;
    cmd.pdn = 1;
    cmd.send_cqn = cq.cqn;
    cmd.recv_cqn = cq.cqn;
    cmd.srqn = DINGO_INVALID_ID;
    cmd.db_page = 1;
    cmd.kind = DINGO_QPT_RC;
    cmd.log_sq = 4;
    cmd.log_rq = 4;
    cmd.log_rq_stride = 6;
    cmd.sq.addr = card.host.alloc(4096);
    cmd.rq.addr = card.host.alloc(4096);
    expect_bad(DINGO_OP_CREATE_QP, cmd, 8, 4, 0);            // index 0
    expect_bad(DINGO_OP_CREATE_QP, cmd, 8, 4, 1);            // GSI's number with type RC
    expect_bad(DINGO_OP_CREATE_QP, cmd, 8, 4, 0x0100'0009);  // 25 bits
    expect_bad(DINGO_OP_CREATE_QP, cmd, 8, 4, EngineConfig{}.max_qp + 2);
    expect_bad(DINGO_OP_CREATE_QP, cmd, 12, 4, d.query_limits().max_pd);
    expect_bad(DINGO_OP_CREATE_QP, cmd, 28, 4, d.read32(DINGO_REG_DB_PAGES));
    expect_bad(DINGO_OP_CREATE_QP, cmd, 32, 1, 0);
    expect_bad(DINGO_OP_CREATE_QP, cmd, 32, 1, 5);
    expect_bad(DINGO_OP_CREATE_QP, cmd, 32, 1, DINGO_QPT_GSI, 8);
    expect_bad(DINGO_OP_CREATE_QP, cmd, 33, 1, 4);
    expect_bad(DINGO_OP_CREATE_QP, cmd, 34, 1, DINGO_MAX_LOG_SQ + 1);
    expect_bad(DINGO_OP_CREATE_QP, cmd, 35, 1, DINGO_MAX_LOG_RQ + 1);
    expect_bad(DINGO_OP_CREATE_QP, cmd, 36, 1, 4);
    expect_bad(DINGO_OP_CREATE_QP, cmd, 36, 1, 9);
    expect_reserved(DINGO_OP_CREATE_QP, cmd, 37, 3);
    expect_ring(DINGO_OP_CREATE_QP, cmd, 40);
    expect_ring(DINGO_OP_CREATE_QP, cmd, 56);
    expect_bad(DINGO_OP_CREATE_QP, cmd, 72, 4, d.read32(DINGO_REG_DB_PAGES));
    cmd.domain = 0xffff;
    expect_reserved(DINGO_OP_CREATE_QP, cmd, 78, 2);
    for (const std::size_t offset : {16, 20, 24}) {
        auto other = cmd;
        const std::uint32_t number = 4000;
        std::memcpy(reinterpret_cast<std::byte*>(&other) + offset, &number, 4);
        EXPECT_EQ(status(DINGO_OP_CREATE_QP, other),
                  (offset == 24 ? DINGO_ST_BAD_FIELD : DINGO_ST_BAD_ID) + 0u);
    }
    auto with_srq = cmd;
    with_srq.srqn = d.create_srq().srqn;
    expect_bad(DINGO_OP_CREATE_QP, with_srq, 35, 1, 4, 35);
    with_srq.log_rq = 0;
    expect_bad(DINGO_OP_CREATE_QP, with_srq, 36, 1, 6, 36);
    with_srq.log_rq_stride = 0;
    expect_bad(DINGO_OP_CREATE_QP, with_srq, 56, 8, 4096, 56);
    with_srq.rq.addr = 0;
    with_srq.qpn += 1;
    EXPECT_EQ(status(DINGO_OP_CREATE_QP, with_srq), DINGO_ST_OK + 0u);
    with_srq.qpn += 1;
    with_srq.srqn = 999;
    EXPECT_EQ(status(DINGO_OP_CREATE_QP, with_srq), DINGO_ST_BAD_ID + 0u);

    EXPECT_EQ(status(DINGO_OP_CREATE_QP, cmd), DINGO_ST_OK + 0u);
    EXPECT_EQ(status(DINGO_OP_CREATE_QP, cmd), DINGO_ST_IN_USE + 0u);
    cmd.qpn ^= 0xFF << 16;  // another tag, same index
    EXPECT_EQ(status(DINGO_OP_CREATE_QP, cmd), DINGO_ST_IN_USE + 0u);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_QP, cmd.qpn).status, DINGO_ST_BAD_ID + 0u);
}

TEST_F(BadFields, QueryQp) {
    const TestQp qp = d.create_qp(cq, cq);
    dingo_cmd_query_qp cmd{};
    cmd.qpn = qp.qpn;
    cmd.out_addr = card.host.alloc(4096);
    expect_bad(DINGO_OP_QUERY_QP, cmd, 8, 8, cmd.out_addr + 2);
    expect_reserved(DINGO_OP_QUERY_QP, cmd, 20, 4);
    cmd.out_addr = 0x8000;
    EXPECT_EQ(status(DINGO_OP_QUERY_QP, cmd), DINGO_ST_BUS_ERROR + 0u);
    cmd.qpn ^= 1u << 20;
    EXPECT_EQ(status(DINGO_OP_QUERY_QP, cmd), DINGO_ST_BAD_ID + 0u);
}

TEST_F(BadFields, Srq) {
    dingo_cmd_create_srq cmd{};
    cmd.srqn = 7;
    cmd.pdn = 1;
    cmd.db_page = 1;
    cmd.log_size = 4;
    cmd.log_stride = 6;
    cmd.ring.addr = card.host.alloc(4096);
    expect_bad(DINGO_OP_CREATE_SRQ, cmd, 8, 4, EngineConfig{}.max_srq);
    expect_bad(DINGO_OP_CREATE_SRQ, cmd, 12, 4, d.query_limits().max_pd);
    expect_bad(DINGO_OP_CREATE_SRQ, cmd, 16, 4, d.read32(DINGO_REG_DB_PAGES));
    expect_bad(DINGO_OP_CREATE_SRQ, cmd, 20, 1, DINGO_MAX_LOG_RQ + 1);
    expect_bad(DINGO_OP_CREATE_SRQ, cmd, 21, 1, 4);
    expect_bad(DINGO_OP_CREATE_SRQ, cmd, 21, 1, 9);
    expect_reserved(DINGO_OP_CREATE_SRQ, cmd, 22, 2);
    expect_ring(DINGO_OP_CREATE_SRQ, cmd, 24);
    const std::uint64_t bytes = std::uint64_t{1} << (cmd.log_size + cmd.log_stride);
    expect_bad(DINGO_OP_CREATE_SRQ, cmd, 24, 8, 0 - bytes + 64);
    auto last = cmd;  // may end with the last byte of the address space
    last.srqn = 8;
    last.ring.addr = 0 - bytes;
    EXPECT_EQ(status(DINGO_OP_CREATE_SRQ, last), DINGO_ST_OK + 0u);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_SRQ, 8).status, DINGO_ST_OK + 0u);
    expect_bad(DINGO_OP_CREATE_SRQ, cmd, 40, 4, 17);
    expect_reserved(DINGO_OP_CREATE_SRQ, cmd, 44, 4);
    EXPECT_EQ(status(DINGO_OP_CREATE_SRQ, cmd), DINGO_ST_OK + 0u);
    EXPECT_EQ(status(DINGO_OP_CREATE_SRQ, cmd), DINGO_ST_IN_USE + 0u);
    dingo_cmd_modify_srq modify{};
    modify.srqn = 7;
    expect_bad(DINGO_OP_MODIFY_SRQ, modify, 12, 4, 17);
    modify.srqn = 8;
    EXPECT_EQ(status(DINGO_OP_MODIFY_SRQ, modify), DINGO_ST_BAD_ID + 0u);
}

TEST_F(BadFields, CreateEth) {
    dingo_cmd_create_eth cmd{};
    cmd.kind = DINGO_ETH_TX;
    cmd.log_size = 4;
    cmd.cqn = cq.cqn;
    cmd.mem.addr = card.host.alloc(4096);
    expect_bad(DINGO_OP_CREATE_ETH, cmd, 8, 1, 0);
    expect_bad(DINGO_OP_CREATE_ETH, cmd, 8, 1, 3);
    expect_bad(DINGO_OP_CREATE_ETH, cmd, 9, 1, d.query_limits().max_eth_rings);
    expect_bad(DINGO_OP_CREATE_ETH, cmd, 10, 1, DINGO_MAX_LOG_ETH + 1);
    expect_reserved(DINGO_OP_CREATE_ETH, cmd, 11, 1);
    expect_ring(DINGO_OP_CREATE_ETH, cmd, 16);
    expect_reserved(DINGO_OP_CREATE_ETH, cmd, 32, 8);
    cmd.cqn = 1000;
    EXPECT_EQ(status(DINGO_OP_CREATE_ETH, cmd), DINGO_ST_BAD_ID + 0u);
    cmd.cqn = cq.cqn;
    EXPECT_EQ(status(DINGO_OP_CREATE_ETH, cmd), DINGO_ST_OK + 0u);
    EXPECT_EQ(status(DINGO_OP_CREATE_ETH, cmd), DINGO_ST_IN_USE + 0u);
}

TEST_F(BadFields, DestroyCommandsOfNothing) {
    for (const int opcode :
         {DINGO_OP_DESTROY_EQ, DINGO_OP_DESTROY_CQ, DINGO_OP_DESTROY_MR, DINGO_OP_PAUSE_MR,
          DINGO_OP_DESTROY_QP, DINGO_OP_DESTROY_SRQ, DINGO_OP_QUERY_SRQ, DINGO_OP_DESTROY_ETH}) {
        dingo_cmd_destroy cmd{};
        for (const std::uint32_t id : {100u, 0xFFFFu, 0x10000u, 0xFF'FFFFu, 0xFFFF'FFFFu}) {
            cmd.id = id;
            EXPECT_EQ(status(static_cast<std::uint16_t>(opcode), cmd), DINGO_ST_BAD_ID + 0u)
                << opcode << " " << id;
        }
        expect_reserved(static_cast<std::uint16_t>(opcode), cmd, 12, 4);
    }
}

TEST_F(BadFields, ObjectsInUseAreBusyUntilTheLastUserIsGone) {
    const Cq other = d.create_cq();
    const Srq srq = d.create_srq();
    QpOptions options;
    options.srqn = srq.srqn;
    const TestQp qp = d.create_qp(other, other, options);
    const EthRing eth = d.create_eth(DINGO_ETH_TX, 2, other);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_CQ, other.cqn).status, DINGO_ST_BUSY + 0u);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_SRQ, srq.srqn).status, DINGO_ST_BUSY + 0u);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_EQ, 1).status, DINGO_ST_BUSY + 0u);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_QP, qp.qpn).status, DINGO_ST_OK + 0u);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_SRQ, srq.srqn).status, DINGO_ST_OK + 0u);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_CQ, other.cqn).status, DINGO_ST_BUSY + 0u);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_ETH, std::uint32_t{eth.kind} << 24 | eth.number).status,
              DINGO_ST_OK + 0u);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_CQ, other.cqn).status, DINGO_ST_OK + 0u);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_CQ, cq.cqn).status, DINGO_ST_OK + 0u);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_EQ, 1).status, DINGO_ST_OK + 0u);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_EQ, 0).status, DINGO_ST_OK + 0u);
}

}  // namespace
}  // namespace dingo::test
