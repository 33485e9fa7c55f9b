// SPDX-License-Identifier: BSD-2-Clause
//
// READs of one SGE: dingo_req_reads kept the place of the data when the READ was sent, so responses
// need no WQE. READs whose place was replaced, or that are repeated, take dingo_req_place.
#include "requester_fixture.h"

namespace dingo::rtl {
namespace {

class RequesterReads : public Requester {
  protected:
    void create_other(std::uint16_t qp = kOther) {
        TestQp other = config;
        other.sq = other.ring = 0x40000U + qp * 0x1000U;
        b.create(qp, other);  // empties the WQE cache
    }
    void hold_wqes() {
        create_other(20);
        b.hold_lines = true;
    }
    void respond(std::uint32_t n, std::size_t length, std::uint8_t fill = 0x77,
                 std::uint16_t qp = kQp) {
        b.respond({qp, 0x10, psn(n), 0x1F, std::vector<std::uint8_t>(length, fill)});
    }
    /// One packet of a response: FIRST (0x0D), MIDDLE (0x0E), LAST (0x0F), ONLY (0x10).
    void part(std::uint32_t n, std::uint8_t opcode, std::size_t length, std::uint8_t fill) {
        b.respond({kQp, opcode, psn(n), 0x1F, filled(length, fill)});
    }
    static std::vector<std::uint8_t> filled(std::size_t length, std::uint8_t fill = 0x77) {
        return std::vector<std::uint8_t>(length, fill);
    }
    void write(std::uint32_t length) {
        b.begin(DINGO_WR_WRITE);
        b.rdma(0xABC000, 0x55);
        b.sges({sge(0x8000, length)});
        b.post(kQp);
    }
};

TEST_F(RequesterReads, DataNeedsNoWqe) {
    start();
    for (std::uint32_t i = 0; i < 4; ++i)
        read(0x100 * i, 8 + i);
    go();
    hold_wqes();
    for (std::uint32_t i = 0; i < 4; ++i)
        respond(i, 8 + i, static_cast<std::uint8_t>(i));
    b.run(1000);
    ASSERT_EQ(b.cqes.size(), 4U);
    for (std::uint32_t i = 0; i < 4; ++i) {
        expect_cqe(i, i, DINGO_WR_READ, 0, 0, 8 + i);
        EXPECT_EQ(bytes(0x100 * i, 8 + i), filled(8 + i, static_cast<std::uint8_t>(i)));
    }
    b.hold_lines = false;
    b.settle();
}

TEST_F(RequesterReads, OfManyPacketsNeedNoWqeEither) {
    start();
    read(0, 3 * 256 + 5);
    read(0x800, 512);
    go();
    hold_wqes();
    part(0, 0x0D, 256, 1);
    part(1, 0x0E, 256, 2);
    part(2, 0x0E, 256, 3);
    part(3, 0x0F, 5, 4);
    part(4, 0x0D, 256, 5);
    part(5, 0x0F, 256, 6);
    b.run(1000);
    ASSERT_EQ(b.cqes.size(), 2U);
    expect_cqe(0, 0, DINGO_WR_READ, 0, 0, 3 * 256 + 5);
    expect_cqe(1, 1, DINGO_WR_READ, 0, 0, 512);
    for (std::uint8_t i = 0; i < 3; ++i)
        EXPECT_EQ(bytes(256U * i, 256), filled(256, static_cast<std::uint8_t>(1 + i)));
    EXPECT_EQ(bytes(768, 5), filled(5, 4));
    EXPECT_EQ(bytes(0x800, 256), filled(256, 5));
    EXPECT_EQ(bytes(0x900, 256), filled(256, 6));
    b.hold_lines = false;
    b.settle();
}

TEST_F(RequesterReads, OfManyPacketsTakeFewCyclesEach) {
    constexpr std::uint32_t kPackets = 32;
    start();
    read(0, kPackets * 256);
    go();
    for (std::uint32_t n = 0; n < kPackets; ++n)
        part(n, n == 0 ? 0x0D : n + 1 == kPackets ? 0x0F : 0x0E, 256, 1);
    const std::uint64_t before = b.now;
    b.run_until([&] { return b.responses.empty() && !b.dut.rxp_valid_i; });
    EXPECT_LE((b.now - before) / 4, kPackets * 7U);
    b.settle();
    EXPECT_EQ(b.cqes.size(), 1U);
}

TEST_F(RequesterReads, OfManyPacketsWithOneMissingGoOnBehindIt) {
    start();
    read(0, 4 * 256);
    go();
    part(0, 0x0D, 256, 1);
    part(2, 0x0E, 256, 9);  // packet 1 is missing
    b.settle();
    EXPECT_TRUE(b.cqes.empty());
    ASSERT_EQ(b.packets.size(), 2U);
    EXPECT_EQ(b.packets[1].psn, psn(1));
    part(1, 0x0D, 256, 2);  // a repeated READ begins with FIRST
    part(2, 0x0E, 256, 3);
    part(3, 0x0F, 256, 4);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    for (std::uint8_t i = 0; i < 4; ++i)
        EXPECT_EQ(bytes(256U * i, 256), filled(256, static_cast<std::uint8_t>(1 + i)));
}

TEST_F(RequesterReads, OfManyPacketsWithAWrongOneFail) {
    struct Wrong {
        std::uint32_t at;
        std::uint8_t opcode;
        std::size_t length;
    };
    // Packets have 256, 256 and 5 bytes. Wrong: LAST as second, MIDDLE as third, MIDDLE as first,
    // too short, too long, and too long by 256 bytes, which the length modulo 256 does not show.
    for (const Wrong wrong : {Wrong{1, 0x0F, 256}, Wrong{2, 0x0E, 5}, Wrong{0, 0x0E, 256},
                              Wrong{1, 0x0E, 252}, Wrong{2, 0x0F, 9}, Wrong{2, 0x0F, 261}}) {
        SCOPED_TRACE(testing::Message() << wrong.at << " " << wrong.length);
        b.cqes.clear();
        start();
        read(0, 2 * 256 + 5);
        go();
        for (std::uint32_t n = 0; n < wrong.at; ++n)
            part(n, n == 0 ? 0x0D : 0x0E, 256, 1);
        const auto before = bytes(wrong.at * 256U, 256);
        part(wrong.at, wrong.opcode, wrong.length, 0x66);
        b.settle();
        ASSERT_EQ(b.cqes.size(), 1U);
        EXPECT_EQ(b.cqes[0].status, DINGO_WCS_BAD_RESP_ERR);
        EXPECT_EQ(bytes(wrong.at * 256U, 256), before);
        b.ask(kQp, DINGO_QPS_RESET, DINGO_QPM_STATE);
        b.settle();
    }
}

TEST_F(RequesterReads, OfManyQpsTakeFewCyclesEach) {
    constexpr std::uint32_t kEach = 4;
    start();
    create_other();
    for (std::uint32_t i = 0; i < kEach; ++i)
        for (const std::uint16_t qp : {kQp, kOther}) {
            b.begin(DINGO_WR_READ);
            b.rdma(0xABC000, 0x55);
            b.sges({sge(0x100 * i + 0x4000 * (qp == kOther), 64)});
            b.post(qp);
        }
    b.ring(kQp);
    b.ring(kOther);
    b.settle();
    for (std::uint32_t i = 0; i < kEach; ++i)
        for (const std::uint16_t qp : {kQp, kOther})
            respond(i, 64, static_cast<std::uint8_t>(i), qp);
    const std::uint64_t before = b.now;
    b.run_until([&] { return b.responses.empty() && !b.dut.rxp_valid_i; });
    EXPECT_LE((b.now - before) / 4, 2U * kEach * 8U);
    b.settle();
    EXPECT_EQ(b.cqes.size(), 2 * kEach);
}

TEST_F(RequesterReads, WithDataMissingBeforeAreAskedForAgain) {
    start();
    for (std::uint32_t i = 0; i < 3; ++i)
        read(0x100 * i, 8);
    go();
    respond(1, 8);
    respond(2, 8);
    b.settle();
    EXPECT_TRUE(b.cqes.empty());
    EXPECT_EQ(b.card[DINGO_CARD_IMPLIED_NAK_SEQ_ERR], 1U);
    ASSERT_EQ(b.packets.size(), 6U);  // all three are repeated
    for (std::uint32_t i = 0; i < 3; ++i)
        respond(i, 8, static_cast<std::uint8_t>(0x10 + i));
    b.settle();
    ASSERT_EQ(b.cqes.size(), 3U);
    for (std::uint32_t i = 0; i < 3; ++i)
        EXPECT_EQ(bytes(0x100 * i, 8), filled(8, static_cast<std::uint8_t>(0x10 + i)));
}

TEST_F(RequesterReads, DataThatComesTwiceCountsOnce) {
    start();
    for (std::uint32_t i = 0; i < 2; ++i)
        read(0x100 * i, 8);
    go();
    respond(0, 8, 1);
    respond(0, 8, 2);
    respond(1, 8, 3);
    respond(1, 8, 4);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 2U);
    EXPECT_EQ(bytes(0, 8), filled(8, 1));
    EXPECT_EQ(bytes(0x100, 8), filled(8, 3));
    EXPECT_EQ(b.card[DINGO_CARD_RX_DROP_RESPONSE], 2U);
    EXPECT_EQ(b.qps[kQp].state, DINGO_QPS_RTS);
}

TEST_F(RequesterReads, WhoseRegionHasGoneFailAndTouchNothing) {
    start();
    read(0, 8);
    read(0x100, 8);
    go();
    const auto before = bytes(0, 0x200);
    b.regions.erase(kKey);
    respond(0, 8);
    respond(1, 8);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 2U);
    expect_cqe(0, 0, DINGO_WR_READ, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_KEY);
    expect_cqe(1, 1, DINGO_WR_READ, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    EXPECT_EQ(bytes(0, 0x200), before);
}

TEST_F(RequesterReads, OfAPausedRegionAreAskedForAgain) {
    start();
    read(0, 8);
    go();
    b.regions[kKey].paused = true;
    respond(0, 8);
    b.settle();
    EXPECT_TRUE(b.cqes.empty());
    b.regions[kKey].paused = false;
    b.resume();
    b.settle();
    ASSERT_EQ(b.packets.size(), 2U);
    EXPECT_EQ(b.packets[1].psn, psn(0));
    respond(0, 8, 0x31);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_READ, 0, 0, 8);
    EXPECT_EQ(bytes(0, 8), filled(8, 0x31));
}

TEST_F(RequesterReads, OfWrongLengthFail) {
    start();
    read(0, 8);
    go();
    const auto before = bytes(0, 16);
    respond(0, 9);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_READ, DINGO_WCS_BAD_RESP_ERR, DINGO_VERR_BAD_RESPONSE);
    EXPECT_EQ(bytes(0, 16), before);
}

TEST_F(RequesterReads, WhosePlaceAnotherTookAreFoundByTheirWqe) {
    config.log_sq = 5;
    start();
    read(0, 8);  // dingo_req_reads has 16 places a QP: the 17th message takes this one's
    for (unsigned i = 0; i < 15; ++i)
        write(4);
    read(0x200, 8);
    go();
    ASSERT_EQ(b.packets.size(), 17U);
    respond(0, 8, 0x41);
    b.ack(kQp, psn(15));
    respond(16, 8, 0x42);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 17U);
    EXPECT_EQ(bytes(0, 8), filled(8, 0x41));
    EXPECT_EQ(bytes(0x200, 8), filled(8, 0x42));
}

TEST_F(RequesterReads, BehindLongReadsKeepTheirOrder) {
    start();
    read(0, 300);
    read(0x200, 8);
    read(0x400, 300);
    read(0x600, 8);
    go();
    part(0, 0x0D, 256, 0);
    part(1, 0x0F, 44, 1);
    part(2, 0x10, 8, 2);
    part(3, 0x0D, 256, 3);
    part(4, 0x0F, 44, 4);
    part(5, 0x10, 8, 5);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 4U);
    for (std::uint32_t i = 0; i < 4; ++i)
        EXPECT_EQ(b.cqes[i].index, i);
    EXPECT_EQ(bytes(256, 44), filled(44, 1));
    EXPECT_EQ(bytes(0x200, 8), filled(8, 2));
    EXPECT_EQ(bytes(0x400 + 256, 44), filled(44, 4));
    EXPECT_EQ(bytes(0x600, 8), filled(8, 5));
    EXPECT_EQ(b.card[DINGO_CARD_IMPLIED_NAK_SEQ_ERR], 0U);
}

TEST_F(RequesterReads, AnAckBehindDataTakesNoPlaceBeforeIt) {
    start();
    for (std::uint32_t i = 0; i < 4; ++i) {
        read(0x100 * i, 8);
        write(4);
    }
    go();
    for (std::uint32_t i = 0; i < 4; ++i) {
        respond(2 * i, 8);
        b.ack(kQp, psn(2 * i + 1));
    }
    b.settle();
    ASSERT_EQ(b.cqes.size(), 8U);
    for (std::uint32_t i = 0; i < 8; ++i)
        EXPECT_EQ(b.cqes[i].index, i);
    EXPECT_EQ(b.card[DINGO_CARD_IMPLIED_NAK_SEQ_ERR], 0U);
    EXPECT_EQ(b.card[DINGO_CARD_RX_DROP_RESPONSE], 0U);
}

TEST_F(RequesterReads, ACommandWaitsForDataInWork) {
    start();
    read(0, 8);
    go();
    respond(0, 8);
    b.run_until([&] { return b.responses.empty(); });
    b.ask(kQp, DINGO_QPS_ERR, DINGO_QPM_STATE);
    b.run_until([&] { return b.dut.qpa_done_o != 0; });
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    EXPECT_EQ(b.commits.size(), 0U);
}

/// The data of several READs comes into memory at the same time.
class RequesterReadRuns : public RequesterReads {
  protected:
    RequesterReadRuns() { config.max_rd = 16; }
    void two_queues() {
        TestQp other = config;
        other.sq = other.ring = 0x14000;
        b.create(kOther, other);
    }
    /// Posts a READ for each of `qps` and answers it; holds the commits back.
    void answered(const std::vector<std::uint16_t>& qps) {
        std::map<std::uint16_t, std::uint32_t> next;
        for (const std::uint16_t qp : qps) {
            b.begin(DINGO_WR_READ);
            b.rdma(0xABC000, 0x55);
            b.sges({sge(0x100, 8 + next[qp])});
            b.post(qp);
            b.ring(qp);
            ++next[qp];
        }
        b.settle();
        b.hold_commits = true;
        next.clear();
        for (const std::uint16_t qp : qps) {
            respond(next[qp], 8 + next[qp], 0x77, qp);
            ++next[qp];
        }
        b.run_until([&] { return b.commits.size() == qps.size(); });
    }
    /// Releases the commits; returns the cycles until all are taken.
    std::uint64_t release() {
        b.hold_commits = false;
        const std::uint64_t before = b.now;
        b.run_until([&] { return b.commits.empty(); });
        return (b.now - before) / 4;
    }
};

TEST_F(RequesterReadRuns, OfOneQueueComeACycleEach) {
    start();
    answered(std::vector<std::uint16_t>(14, kQp));
    EXPECT_LE(release(), 14U + 4);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 14U);
    for (std::uint32_t i = 0; i < 14; ++i)
        expect_cqe(i, i, DINGO_WR_READ, 0, 0, 8 + i);
    b.now += 1'000'000'000;  // no timer may run: nothing is outstanding
    b.run(5000);
    b.settle();
    EXPECT_EQ(b.counters[DINGO_QP_TIMEOUTS], 0U);
    b.begin(DINGO_WR_WRITE);  // the queue still works
    b.rdma(0xABC000, 0x55);
    b.sges({sge(0, 8)});
    b.post(kQp);
    go();
    EXPECT_EQ(b.packets.back().psn, psn(14));
}

TEST_F(RequesterReadRuns, OfSeveralQueuesComeToEachItsOwn) {
    start();
    two_queues();
    answered({kQp, kOther, kQp, kQp, kOther, kOther, kOther, kQp, kOther, kQp});
    EXPECT_LE(release(), 10U + 2 * 6 + 4);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 10U);
    std::map<std::uint32_t, std::uint32_t> next;
    for (const TestCqe& cqe : b.cqes) {
        EXPECT_EQ(cqe.status, 0);
        EXPECT_EQ(cqe.index, next[cqe.qp]);
        EXPECT_EQ(cqe.byte_len, 8 + next[cqe.qp]);
        ++next[cqe.qp];
    }
    EXPECT_EQ(next.size(), 2U);
}

TEST_F(RequesterReadRuns, OneThatCannotBeWrittenEndsTheRun) {
    start();
    answered(std::vector<std::uint16_t>(8, kQp));
    b.commits[5].err = true;
    release();
    b.settle();
    ASSERT_EQ(b.cqes.size(), 8U);
    for (std::uint32_t i = 0; i < 5; ++i)
        expect_cqe(i, i, DINGO_WR_READ, 0, 0, 8 + i);
    EXPECT_EQ(b.cqes[5].status, DINGO_WCS_LOC_PROT_ERR);
    EXPECT_EQ(b.cqes[6].status, DINGO_WCS_WR_FLUSH_ERR);
    EXPECT_EQ(b.cqes[7].status, DINGO_WCS_WR_FLUSH_ERR);
}

TEST_F(RequesterReadRuns, DataBehindATimeoutAreNotAskedForAgain) {
    config.timeout = 1;
    start();
    answered({kQp, kQp});
    const std::size_t sent = b.packets.size();
    b.dut.halt_tx_i = 1;
    b.now = b.dut.timer_next_o + 1;  // the cursor goes back to the first READ; no turn while halted
    b.run(50);
    release();
    b.run(50);
    b.dut.halt_tx_i = 0;
    b.settle();
    ASSERT_EQ(b.cqes.size(), 2U);
    EXPECT_EQ(b.packets.size(), sent);
    b.begin(DINGO_WR_WRITE);
    b.rdma(0xABC000, 0x55);
    b.sges({sge(0, 8)});
    b.post(kQp);
    go();
    EXPECT_EQ(b.packets.back().psn, psn(2));
}

TEST_F(RequesterReadRuns, ProgressGivesTheRetriesBack) {
    config.timeout = 1;
    config.retry = 2;
    start();
    for (unsigned i = 0; i < 6; ++i) {  // two timeouts each: 12, more than `retry` allows in a row
        read(0x100, 8);
        go();
        b.next_deadline();
        b.next_deadline();
        respond(i, 8);
        b.settle();
        ASSERT_EQ(b.cqes.size(), i + 1U);
        EXPECT_EQ(b.cqes[i].status, 0);
    }
}

TEST_F(RequesterReadRuns, TheLastOneOfADrainingQueueTellsIt) {
    config.notify = true;
    start();
    for (unsigned i = 0; i < 3; ++i)
        read(0x100, 8);
    go();
    b.modify(kQp, DINGO_QPS_SQD);
    b.hold_commits = true;
    for (unsigned i = 0; i < 3; ++i)
        respond(i, 8);
    b.run_until([&] { return b.commits.size() == 3; });
    EXPECT_TRUE(b.events.empty());
    release();
    b.settle();
    EXPECT_EQ(b.cqes.size(), 3U);
    ASSERT_EQ(b.events.size(), 1U);
    EXPECT_EQ(b.events[0].kind, DINGO_EV_SQ_DRAINED);
}

}  // namespace
}  // namespace dingo::rtl
