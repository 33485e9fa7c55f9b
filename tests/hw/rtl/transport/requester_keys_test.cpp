// SPDX-License-Identifier: BSD-2-Clause
//
// LOCAL_INV, BIND_MW and REG_MR at the requester: requests to dingo_mr_work, when they are made and
// when they complete; SEND with invalidate.
#include "requester_fixture.h"

namespace dingo::rtl {
namespace {

enum : std::uint8_t { kInvalidate = 0, kBind = 1, kRegister = 2 };  // rtl_pkg::mrw_op_t

class RequesterKeys : public Requester {
  protected:
    void invalidate(std::uint32_t key, std::uint8_t flags = DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK) {
        b.begin(DINGO_WR_LOCAL_INV, flags, key);
        b.post(kQp);
    }
    void bind(std::uint32_t key) {
        b.begin(DINGO_WR_BIND_MW);
        dingo_wqe_bind request{};
        request.mw_key = key;
        request.new_key = key + 1;
        request.length = 64;
        b.put(16, request);
        b.post(kQp);
    }
    // Counts for dingo_req_settle: packets received, packets whose bytes are in memory; READ
    // response payloads ordered, and read.
    void come(unsigned packets) { pulse(b.dut.flow_rx_in_i, packets); }
    void end(unsigned packets) { pulse(b.dut.flow_rx_out_i, packets); }
    void order_read() { pulse(b.dut.flow_tx_in_i, 1); }
    void read_done() { pulse(b.dut.flow_tx_out_i, 1); }

  private:
    template <typename Signal>
    void pulse(Signal& signal, unsigned times) {
        for (unsigned i = 0; i < times; ++i) {
            signal = 1;
            b.tick();
            signal = 0;
            b.tick();
        }
    }
};

TEST_F(RequesterKeys, AreAskedOfTheTableWithWhatTheWqeSays) {
    config.privileged = true;
    start();
    invalidate(0x1234'5678);
    b.begin(DINGO_WR_BIND_MW);
    for (std::size_t i = 16; i < 48; ++i)
        b.raw[i] = static_cast<std::uint8_t>(i);
    b.post(kQp);
    b.begin(DINGO_WR_REG_MR);
    dingo_wqe_reg reg{};
    reg.iova = 0x1122334455667788;
    reg.page_shift = 30;
    b.put(16, reg);
    b.post(kQp);
    go();
    ASSERT_EQ(b.works.size(), 3U);
    EXPECT_EQ(b.works[0].op, kInvalidate);
    EXPECT_EQ(b.works[0].key, 0x1234'5678U);
    EXPECT_EQ(b.works[1].op, kBind);
    EXPECT_EQ(b.works[1].body[0], 16);
    EXPECT_EQ(b.works[1].body[31], 47);
    EXPECT_EQ(b.works[2].op, kRegister);
    EXPECT_EQ(b.works[2].body[0], 0x88);
    EXPECT_EQ(b.works[2].body[36], 30);
    for (const TestKeyWork& work : b.works) {
        EXPECT_EQ(work.qp, kQp);
        EXPECT_EQ(work.pdn, 7);
        EXPECT_TRUE(work.privileged);
    }
    ASSERT_EQ(b.cqes.size(), 3U);
    expect_cqe(0, 0, DINGO_WR_LOCAL_INV);
    expect_cqe(1, 1, DINGO_WR_BIND_MW);
    expect_cqe(2, 2, DINGO_WR_REG_MR);
    EXPECT_TRUE(b.packets.empty());
}

TEST_F(RequesterKeys, RefusalFailsTheWorkRequestAndTheQueuePair) {
    start();
    send(10);
    bind(0x10000);
    send(10);
    b.work_verr = DINGO_VERR_KEY_BOUNDS;
    go();
    EXPECT_EQ(b.packets.size(), 1U);
    EXPECT_TRUE(b.cqes.empty()) << "those before it complete first";
    b.ack(kQp, psn(0));
    b.settle();
    ASSERT_EQ(b.cqes.size(), 3U);
    expect_cqe(0, 0, DINGO_WR_SEND);
    expect_cqe(1, 1, DINGO_WR_BIND_MW, DINGO_WCS_MW_BIND_ERR, DINGO_VERR_KEY_BOUNDS);
    expect_cqe(2, 2, DINGO_WR_SEND, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    EXPECT_EQ(b.qps[kQp].state, DINGO_QPS_ERR);
}

TEST_F(RequesterKeys, BindingDoesNotWaitForWhatIsSentBeforeItAndInvalidationDoes) {
    start();
    send(10);
    bind(0x10000);
    send(10);
    invalidate(0x10001);
    send(10);
    go();
    EXPECT_EQ(b.packets.size(), 2U);
    ASSERT_EQ(b.works.size(), 1U);
    EXPECT_EQ(b.works[0].op, kBind);
    b.ack(kQp, psn(0));
    b.settle();
    EXPECT_EQ(b.cqes.size(), 2U);
    EXPECT_EQ(b.works.size(), 1U);
    b.ack(kQp, psn(1));
    b.settle();
    ASSERT_EQ(b.works.size(), 2U);
    EXPECT_EQ(b.works[1].op, kInvalidate);
    EXPECT_EQ(b.packets.size(), 3U);
    ASSERT_EQ(b.cqes.size(), 4U);
    expect_cqe(3, 3, DINGO_WR_LOCAL_INV);
}

TEST_F(RequesterKeys, FencedInvalidationWaitsForReads) {
    start();
    read(0, 100);
    invalidate(0x10001, DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK | DINGO_WQE_CTRL_FLAGS_FENCE_MASK);
    go();
    EXPECT_TRUE(b.works.empty());
    b.respond({kQp, 0x10, psn(0), 0x1F, std::vector<std::uint8_t>(100, 1)});
    b.settle();
    EXPECT_EQ(b.works.size(), 1U);
    ASSERT_EQ(b.cqes.size(), 2U);
    expect_cqe(1, 1, DINGO_WR_LOCAL_INV);
}

TEST_F(RequesterKeys, FencedBindWaitsForReadsAndOneWithoutFenceDoesNot) {
    start();
    read(0, 100);
    bind(0x10000);
    b.begin(DINGO_WR_BIND_MW, DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK | DINGO_WQE_CTRL_FLAGS_FENCE_MASK);
    b.post(kQp);
    go();
    EXPECT_EQ(b.works.size(), 1U);
    b.respond({kQp, 0x10, psn(0), 0x1F, std::vector<std::uint8_t>(100, 1)});
    b.settle();
    EXPECT_EQ(b.works.size(), 2U);
    EXPECT_EQ(b.cqes.size(), 3U);
}

TEST_F(RequesterKeys, CompletesWhenPacketsThatHadTheKeyAreInMemory) {
    start();
    come(3);
    end(1);
    b.work_under_way = true;
    invalidate(0x10001);
    send(10);
    b.ring(kQp);
    b.run(600);
    EXPECT_EQ(b.works.size(), 1U);
    EXPECT_FALSE(b.dut.idle_o) << "a command waits for it";
    come(5);  // later packets: LOCAL_INV does not wait for them
    end(1);
    b.ring(kQp);  // a turn of the QP meanwhile changes nothing
    b.run(600);
    EXPECT_TRUE(b.cqes.empty());
    EXPECT_TRUE(b.packets.empty());
    end(1);
    b.settle();
    EXPECT_EQ(b.works.size(), 1U) << "it is asked once";
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_LOCAL_INV);
    EXPECT_EQ(b.packets.size(), 1U);
}

TEST_F(RequesterKeys, CompletesWhenReadResponsesThatHadTheKeyWereRead) {
    start();
    order_read();
    order_read();
    read_done();
    b.dut.flow_tx_open_i = 1;  // another response has found its key; its order is still to come
    b.work_under_way = true;
    invalidate(0x10001);
    b.ring(kQp);
    b.run(600);
    read_done();
    b.run(100);
    EXPECT_TRUE(b.cqes.empty());
    order_read();
    b.dut.flow_tx_open_i = 0;
    b.run(100);
    order_read();  // looked its key up after the invalidation: not waited for
    b.run(100);
    EXPECT_TRUE(b.cqes.empty());
    read_done();
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_LOCAL_INV);
}

// A READ request has found its key before the invalidation; its response opens later and is waited
// for, too.
TEST_F(RequesterKeys, CompletesWhenReadsThatWereOnTheirWayWereRead) {
    start();
    come(1);
    b.work_under_way = true;
    invalidate(0x10001);
    b.ring(kQp);
    b.run(600);
    b.dut.flow_tx_open_i = 1;
    end(1);
    b.run(100);
    EXPECT_TRUE(b.cqes.empty());
    order_read();
    b.dut.flow_tx_open_i = 0;
    b.run(100);
    EXPECT_TRUE(b.cqes.empty());
    read_done();
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_LOCAL_INV);
}

TEST_F(RequesterKeys, ManyQueuePairsWaitAndOthersSendMeanwhile) {
    constexpr unsigned kMany = 14;
    const std::uint16_t other = 2 + kMany;
    for (std::uint16_t qp = 2; qp <= other; ++qp) {
        TestQp each = config;
        each.sq = each.ring = 0x60000 + 0x1000 * qp;
        b.create(qp, each);
    }
    b.work_under_way = true;
    come(1);
    for (std::uint16_t qp = 2; qp < other; ++qp) {
        b.begin(DINGO_WR_LOCAL_INV, DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK, qp);
        b.post(qp);
        b.ring(qp);
    }
    b.begin(DINGO_WR_SEND);
    b.sges({sge(0, 10)});
    b.post(other);
    b.ring(other);
    b.run(3000);
    EXPECT_TRUE(b.cqes.empty());
    EXPECT_EQ(b.packets.size(), 1U);
    end(1);
    b.settle();
    EXPECT_EQ(b.cqes.size(), kMany);
    EXPECT_EQ(b.works.size(), kMany);
}

TEST_F(RequesterKeys, QueuePairThatFailsWhileItWaitsFlushesTheWorkRequest) {
    start();
    come(1);
    b.work_under_way = true;
    invalidate(0x10001);
    b.ring(kQp);
    b.run(600);
    b.dut.fail_valid_i = 1;
    b.dut.fail_qp_i = kQp;
    b.qps[kQp].state = DINGO_QPS_ERR;
    b.tick();
    b.run(600);
    end(1);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_LOCAL_INV, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    b.work_under_way = false;
    b.cqes.clear();
    b.qps[kQp].posted = 0;
    start();
    invalidate(0x10001);
    go();
    EXPECT_EQ(b.works.size(), 2U);
    expect_cqe(0, 0, DINGO_WR_LOCAL_INV);
}

TEST_F(RequesterKeys, SendWithInvalidateNamesTheKeyInItsLastPacket) {
    start();
    for (const std::uint32_t length : {10U, 300U, 0U}) {
        b.begin(DINGO_WR_SEND_INV, DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK, 0x04030201);
        b.sges({sge(0, length)});
        b.post(kQp);
    }
    go();
    std::vector<unsigned> opcodes;
    for (const TestPacket& p : b.packets)
        opcodes.push_back(p.opcode);
    EXPECT_EQ(opcodes, (std::vector<unsigned>{0x17, 0x00, 0x16, 0x17}));
    for (const std::size_t i : {0, 2, 3})
        EXPECT_EQ(b.packets[i].imm, 0x01020304U) << "a number, in network order";
    b.ack(kQp, psn(3));
    b.settle();
    ASSERT_EQ(b.cqes.size(), 3U);
    expect_cqe(0, 0, DINGO_WR_SEND_INV);
}

TEST_F(RequesterKeys, OfUcAreTheOwnKeysOnlyAndOfDatagramsNone) {
    for (const std::uint8_t kind : {DINGO_QPT_UC, DINGO_QPT_UD}) {
        for (const std::uint8_t opcode :
             {DINGO_WR_LOCAL_INV, DINGO_WR_BIND_MW, DINGO_WR_SEND_INV}) {
            b.cqes.clear();
            b.works.clear();
            config.kind = kind;
            config.timeout = 0;
            start();
            b.begin(opcode);
            b.post(kQp);
            go();
            const bool ok = kind == DINGO_QPT_UC && opcode != DINGO_WR_SEND_INV;
            EXPECT_EQ(b.works.size(), ok ? 1U : 0U);
            expect_cqe(0, 0, opcode, ok ? 0 : DINGO_WCS_LOC_QP_OP_ERR,
                       ok ? 0 : DINGO_VERR_WQE_OPCODE);
        }
    }
}

}  // namespace
}  // namespace dingo::rtl
