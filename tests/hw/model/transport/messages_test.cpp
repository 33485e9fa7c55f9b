// SPDX-License-Identifier: BSD-2-Clause
//
// Every kind of RC message, every PMTU, the sizes around packet limits, both IP versions.
#include <array>
#include <set>

#include "fixture.h"

namespace dingo::test {
namespace {

struct Shape {
    std::uint8_t path_mtu;
    unsigned gid_index;
};

class RcMessages : public Connected, public ::testing::WithParamInterface<Shape> {
  protected:
    std::vector<std::uint32_t> sizes;

    void SetUp() override {
        const std::uint32_t pmtu = pmtu_of(GetParam().path_mtu);
        sizes = {
            0,         1, 3, 4, pmtu - 1, pmtu, pmtu + 1, 2 * pmtu - 1, 2 * pmtu, 7 * pmtu + 13,
            300 * pmtu};
        TwoCards::ConnectOptions options;
        options.path.path_mtu = GetParam().path_mtu;
        options.gid_index = GetParam().gid_index;
        options.start_psn = {0xFFFFF0, 0xFFFFFE};  // wraps soon
        connect(options);
    }
};

TEST_P(RcMessages, WriteArrivesWhole) {
    for (const std::uint32_t size : sizes) {
        fill(0, 64, size, size);
        run(rdma(DINGO_WR_WRITE, 64, 128, size));
        EXPECT_TRUE(same(64, 128, size)) << size;
    }
}

TEST_P(RcMessages, WriteTouchesNothingBeside) {
    fill(0, 0, 4096);
    run(rdma(DINGO_WR_WRITE, 0, 4096, 1001));
    EXPECT_EQ(memory(1, 4095, 1)[0], std::byte{0});
    EXPECT_EQ(memory(1, 4096 + 1001, 1)[0], std::byte{0});
}

TEST_P(RcMessages, WriteWithImmediateConsumesOneReceive) {
    for (const std::uint32_t size : sizes) {
        driver(1).post_recv(qp(1), size, {});
        fill(0, 0, size, size);
        SendWr wr = rdma(DINGO_WR_WRITE_IMM, 0, 0, size);
        wr.imm = 0xCAFE0000 + size;
        run(wr);
        const dingo_cqe cqe = wait(1);
        EXPECT_EQ(cqe_opcode(cqe), DINGO_WC_RECV_WRITE_IMM);
        EXPECT_EQ(cqe.wqe_index, size);
        EXPECT_EQ(cqe.byte_len, size);
        EXPECT_EQ(__builtin_bswap32(cqe.imm), 0xCAFE0000 + size);
        EXPECT_TRUE(same(0, 0, size));
    }
}

TEST_P(RcMessages, SendFillsTheReceiveBuffer) {
    for (const std::uint32_t size : sizes) {
        driver(1).post_recv(qp(1), size + 1, {mr[1].sge(8, size + 5)});
        fill(0, 0, size, size);
        SendWr wr = send_wr(0, size);
        wr.flags |= DINGO_WQE_CTRL_FLAGS_SOLICITED_MASK;
        run(wr);
        const dingo_cqe cqe = wait(1);
        EXPECT_EQ(cqe_opcode(cqe), DINGO_WC_RECV);
        EXPECT_EQ(cqe.status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(cqe.wqe_index, size + 1);
        EXPECT_EQ(cqe.byte_len, size);
        EXPECT_EQ(cqe.flags, DINGO_CQE_FLAGS_SOLICITED_MASK);
        EXPECT_EQ(cqe_qpn(cqe), qp(1).qpn);
        EXPECT_TRUE(same(0, 8, size));
    }
}

TEST_P(RcMessages, SendWithImmediate) {
    driver(1).post_recv(qp(1), 9, {mr[1].sge(0, 4096)});
    SendWr wr = send_wr(0, 100);
    wr.opcode = DINGO_WR_SEND_IMM;
    wr.imm = 0x01020304;
    run(wr);
    const dingo_cqe cqe = wait(1);
    EXPECT_EQ(cqe_opcode(cqe), DINGO_WC_RECV_IMM);
    EXPECT_EQ(cqe.flags, DINGO_CQE_FLAGS_IMM_MASK);
    std::array<std::uint8_t, 4> wire{};
    std::memcpy(wire.data(), &cqe.imm, 4);
    EXPECT_EQ(wire, (std::array<std::uint8_t, 4>{1, 2, 3, 4}));
}

TEST_P(RcMessages, ReadFetchesTheRemoteBytes) {
    for (const std::uint32_t size : sizes) {
        fill(1, 64, size, size + 1);
        const dingo_cqe cqe = run(rdma(DINGO_WR_READ, 0, 64, size));
        EXPECT_EQ(cqe_opcode(cqe), DINGO_WR_READ);
        EXPECT_EQ(cqe.byte_len, size);
        EXPECT_TRUE(same(0, 64, size)) << size;
    }
}

TEST_P(RcMessages, ScatterAndGatherOfManyEntries) {
    const std::uint32_t pmtu = pmtu_of(GetParam().path_mtu);
    SendWr wr = rdma(DINGO_WR_WRITE, 0, 0, 0);
    wr.sges.clear();
    std::vector<dingo_sge> receive;
    std::uint32_t total = 0;
    for (std::uint32_t i = 0; i < DINGO_SQ_MAX_SGE; ++i) {
        const std::uint32_t bytes = i == 4 ? 0 : i * (pmtu / 4) + i;
        fill(0, i * 64 * 1024, bytes, i);
        wr.sges.push_back(mr[0].sge(i * 64 * 1024, bytes));
        receive.push_back(mr[1].sge((14 - i) * 64 * 1024, bytes + 1));
        total += bytes;
    }
    wr.sges[4].lkey = 0xDEAD;  // an empty entry needs no key
    run(wr);
    std::uint32_t at = 0;
    for (std::uint32_t i = 0; i < DINGO_SQ_MAX_SGE; ++i) {
        EXPECT_TRUE(same(i * 64 * 1024, at, wr.sges[i].length)) << i;
        at += wr.sges[i].length;
    }
    driver(1).post_recv(qp(1), 1, receive);
    wr.opcode = DINGO_WR_SEND;
    wr.raddr = 0;
    wr.rkey = 0;
    run(wr);
    EXPECT_EQ(wait(1).byte_len, total);
    wr.opcode = DINGO_WR_READ;
    wr.raddr = mr[1].iova;
    wr.rkey = mr[1].key;
    EXPECT_EQ(run(wr).byte_len, total);
}

TEST_P(RcMessages, InlineDataIsInTheWqe) {
    for (const std::uint32_t size : {0U, 1U, 32U, 33U, 96U, 480U}) {
        SendWr wr = rdma(DINGO_WR_WRITE, 0, 0, 0);
        wr.sges.clear();
        wr.force_inline = true;
        for (std::uint32_t i = 0; i < size; ++i)
            wr.inline_data.push_back(packet::pattern_byte(i + size));
        run(wr);
        if (size > 0) {
            EXPECT_EQ(std::memcmp(memory(1, 0, size).data(), wr.inline_data.data(), size), 0)
                << size;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Pmtu, RcMessages,
                         ::testing::Values(Shape{1, 0}, Shape{2, 0}, Shape{3, 0}, Shape{4, 0},
                                           Shape{5, 0}, Shape{3, 1}, Shape{5, 1}),
                         [](const auto& param_info) {
                             return std::to_string(pmtu_of(param_info.param.path_mtu)) +
                                    (param_info.param.gid_index == 0 ? "v4" : "v6");
                         });

class RcOperations : public Connected {};

TEST_F(RcOperations, AtomicsReturnTheOldValue) {
    connect();
    const auto value = [&] { return cards.host(1).load<std::uint64_t>(mr[1].bus + 64); };
    const auto old = [&] { return cards.host(0).load<std::uint64_t>(mr[0].bus); };
    cards.host(1).store<std::uint64_t>(mr[1].bus + 64, 0x1122334455667788);
    EXPECT_EQ(run(atomic(DINGO_WR_FETCH_ADD, 64, 0x10)).byte_len, 8U);
    EXPECT_EQ(old(), 0x1122334455667788U);
    EXPECT_EQ(value(), 0x1122334455667798U);
    run(atomic(DINGO_WR_CMP_SWAP, 64, 7, 0x1122334455667798));
    EXPECT_EQ(old(), 0x1122334455667798U);
    EXPECT_EQ(value(), 7U);
    run(atomic(DINGO_WR_CMP_SWAP, 64, 9, 8));
    EXPECT_EQ(old(), 7U);
    EXPECT_EQ(value(), 7U);
}

TEST_F(RcOperations, CompletionsComeInOrderOfPosting) {
    connect();
    std::vector<std::uint32_t> posted;
    for (int i = 0; i < 8; ++i) {
        posted.push_back(driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 5000), false));
        posted.push_back(driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 8192, 0, 5000), false));
        posted.push_back(driver(0).post_send(qp(0), atomic(DINGO_WR_FETCH_ADD, 8, 1), false));
    }
    driver(0).ring_sq(qp(0));
    for (const std::uint32_t index : posted) {
        const dingo_cqe cqe = wait();
        EXPECT_EQ(cqe.status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(cqe.wqe_index, index);
    }
}

TEST_F(RcOperations, UnsignaledSuccessMakesNoCompletion) {
    connect();
    SendWr quiet = rdma(DINGO_WR_WRITE, 0, 0, 10);
    quiet.flags = 0;
    driver(0).post_send(qp(0), quiet);
    driver(0).post_send(qp(0), quiet);
    const std::uint32_t loud = driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 10));
    EXPECT_EQ(wait().wqe_index, loud);
    EXPECT_FALSE(poll());
}

TEST_F(RcOperations, FenceWaitsForTheRead) {
    connect();
    bool read_done = false;
    cards.link.tap = [&](const Frame& frame) {
        const auto packet = parse_frame(frame);
        if (frame.from == 0 && packet && packet->op().is_write()) {
            EXPECT_TRUE(read_done);
        }
        if (frame.from == 1 && packet && packet->op().is_read_response() && packet->op().last)
            read_done = true;
    };
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 100'000), false);
    SendWr fenced = rdma(DINGO_WR_WRITE, 0, 0, 8);
    fenced.flags |= DINGO_WQE_CTRL_FLAGS_FENCE_MASK;
    driver(0).post_send(qp(0), fenced);
    EXPECT_EQ(wait().status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(wait().status, DINGO_WCS_SUCCESS);
}

TEST_F(RcOperations, NoMoreReadsAtOnceThanAgreed) {
    TwoCards::ConnectOptions options;
    options.path.max_rd_atomic = 2;
    connect(options);
    int outstanding = 0;
    int most = 0;
    cards.link.tap = [&](const Frame& frame) {
        const auto packet = parse_frame(frame);
        if (packet && packet->op().is_read_request())
            most = std::max(most, ++outstanding);
        if (packet && packet->op().is_read_response() && packet->op().last)
            --outstanding;
    };
    for (int i = 0; i < 8; ++i)
        driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 10'000), i == 7);
    for (int i = 0; i < 8; ++i)
        EXPECT_EQ(wait().status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(most, 2);
}

TEST_F(RcOperations, RingWrapsManyTimesWithWqesOfAllSizes) {
    TwoCards::ConnectOptions options;
    options.qp.log_sq = 4;
    connect(options);
    for (std::uint32_t i = 0; i < 200; ++i) {
        SendWr wr = rdma(DINGO_WR_WRITE, 0, 0, 0);
        wr.sges.clear();
        for (std::uint32_t k = 0; k < i % 480 + 1; ++k)
            wr.inline_data.push_back(packet::pattern_byte(k + i));
        run(wr);
        ASSERT_EQ(std::memcmp(memory(1, 0, wr.inline_data.size()).data(), wr.inline_data.data(),
                              wr.inline_data.size()),
                  0);
    }
}

TEST_F(RcOperations, SharedReceiveQueueServesTwoQps) {
    Srq srq;
    link = cards.connect();
    mr[0] = driver(0).create_mr(kRegion, kAllAccess);
    mr[1] = driver(1).create_mr(kRegion, kAllAccess);
    srq = driver(1).create_srq(6, 6, 1, 2);
    QpOptions with_srq;
    with_srq.srqn = srq.srqn;
    with_srq.log_rq = with_srq.log_stride = 0;
    std::array<TestQp, 2> senders;
    for (TestQp& sender : senders) {
        sender = driver(0).create_qp(link.cq[0], link.cq[0]);
        TestQp receiver = driver(1).create_qp(link.cq[1], link.cq[1], with_srq);
        auto path = cards.path_to(1, receiver.qpn);
        driver(0).to_init(sender, path);
        driver(0).to_rtr(sender, path);
        driver(0).to_rts(sender, path);
        path = cards.path_to(0, sender.qpn);
        driver(1).to_init(receiver, path);
        driver(1).to_rtr(receiver, path);
        driver(1).to_rts(receiver, path);
    }
    for (std::uint32_t tag = 0; tag < 4; ++tag)
        driver(1).post_recv(srq, tag, {mr[1].sge(tag * 4096, 4096)});
    for (std::uint32_t tag = 0; tag < 4; ++tag) {
        driver(0).post_send(senders[tag % 2], send_wr(0, 3000));
        EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
        const dingo_cqe cqe = wait(1);
        EXPECT_EQ(cqe.wqe_index, tag);
        EXPECT_EQ(cqe.byte_len, 3000U);
    }
    int limit_events = 0;
    while (const auto entry = event(1))
        if (entry->kind == DINGO_EV_SRQ_LIMIT && entry->id == srq.srqn)
            ++limit_events;
    EXPECT_EQ(limit_events, 1);
}

// There is one path only, which is the migrated one.
TEST_F(RcOperations, EveryPacketSaysThatThePathHasMigrated) {
    connect();
    std::set<packet::Opcode> seen;
    cards.link.tap = [&](const Frame& frame) {
        const auto packet = parse_frame(frame);
        ASSERT_TRUE(packet);
        seen.insert(packet->bth.opcode);
        EXPECT_TRUE(packet->bth.migreq) << packet::name(packet->bth.opcode);
    };
    driver(1).post_recv(qp(1), 1, {mr[1].sge(0, 8192)});
    run(rdma(DINGO_WR_WRITE, 0, 0, 3000));
    run(send_wr(0, 10));
    run(rdma(DINGO_WR_READ, 0, 0, 10));
    run(rdma(DINGO_WR_READ, 0, 0, 3000));
    run(atomic(DINGO_WR_FETCH_ADD, 0, 1));
    EXPECT_EQ(seen.count(packet::Opcode::kRcReadResponseMiddle), 1U);
    EXPECT_EQ(seen.count(packet::Opcode::kRcAtomicAck), 1U);
    EXPECT_EQ(seen.count(packet::Opcode::kRcAck), 1U);
}

}  // namespace
}  // namespace dingo::test
