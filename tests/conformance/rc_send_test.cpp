// SPDX-License-Identifier: BSD-2-Clause
//
// SEND end to end.
#include <algorithm>

#include "conformance.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(RcSend);

TEST_P(RcSend, EverySizeAroundThePathMtuArrivesIntact) {
    for (std::uint8_t mtu = 1; mtu <= 5; ++mtu) {
        Pair pair(engine(), PairOptions().mtu(mtu));
        const std::uint32_t bytes = 128u << mtu;
        std::uint32_t tag = 0;
        for (std::uint32_t size : {0u, 1u, bytes - 1, bytes, bytes + 1, 2 * bytes, 5 * bytes + 9}) {
            pair.fill(0, 1, size, size + mtu);
            pair.post_recv(++tag, 3, size + 1);
            EXPECT_EQ(pair.complete(pair.send(1, size)).status, DINGO_WCS_SUCCESS);
            const dingo_cqe cqe = pair.wait(1);
            EXPECT_EQ(cqe.status, DINGO_WCS_SUCCESS);
            EXPECT_EQ(cqe.wqe_index, tag);
            EXPECT_EQ(cqe.byte_len, size);
            EXPECT_EQ(test::cqe_opcode(cqe), DINGO_WC_RECV);
            EXPECT_TRUE(pair.same(1, 3, size));
        }
    }
}

TEST_P(RcSend, ReceivesAreTakenInOrder) {
    Pair pair(engine());
    for (std::uint32_t i = 0; i < 40; ++i)
        pair.post_recv(1000 + i, i * 128, 128);
    for (std::uint32_t i = 0; i < 40; ++i) {
        pair.fill(0, i * 128, 100, i);
        pair.post(pair.send(i * 128, 100));
    }
    for (std::uint32_t i = 0; i < 40; ++i) {
        EXPECT_EQ(pair.wait(1).wqe_index, 1000 + i);
        EXPECT_TRUE(pair.same(i * 128, i * 128, 100));
    }
}

TEST_P(RcSend, ScatterOfFifteenEntriesIncludingEmptyOnes) {
    Pair pair(engine());
    pair.fill(0, 0, 5000, 1);
    std::vector<dingo_sge> sges;
    std::uint32_t total = 0;
    for (unsigned i = 0; i < DINGO_RQ_MAX_SGE; ++i) {
        const std::uint32_t length = i % 3 == 0 ? 0 : i * 29;
        sges.push_back(pair.mr[1].sge(i * 4096, length));
        total += length;
    }
    pair.driver(1).post_recv(pair.qp(1), 5, sges);
    pair.post(pair.send(0, total));
    EXPECT_EQ(pair.wait(1).byte_len, total);
    std::uint32_t at = 0;
    for (unsigned i = 0; i < DINGO_RQ_MAX_SGE; ++i) {
        EXPECT_TRUE(pair.same(at, i * 4096, sges[i].length)) << "entry " << i;
        at += sges[i].length;
    }
}

TEST_P(RcSend, ImmediateDataOfBothKinds) {
    Pair pair(engine());
    for (std::uint32_t size : {4u, 4000u}) {
        pair.post_recv(size, 0, 8192);
        test::SendWr wr = pair.send(0, size);
        wr.opcode = DINGO_WR_SEND_IMM;
        wr.imm = 0x12340000 + size;
        EXPECT_EQ(pair.complete(wr).status, DINGO_WCS_SUCCESS);
        const dingo_cqe cqe = pair.wait(1);
        EXPECT_EQ(test::cqe_opcode(cqe), DINGO_WC_RECV_IMM);
        EXPECT_EQ(__builtin_bswap32(cqe.imm), 0x12340000 + size);
        EXPECT_EQ(cqe.byte_len, size);
    }
}

TEST_P(RcSend, MessageTooLongForTheReceiveFailsBothSides) {
    Pair pair(engine());
    pair.post_recv(1, 0, 99);
    pair.post_recv(2, 0, 99);
    EXPECT_EQ(pair.complete(pair.send(0, 100)).status, DINGO_WCS_REM_INV_REQ_ERR);
    const dingo_cqe cqe = pair.wait(1);
    EXPECT_EQ(cqe.status, DINGO_WCS_LOC_LEN_ERR);
    EXPECT_EQ(cqe.wqe_index, 1u);
    EXPECT_EQ(pair.wait(1).status, DINGO_WCS_WR_FLUSH_ERR);
    EXPECT_EQ(pair.state(0), DINGO_QPS_ERR);
    EXPECT_EQ(pair.state(1), DINGO_QPS_ERR);
    EXPECT_TRUE(
        std::ranges::all_of(pair.bytes(1, 99, 8), [](std::byte b) { return b == std::byte{}; }));
}

TEST_P(RcSend, ToAQpOfTheSameCard) {
    // The frames may loop back inside the card, or leave it and return.
    test::OneCard card(engine());
    test::TestDriver& driver = card.driver;
    driver.start();
    driver.set_ipv4(0, 0x0a4d0001);
    driver.enable_port();
    const test::Cq made = driver.create_cq();
    test::Cq cq = made;
    std::array<test::TestQp, 2> qps = {driver.create_qp(cq, cq), driver.create_qp(cq, cq)};
    for (unsigned i = 0; i < 2; ++i) {
        test::TestDriver::PathOptions path;
        path.dest_qpn = qps[1 - i].qpn;
        path.dgid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 1};
        path.dmac = {0x02, 0x44, 0x49, 0, 0, 1};
        driver.bring_up(qps[i], path);
    }
    const test::Mr mr = driver.create_mr(8192, kAllAccess);
    random_bytes(card.host.bytes(mr.bus, 3000), 1);
    driver.post_recv(qps[1], 9, {mr.sge(4096, 4096)});
    test::SendWr wr;
    wr.sges = {mr.sge(0, 3000)};
    driver.post_send(qps[0], wr);
    for (int i = 0; i < 100; ++i) {
        card.settle();
        if (card.wire.sent.empty())
            break;
        const auto frame = card.wire.sent.front();
        card.wire.sent.pop_front();
        card.receive(frame);
    }
    const auto recv = driver.poll_cq(cq);
    const auto send = driver.poll_cq(cq);
    ASSERT_TRUE(recv && send);
    EXPECT_EQ(recv->byte_len, 3000u);
    EXPECT_EQ(send->status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(
        std::ranges::equal(card.host.bytes(mr.bus, 3000), card.host.bytes(mr.bus + 4096, 3000)));
}

TEST_P(RcSend, ReceiverThatLeavesAtOnceHasAcknowledged) {
    for (const bool destroy : {true, false}) {
        Pair pair(engine(), PairOptions().timeout(8, 1));
        pair.post_recv(5, 0, 4096);
        pair.post(pair.send(0, 100));
        // The receiver sees its completion and closes before the card does anything else.
        std::optional<dingo_cqe> received;
        ASSERT_TRUE(pair.cards.run_until([&] {
            received = pair.driver(1).poll_cq(pair.cq(1));
            return received.has_value();
        }));
        EXPECT_EQ(received->status, DINGO_WCS_SUCCESS);
        if (destroy)
            EXPECT_EQ(pair.driver(1).destroy(DINGO_OP_DESTROY_QP, pair.qp(1).qpn).status,
                      DINGO_ST_OK);
        else
            pair.driver(1).to_state(pair.qp(1), DINGO_QPS_ERR);
        EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
    }
}

}  // namespace dingo::conformance
