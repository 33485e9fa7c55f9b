// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_req_place waits for a WQE or works: steps and other QPs go on meanwhile, turns, commands
// and later responses wait.
#include "requester_fixture.h"

namespace dingo::rtl {
namespace {

class Overlap : public Requester {
  protected:
    void create_other(std::uint16_t qp = kOther) {
        TestQp other = config;
        other.sq = other.ring = 0x40000U + qp * 0x1000U;
        other.log_sq = 4;
        b.create(qp, other);  // empties the cache
    }
    /// Posts a READ with two SGEs; one with a single SGE would take dingo_req_reads.
    void read(std::uint32_t offset, std::uint32_t length) {
        b.begin(DINGO_WR_READ);
        b.rdma(0xABC000, 0x55);
        b.sges({sge(offset, length - 4), sge(offset + length - 4, 4)});
        b.post(kQp);
    }
    void respond(std::uint32_t n, std::uint8_t opcode, std::size_t length) {
        b.respond({kQp, opcode, psn(n), 0x1F, std::vector<std::uint8_t>(length, 0x77)});
    }
    /// Makes the next response wait for its WQE until hold_lines is false.
    void hold_wqes() {
        create_other(20);
        b.hold_lines = true;
    }
};

TEST_F(Overlap, OthersCompleteWhileAResponseWaitsForItsWqe) {
    start();
    create_other();
    read(0, 300);
    go();
    b.begin(DINGO_WR_SEND);
    b.sges({sge(0, 100)});
    b.post(kOther);
    b.ring(kOther);
    b.settle();
    ASSERT_EQ(b.packets.size(), 2U);
    hold_wqes();
    b.ack(kOther, config.sq_psn);
    respond(0, 0x0D, 256);
    b.run(1000);
    ASSERT_EQ(b.cqes.size(), 1U);
    EXPECT_EQ(b.cqes[0].qp, kOther);
    // doorbells are taken, but turns wait for the response
    b.begin(DINGO_WR_NOP);
    b.post(kOther);
    b.ring(kOther);
    b.run(1000);
    EXPECT_TRUE(b.doorbells.empty());
    EXPECT_FALSE(b.dut.db_valid_i);
    EXPECT_EQ(b.cqes.size(), 1U);
    EXPECT_FALSE(b.dut.idle_o);
    b.hold_lines = false;
    respond(1, 0x0F, 44);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 3U);
    EXPECT_EQ(bytes(0, 300), std::vector<std::uint8_t>(300, 0x77));
}

TEST_F(Overlap, TheSameQpCompletesWhileItsNextResponseWaits) {
    start();
    send(100);
    read(0, 300);
    read(512, 8);
    go();
    hold_wqes();
    b.ack(kQp, psn(0));
    respond(1, 0x0D, 256);
    b.run(1000);
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_SEND);
    b.hold_lines = false;
    respond(2, 0x0F, 44);
    respond(3, 0x10, 8);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 3U);
    expect_cqe(1, 1, DINGO_WR_READ, 0, 0, 300);
    expect_cqe(2, 2, DINGO_WR_READ, 0, 0, 8);
    EXPECT_EQ(bytes(512, 8), std::vector<std::uint8_t>(8, 0x77));
    EXPECT_EQ(b.card[DINGO_CARD_IMPLIED_NAK_SEQ_ERR], 0U);
}

TEST_F(Overlap, AnAckTakesNoPlaceBeforeAResponseThatCameFirst) {
    start();
    read(0, 300);
    send(100);
    go();
    hold_wqes();
    respond(0, 0x0D, 256);
    respond(1, 0x0F, 44);
    b.ack(kQp, psn(2));
    b.run(1000);
    EXPECT_TRUE(b.cqes.empty());
    b.hold_lines = false;
    b.settle();
    ASSERT_EQ(b.cqes.size(), 2U);
    expect_cqe(0, 0, DINGO_WR_READ, 0, 0, 300);
    expect_cqe(1, 1, DINGO_WR_SEND);
    EXPECT_EQ(b.card[DINGO_CARD_IMPLIED_NAK_SEQ_ERR], 0U);
    EXPECT_EQ(b.card[DINGO_CARD_RX_DROP_RESPONSE], 0U);
}

TEST_F(Overlap, AcksAreNotHeldUpByTurns) {
    start();
    send(100);
    go();
    hold_wqes();  // the next WQE does not come
    send(100);
    b.ring(kQp);
    b.ack(kQp, psn(0));
    b.run(1000);
    EXPECT_EQ(b.cqes.size(), 1U);
    b.hold_lines = false;
    b.settle();
    EXPECT_EQ(b.packets.size(), 2U);
}

TEST_F(Overlap, ARegionThatGoesAwayFailsTheReadAndWhatIsBehindIsFlushed) {
    start();
    read(0, 600);
    read(1024, 20);
    go();
    b.regions.erase(kKey);
    respond(0, 0x0D, 256);
    respond(1, 0x0E, 256);
    respond(2, 0x0F, 88);
    respond(3, 0x10, 20);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 2U);
    expect_cqe(0, 0, DINGO_WR_READ, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_KEY);
    expect_cqe(1, 1, DINGO_WR_READ, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    EXPECT_EQ(b.qps[kQp].state, DINGO_QPS_ERR);
    EXPECT_EQ(b.fails.size(), 1U);
}

TEST_F(Overlap, AWqeThatTheHostChangedFailsTheRead) {
    start();
    read(0, 300);
    go();
    create_other();
    b.begin(DINGO_WR_READ);
    b.rdma(0xABC000, 0x55);
    b.sges({sge(0, 301)});
    std::memcpy(b.memory.data() + config.ring, b.raw.data(), 64);
    const auto before = bytes(0, 400);
    respond(0, 0x0D, 256);
    respond(1, 0x0F, 44);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_READ, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH);
    EXPECT_EQ(bytes(0, 400), before);
}

TEST_F(Overlap, ACommandWaitsForAResponseInWork) {
    start();
    read(0, 300);
    go();
    hold_wqes();
    respond(0, 0x0D, 256);
    b.run(1000);
    b.ask(kQp, DINGO_QPS_ERR, DINGO_QPM_STATE);
    bool done = false;
    for (unsigned i = 0; i < 1000; ++i) {
        b.tick();
        done = done || b.dut.qpa_done_o;
    }
    EXPECT_FALSE(done);
    b.hold_lines = false;
    b.run_until([&] { return b.dut.qpa_done_o != 0; });
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
}

// 80 delays, so that the response comes in every cycle of another QP's SEND.
TEST_F(Overlap, AResponseDoesNotDisturbThePacketThatIsLeaving) {
    config.mtu = 3;
    start();
    create_other();
    std::vector<std::uint8_t> data(480);
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<std::uint8_t>(i * 7);
    const auto sent = bytes(0x1000, 14 * 20);
    std::vector<TestSge> pieces;
    for (unsigned i = 0; i < 14; ++i)
        pieces.push_back(sge(0x1000 + i * 20, 20));
    for (unsigned delay = 0; delay < 80; ++delay) {
        read(0, 64);
        go();
        b.begin(DINGO_WR_SEND);
        if (delay % 2 == 0)
            b.inline_data(data);
        else
            b.sges(pieces);
        b.post(kOther);
        b.ring(kOther);
        b.run(delay);
        respond(delay, 0x10, 64);
        b.settle();
        ASSERT_EQ(b.packets.size(), 2 * delay + 2U);
        ASSERT_EQ(b.packets.back().payload, delay % 2 == 0 ? data : sent) << delay;
        b.ack(kOther, psn(delay));
        b.settle();
        ASSERT_EQ(b.cqes.size(), 2 * delay + 2U);
    }
}

TEST_F(Overlap, DataAndAcksOfManyQpsMayMix) {
    for (std::uint16_t qp = 1; qp < 8; ++qp) {
        TestQp other = config;
        other.sq = other.ring = 0x40000U + qp * 0x1000U;
        b.create(qp, other);
    }
    for (std::uint16_t qp = 1; qp < 8; ++qp) {
        b.begin(DINGO_WR_SEND);
        b.sges({sge(0, 64)});
        b.post(qp);
        b.begin(DINGO_WR_READ);
        b.rdma(0xABC000, 0x55);
        b.sges({sge(qp * 1024U, 600)});
        b.post(qp);
        b.ring(qp);
    }
    b.settle();
    ASSERT_EQ(b.packets.size(), 14U);
    for (std::uint16_t qp = 1; qp < 8; ++qp)
        b.ack(qp, psn(0));
    for (std::uint32_t n = 0; n < 3; ++n) {
        for (std::uint16_t qp = 1; qp < 8; ++qp) {
            const std::uint8_t opcode = n == 0 ? 0x0D : n == 1 ? 0x0E : 0x0F;
            b.respond(
                {qp, opcode, psn(n + 1), 0x1F,
                 std::vector<std::uint8_t>(n == 2 ? 88 : 256, static_cast<std::uint8_t>(qp))});
        }
    }
    b.settle();
    EXPECT_EQ(b.cqes.size(), 14U);
    for (const TestCqe& c : b.cqes)
        EXPECT_EQ(c.status, 0);
    for (std::uint16_t qp = 1; qp < 8; ++qp)
        EXPECT_EQ(bytes(qp * 1024U, 600),
                  std::vector<std::uint8_t>(600, static_cast<std::uint8_t>(qp)));
    EXPECT_GT(b.most_open, 1U);
    EXPECT_EQ(b.card[DINGO_CARD_RETRANSMITS], 0U);
}

/// READs of two QPs in turn, with several SGEs (dingo_req_place) or one (dingo_req_reads).
class Mixed : public Overlap {
  protected:
    static constexpr unsigned kReads = 12;
    static constexpr unsigned kBytes = 56;
    /// Returns the cycles from the first response to the last completion. READs of kQp have `first`
    /// SGEs, those of kOther `second`.
    unsigned respond_to_all(unsigned first, unsigned second) {
        config.max_rd = 16;
        config.log_sq = 6;
        start();
        TestQp other = config;
        other.sq = other.ring = 0x60000U;
        b.create(kOther, other);
        for (std::uint32_t n = 0; n < kReads; ++n) {
            const std::uint32_t count = n % 2 == 0 ? first : second;
            std::vector<TestSge> list;
            for (std::uint32_t i = 0; i < count; ++i)
                list.push_back(sge(n * 256 + i * (kBytes / count), kBytes / count));
            b.begin(DINGO_WR_READ);
            b.rdma(0xABC000, 0x55);
            b.sges(list);
            b.post(n % 2 == 0 ? kQp : kOther);
        }
        b.ring(kOther);
        go();
        for (std::uint32_t n = 0; n < kReads; ++n)
            b.respond({n % 2 == 0 ? kQp : kOther, 0x10, psn(n / 2), 0x1F,
                       std::vector<std::uint8_t>(kBytes, static_cast<std::uint8_t>(n + 1))});
        unsigned cycles = 0;
        for (; b.cqes.size() < kReads && cycles < 100'000; ++cycles)
            b.tick();
        for (std::uint32_t n = 0; n < kReads; ++n)
            EXPECT_EQ(bytes(n * 256, kBytes),
                      std::vector<std::uint8_t>(kBytes, static_cast<std::uint8_t>(n + 1)))
                << n;
        EXPECT_EQ(b.card[DINGO_CARD_RETRANSMITS], 0U);
        return cycles;
    }
};

TEST_F(Mixed, OrdersAreGivenInTheOrderOfArrival) {
    b.never_stall();
    respond_to_all(14, 1);
}

TEST_F(Mixed, TheStepOfAResponseBeginsBesideTheLastOrdersOfTheOneBefore) {
    b.never_stall();
    EXPECT_LE(respond_to_all(2, 2), 220U);
}

}  // namespace
}  // namespace dingo::rtl
