// SPDX-License-Identifier: BSD-2-Clause
//
// Back-to-back packets, whose keys are looked up during the steps of the packets before them: each
// step sees the context as the step before left it, also of the same QP.
#include "responder_packets.h"

namespace bench {
namespace {

class BackToBack : public ResponderTest {
  protected:
    static std::uint32_t length(unsigned n) { return 1 + n * 37 % kPmtu; }
    void write(unsigned n, std::uint32_t rkey = kKey, unsigned qp = 1) {
        const std::uint32_t psn = bench.qp(qp).cfg.rq_psn + n;
        bench.packet(qp,
                     with_reth(kWriteOnly, psn, kIova + 0x10000 * qp + 512 * n, length(n), rkey),
                     pattern(length(n), n + qp));
    }
    bool written(unsigned n, unsigned qp = 1) {
        return bench.read_memory(kBase + 0x10000 * qp + 512 * n, length(n)) ==
               pattern(length(n), n + qp);
    }
    void expect_last_reply(std::uint8_t syndrome, std::uint32_t psn, std::uint32_t msn) {
        ASSERT_FALSE(bench.sent.empty());
        EXPECT_EQ(bench.sent.back().d.syndrome, syndrome);
        EXPECT_EQ(bench.sent.back().d.psn, psn);
        EXPECT_EQ(bench.sent.back().d.msn, msn);
    }
};
INSTANTIATE_TEST_SUITE_P(Stalls, BackToBack, kStalls);

TEST_P(BackToBack, WritesOfOneQp) {
    for (unsigned n = 0; n < 60; ++n)
        write(n);
    settle();
    for (unsigned n = 0; n < 60; ++n)
        EXPECT_TRUE(written(n)) << n;
    EXPECT_EQ(stat(DINGO_CARD_RX_WRITE_REQUESTS), 60U);
    EXPECT_EQ(bench.query(1).msn, 60U);
    std::uint32_t acknowledged = psn0() - 1;
    for (const Sent& s : bench.sent) {
        EXPECT_EQ(s.d.opcode, kAck);
        EXPECT_EQ(s.d.syndrome, kSynAck);
        EXPECT_GT(s.d.psn, acknowledged);
        EXPECT_EQ(s.d.msn, s.d.psn - psn0() + 1);
        acknowledged = s.d.psn;
    }
    EXPECT_EQ(acknowledged, psn0() + 59);
    EXPECT_EQ(qp_stat(DINGO_QP_ACKS_SENT), bench.sent.size());
}

TEST_P(BackToBack, WritesOfManyQps) {
    for (unsigned qp = 2; qp < 9; ++qp)
        bench.create_rc(qp);
    for (unsigned n = 0; n < 20; ++n)
        for (unsigned qp = 1; qp < 9; ++qp)
            write(n, kKey, qp);
    settle();
    for (unsigned qp = 1; qp < 9; ++qp) {
        for (unsigned n = 0; n < 20; ++n)
            EXPECT_TRUE(written(n, qp)) << qp << " " << n;
        EXPECT_EQ(bench.query(qp).msn, 20U);
    }
}

/// A step's context comes from the registers, from the write under way, or from the memory, as far
/// as its QP's last step lies back.
TEST_P(BackToBack, WritesOfTwoAndThreeQpsInTurn) {
    for (unsigned qps = 2; qps < 4; ++qps) {
        for (unsigned qp = 1; qp <= qps; ++qp)
            bench.create_rc(qp);
        for (unsigned n = 0; n < 40; ++n)
            for (unsigned qp = 1; qp <= qps; ++qp)
                write(n, kKey, qp);
        settle();
        for (unsigned qp = 1; qp <= qps; ++qp) {
            const auto info = bench.query(qp);
            EXPECT_EQ(info.msn, 40U);
            EXPECT_EQ(info.rq_psn, bench.qp(qp).cfg.rq_psn + 40);
            for (unsigned n = 0; n < 40; ++n)
                EXPECT_TRUE(written(n, qp)) << qp << " " << n;
        }
    }
    EXPECT_EQ(stat(DINGO_CARD_DUPLICATE_REQUEST), 0U);
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_SEQUENCE), 0U);
}

TEST_P(BackToBack, ABadKeyEndsTheQpBetweenGoodOnes) {
    for (unsigned n = 0; n < 10; ++n)
        write(n, n == 4 ? 0x00060011 : kKey);
    settle();
    for (unsigned n = 0; n < 10; ++n)
        EXPECT_EQ(written(n), n < 4) << n;
    expect_last_reply(kSynAccess, psn0() + 4, 4);
    EXPECT_EQ(bench.failed_qps, (std::vector{1U}));
    EXPECT_EQ(stat(DINGO_CARD_RX_WRITE_REQUESTS), 4U);
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_QP_STATE), 5U);
}

TEST_P(BackToBack, AWriteThatMemoryRefusesMakesThoseBehindVoid) {
    bench.bad_bytes = {kBase + 0x10000 + 512 * 4, kBase + 0x10000 + 512 * 4 + 1};
    for (unsigned n = 0; n < 10; ++n)
        write(n);
    settle();
    for (unsigned n = 0; n < 4; ++n)
        EXPECT_TRUE(written(n)) << n;
    expect_last_reply(kSynOperation, psn0() + 4, 4);
    EXPECT_EQ(stat(DINGO_CARD_RX_WRITE_REQUESTS), 4U);
    EXPECT_EQ(bench.failed_qps, (std::vector{1U}));
}

TEST_P(BackToBack, AGapIsAnsweredOnceAndFilled) {
    for (const unsigned n : {0U, 1U, 3U, 4U, 5U})
        write(n);
    settle();
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_SEQUENCE), 3U);
    EXPECT_EQ(qp_stat(DINGO_QP_SEQ_NAK_SENT), 1U);
    expect_last_reply(kSynSequence, psn0() + 2, 2);
    for (unsigned n = 2; n < 8; ++n)
        write(n);
    settle();
    for (unsigned n = 0; n < 8; ++n)
        EXPECT_TRUE(written(n)) << n;
    expect_last_reply(kSynAck, psn0() + 7, 8);
}

TEST_P(BackToBack, TheKeyOfARepeatedPacketIsNotTheNextOnes) {
    for (unsigned n = 0; n < 3; ++n)
        write(n);
    write(0, 0x00060011);  // a repetition: its bad key does not count
    write(3);
    write(1, 0x00060011);
    write(4);
    settle();
    EXPECT_TRUE(written(3));
    EXPECT_TRUE(written(4));
    EXPECT_EQ(stat(DINGO_CARD_DUPLICATE_REQUEST), 2U);
    EXPECT_TRUE(bench.failed_qps.empty());
    EXPECT_EQ(bench.query(1).msn, 5U);
}

TEST_P(BackToBack, WritesBetweenSendsReadsAndLongMessages) {
    std::uint32_t psn = psn0();
    std::uint32_t messages = 0;
    for (unsigned round = 0; round < 12; ++round) {
        bench.post(1, round, {{kIova + 0x80000 + 1024 * round, kKey, 512}});
        bench.packet(1, with_reth(kWriteOnly, psn++, kIova + 2048 * round, 100),
                     pattern(100, round));
        bench.packet(1, request(kSendOnly, psn++), pattern(200, round + 1));
        bench.packet(1, with_reth(kWriteFirst, psn++, kIova + 2048 * round + 256, kPmtu + 9),
                     pattern(kPmtu, round + 2));
        bench.packet(1, request(kWriteLast, psn++), pattern(9, round + 3));
        bench.packet(1, with_reth(kReadRequest, psn++, kIova + 2048 * round, 16));
        bench.packet(1, with_reth(kWriteOnly, psn++, kIova + 2048 * round + 1024, kPmtu),
                     pattern(kPmtu, round + 4));
        messages += 5;
        settle();
        EXPECT_EQ(bench.read_memory(kBase + 2048 * round, 100), pattern(100, round));
        EXPECT_EQ(bench.read_memory(kBase + 0x80000 + 1024 * round, 200), pattern(200, round + 1));
        EXPECT_EQ(bench.read_memory(kBase + 2048 * round + 256, kPmtu), pattern(kPmtu, round + 2));
        EXPECT_EQ(bench.read_memory(kBase + 2048 * round + 256 + kPmtu, 9), pattern(9, round + 3));
        EXPECT_EQ(bench.read_memory(kBase + 2048 * round + 1024, kPmtu), pattern(kPmtu, round + 4));
        EXPECT_EQ(bench.query(1).msn, messages);
    }
    EXPECT_EQ(bench.cqes.size(), 12U);
}

}  // namespace
}  // namespace bench
