// SPDX-License-Identifier: BSD-2-Clause
//
// WRITEs of several packets. dingo_rsp_intake guesses key and address of a packet behind the first
// from the packet before it. When the guess is wrong, the bytes still go to the message's address,
// and errors are the same as without a guess.
#include "responder_packets.h"

namespace bench {
namespace {

class LongWrites : public ResponderTest {
  protected:
    /// Gives packet `n` of a message of `packets`; the last one has 40 bytes. PSNs continue from
    /// message to message.
    void packet(unsigned n, unsigned packets, unsigned qp = 1, unsigned message = 0) {
        const std::uint32_t psn = bench.qp(qp).cfg.rq_psn + message * packets + n;
        const bool last = n + 1 == packets;
        rtl::Rxh h = request(n == 0 ? kWriteFirst : last ? kWriteLast : kWriteMiddle, psn, last);
        if (n == 0)
            h = with_reth(kWriteFirst, psn, kIova + place(qp, message), (packets - 1) * kPmtu + 40);
        bench.packet(qp, h, pattern(last ? 40 : kPmtu, seed(n, qp, message)));
    }
    bool written(unsigned n, unsigned packets, unsigned qp = 1, unsigned message = 0) {
        const unsigned bytes = n + 1 == packets ? 40 : kPmtu;
        return bench.read_memory(kBase + place(qp, message) + n * kPmtu, bytes) ==
               pattern(bytes, seed(n, qp, message));
    }
    static std::uint64_t place(unsigned qp, unsigned message) {
        return 0x8000 * (qp % 8) + 0x4000 * (qp / 8 % 2) + 0x40000 * (qp / 16) + 0x800 * message +
               24;
    }
    static unsigned seed(unsigned n, unsigned qp, unsigned message) {
        return n + 11 * qp + 3 * message;
    }
    void expect_last_reply(std::uint8_t syndrome, std::uint32_t psn, std::uint32_t msn) {
        ASSERT_FALSE(bench.sent.empty());
        EXPECT_EQ(bench.sent.back().d.syndrome, syndrome);
        EXPECT_EQ(bench.sent.back().d.psn, psn);
        EXPECT_EQ(bench.sent.back().d.msn, msn);
    }
};
INSTANTIATE_TEST_SUITE_P(Stalls, LongWrites, kStalls);

/// There are 16 guesses, by the last bits of the QP's number: QPs 16 apart share one.
TEST_P(LongWrites, OfManyQpsPacketByPacket) {
    constexpr unsigned kQps = 20;
    for (unsigned qp = 2; qp <= kQps; ++qp)
        bench.create_rc(qp);
    for (unsigned message = 0; message < 3; ++message)
        for (unsigned n = 0; n < 5; ++n)
            for (unsigned qp = 1; qp <= kQps; ++qp)
                packet(n, 5, qp, message);
    settle();
    for (unsigned qp = 1; qp <= kQps; ++qp) {
        for (unsigned message = 0; message < 3; ++message)
            for (unsigned n = 0; n < 5; ++n)
                EXPECT_TRUE(written(n, 5, qp, message)) << qp << " " << message << " " << n;
        EXPECT_EQ(bench.query(qp).msn, 3U);
    }
    EXPECT_EQ(stat(DINGO_CARD_RX_WRITE_REQUESTS), 3U * kQps);
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_SEQUENCE), 0U);
}

TEST_P(LongWrites, RepetitionsAndGapsLeaveTheBytesInTheirPlaces) {
    for (const unsigned n : {0U, 1U, 1U, 2U, 0U, 3U, 5U, 6U, 4U, 5U, 4U, 6U, 7U})
        packet(n, 8);
    settle();
    for (unsigned n = 0; n < 8; ++n)
        EXPECT_TRUE(written(n, 8)) << n;
    EXPECT_EQ(bench.query(1).msn, 1U);
    EXPECT_EQ(stat(DINGO_CARD_DUPLICATE_REQUEST), 3U);
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_SEQUENCE), 2U);
    EXPECT_EQ(qp_stat(DINGO_QP_SEQ_NAK_SENT), 1U);
    expect_last_reply(kSynAck, psn0() + 7, 1);
}

TEST_P(LongWrites, LengthsThatDoNotFitAreRefused) {
    struct Wrong {
        std::uint8_t opcode;
        unsigned bytes;
    };
    unsigned qp = 1;
    for (const Wrong& wrong : {Wrong{kWriteLast, 39},
                               {kWriteLast, 41},
                               {kWriteLast, 0},
                               {kWriteMiddle, kPmtu},
                               {kWriteMiddle, 40},
                               {kWriteMiddle, 0},
                               {kWriteOnly, 40},
                               {kSendLast, 40}}) {
        bench.create_rc(++qp);
        const std::uint32_t first = bench.qp(qp).cfg.rq_psn;
        packet(0, 3, qp);
        packet(1, 3, qp);
        bench.packet(qp, request(wrong.opcode, first + 2), pattern(wrong.bytes, 99));
        packet(2, 3, qp);
        settle();
        EXPECT_TRUE(written(0, 3, qp) && written(1, 3, qp));
        EXPECT_FALSE(written(2, 3, qp)) << int(wrong.opcode) << " " << wrong.bytes;
        expect_last_reply(kSynInvalid, first + 2, 0);
        EXPECT_EQ(bench.failed_qps.back(), qp);
    }
}

TEST_P(LongWrites, ARegionThatGoesAwayInTheMiddleIsAnAccessError) {
    packet(0, 6);
    packet(1, 6);
    settle();
    bench.remove_region(kKey);
    for (unsigned n = 2; n < 6; ++n)
        packet(n, 6);
    settle();
    EXPECT_TRUE(written(0, 6) && written(1, 6));
    for (unsigned n = 2; n < 6; ++n)
        EXPECT_FALSE(written(n, 6)) << n;
    expect_last_reply(kSynAccess, psn0() + 2, 0);
}

TEST_P(LongWrites, MemoryThatRefusesInTheMiddleMakesTheRestVoid) {
    bench.bad_bytes = {kBase + place(1, 0) + 2 * kPmtu, kBase + place(1, 0) + 2 * kPmtu + 1};
    for (unsigned n = 0; n < 6; ++n)
        packet(n, 6);
    settle();
    EXPECT_TRUE(written(0, 6) && written(1, 6));
    expect_last_reply(kSynOperation, psn0() + 2, 0);
    EXPECT_EQ(bench.failed_qps, (std::vector{1U}));
}

/// A QP that is created anew does not continue the message of its predecessor.
TEST_P(LongWrites, WithoutABeginningIsAnError) {
    packet(0, 4);
    packet(1, 4);
    settle();
    bench.create_rc(1);
    bench.packet(1, request(kWriteMiddle, psn0()), pattern(kPmtu, 1));
    settle();
    EXPECT_FALSE(written(2, 4));
    expect_last_reply(kSynInvalid, psn0(), 0);
}

TEST_P(LongWrites, OfUcLoseWhatHasNoBeginning) {
    bench.create_uc(3);
    const auto uc = [&](std::uint8_t opcode, std::uint32_t n, unsigned bytes) {
        rtl::Rxh h = request(opcode, bench.qp(3).cfg.rq_psn + n, false);
        if (opcode == kUcWriteFirst)
            h = with_reth(opcode, h.psn, kIova + 0x1000 * n, 2 * kPmtu + 40);
        bench.packet(3, h, pattern(bytes, n));
    };
    constexpr std::uint8_t kUcWriteMiddle = kUcWriteFirst + 1;
    uc(kUcWriteFirst, 0, kPmtu);
    uc(kUcWriteMiddle, 1, kPmtu);
    uc(kUcWriteLast, 2, 40);
    uc(kUcWriteFirst, 3, kPmtu);
    uc(kUcWriteLast, 5, 40);  // packet 4 is lost
    uc(kUcWriteFirst, 6, kPmtu);
    uc(kUcWriteMiddle, 7, kPmtu);
    uc(kUcWriteLast, 8, 40);
    settle();
    for (const unsigned n : {0U, 6U}) {
        EXPECT_EQ(bench.read_memory(kBase + 0x1000 * n, kPmtu), pattern(kPmtu, n));
        EXPECT_EQ(bench.read_memory(kBase + 0x1000 * n + kPmtu, kPmtu), pattern(kPmtu, n + 1));
        EXPECT_EQ(bench.read_memory(kBase + 0x1000 * n + 2 * kPmtu, 40), pattern(40, n + 2));
    }
    EXPECT_NE(bench.read_memory(kBase + 0x3000 + kPmtu, 40), pattern(40, 5));
    EXPECT_NE(bench.read_memory(kBase + 0x3000 + 2 * kPmtu, 40), pattern(40, 5));
    EXPECT_TRUE(bench.sent.empty());
}

}  // namespace
}  // namespace bench
