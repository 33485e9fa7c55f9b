// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_responder: READ requests, their responses, and repeated requests.
#include "responder_packets.h"

namespace bench {
namespace {

class Reads : public ResponderTest {
  protected:
    /// Expects sent[from...] to be the response to a READ of [va, va + length), from `psn` on.
    void expect_response(std::size_t from, std::uint32_t psn, std::uint64_t va,
                         std::uint32_t length, std::uint32_t msn) {
        const unsigned packets = length == 0 ? 1 : (length + kPmtu - 1) / kPmtu;
        ASSERT_GE(bench.sent.size(), from + packets);
        for (unsigned i = 0; i < packets; ++i) {
            const Sent& s = bench.sent[from + i];
            const unsigned bytes = std::min(kPmtu, length - i * kPmtu);
            const bool last = i + 1 == packets;
            EXPECT_EQ(s.d.opcode, i == 0 ? (last ? kReadResponseOnly : kReadResponseFirst)
                                         : (last ? kReadResponseLast : kReadResponseMiddle));
            EXPECT_EQ(s.d.psn, psn + i);
            EXPECT_EQ(s.d.len, bytes);
            EXPECT_EQ(s.d.syndrome, kSynAck);
            EXPECT_EQ(s.d.msn, msn);
            EXPECT_FALSE(s.d.inl);
            if (bytes == 0) {
                EXPECT_TRUE(s.segs.empty());
                continue;
            }
            ASSERT_EQ(s.segs.size(), 1u);
            EXPECT_EQ(s.segs[0].len, bytes);
            EXPECT_TRUE(s.segs[0].last);
            EXPECT_EQ(s.segs[0].mem.addr + s.segs[0].off, kBase + (va - kIova) + i * kPmtu);
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Stalls, Reads, kStalls);

TEST_P(Reads, AnswerHasAllPacketsOfTheRead) {
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova + 8, 700));
    bench.packet(1, with_reth(kReadRequest, psn0() + 3, kIova, 0, 0));
    bench.packet(1, with_reth(kReadRequest, psn0() + 4, kIova + 99, 256));
    settle();
    expect_response(0, psn0(), kIova + 8, 700, 1);
    expect_response(3, psn0() + 3, kIova, 0, 2);
    expect_response(4, psn0() + 4, kIova + 99, 256, 3);
    EXPECT_EQ(bench.sent.size(), 5u);
    EXPECT_EQ(stat(DINGO_CARD_RX_READ_REQUESTS), 3u);
    EXPECT_EQ(bench.query(1).rq_psn, psn0() + 5);
}

/// The response uses the look-up that was made when the READ came: one for each READ.
TEST_P(Reads, OneOfOnePacketIsAnsweredWithoutAnotherLook) {
    for (unsigned i = 0; i < 4; ++i)
        bench.packet(1, with_reth(kReadRequest, psn0() + i, kIova + 300 * i, 1 + 85 * i));
    bench.halt_commits = true;
    for (unsigned i = 0; i < 500; ++i)
        bench.cycle();
    EXPECT_EQ(bench.lookups, 4u);
    EXPECT_TRUE(bench.sent.empty());
    bench.halt_commits = false;
    settle();
    for (unsigned i = 0; i < 4; ++i)
        expect_response(i, psn0() + i, kIova + 300 * i, 1 + 85 * i, i + 1);
    if (GetParam().ready == 100) {  // else tx_room may be down: a turn answers, with a look-up
        EXPECT_EQ(bench.lookups, 4u);
    }
    bench.sent.clear();
    bench.packet(1, with_reth(kReadRequest, psn0() + 2, kIova + 600, 171));  // a repetition
    settle();
    expect_response(0, psn0() + 2, kIova + 600, 171, 3);
}

/// An invalidation waits for reads that the key granted: reading_o is up from the READ's item until
/// its payload is ordered.
TEST_P(Reads, OneOfOnePacketCountsAsBeingReadFromItsItemOn) {
    if (GetParam().ready != 100)
        return;  // tx_room may be down: a turn answers
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, 64));
    unsigned reading = 0, cycles = 0;
    for (; bench.sent.empty() && cycles < 300; ++cycles) {
        reading = bench.dut.reading_o != 0 ? reading + 1 : 0;
        bench.cycle();
    }
    EXPECT_EQ(bench.sent.size(), 1u);
    EXPECT_EQ(reading, 3u);  // cycles of: item, response, order
    settle();
    EXPECT_FALSE(bench.dut.reading_o);
}

TEST_P(Reads, AnswersAndAcknowledgementsOfManyQpsKeepTheirOrder) {
    for (unsigned qp = 2; qp < 9; ++qp)
        bench.create_rc(qp);
    for (unsigned n = 0; n < 24; ++n)
        for (unsigned qp = 1; qp < 9; ++qp) {
            const std::uint32_t psn = bench.qp(qp).cfg.rq_psn + n;
            if ((n + qp) % 3 == 0)
                bench.packet(qp, with_reth(kWriteOnly, psn, kIova, 4), pattern(4, n));
            else
                bench.packet(qp, with_reth(kReadRequest, psn, kIova + 64 * n, 64));
            if (n % 4 == 3)
                settle();
        }
    settle();
    std::map<unsigned, std::uint32_t> behind;
    for (const Sent& s : bench.sent) {
        const std::uint32_t n = s.d.psn - bench.qp(s.d.qp).cfg.rq_psn;
        EXPECT_GE(n + 1, behind[s.d.qp] + 1) << "QP " << s.d.qp;
        EXPECT_EQ(s.d.msn, n + 1);
        behind[s.d.qp] = n + 1;
    }
    for (unsigned qp = 1; qp < 9; ++qp)
        EXPECT_EQ(behind[qp], 24u);
}

/// 50 packets, of which a turn sends 16.
TEST_P(Reads, LongResponseTakesSeveralTurns) {
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, 50 * kPmtu));
    settle();
    expect_response(0, psn0(), kIova, 50 * kPmtu, 1);
    EXPECT_EQ(bench.sent.size(), 50u);
}

/// Also on a full wire up to 8 KiB of a QP stay together, because the peer looks up the READ's WQE
/// for each packet.
TEST_P(Reads, FullWireDoesNotMixResponsesOfQueuePairs) {
    constexpr unsigned kPackets = 40, kTogether = 16;  // packets of 256 bytes in a turn
    bench.create_rc(2);
    bench.create_rc(3);
    bench.room_pause = 60;
    for (unsigned qp = 1; qp <= 3; ++qp)
        bench.packet(qp, with_reth(kReadRequest, 1000 * qp, kIova, kPackets * kPmtu));
    settle();
    ASSERT_EQ(bench.sent.size(), 3 * kPackets);
    unsigned changes = 0;
    for (std::size_t i = 1; i < bench.sent.size(); ++i)
        changes += bench.sent[i].d.qp != bench.sent[i - 1].d.qp;
    EXPECT_LE(changes, 3 * (kPackets / kTogether + 1));
    EXPECT_GE(changes, 3 * (kPackets / kTogether)) << "one QP has kept the others waiting";
}

/// QP 1 fails while a full wire interrupts its turn: its response ends, that of QP 2 does not.
TEST_P(Reads, FailureInTheMiddleOfAResponseOnAFullWire) {
    bench.create_rc(2);
    bench.room_pause = 60;
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, 40 * kPmtu));
    bench.packet(2, with_reth(kReadRequest, 2000, kIova, 4 * kPmtu));
    for (unsigned i = 0; i < 10'000 && bench.sent.size() < 3; ++i)
        bench.cycle();
    bench.requester_failed(1);
    settle();
    unsigned of_two = 0;
    for (const Sent& s : bench.sent)
        of_two += s.d.qp == 2;
    EXPECT_EQ(of_two, 4u);
    EXPECT_LT(bench.sent.size(), 10u);
}

TEST_P(Reads, AcknowledgementComesBehindResponses) {
    bench.packet(1, with_reth(kWriteOnly, psn0(), kIova, 4), pattern(4, 1));
    bench.packet(1, with_reth(kReadRequest, psn0() + 1, kIova, 3 * kPmtu));
    bench.packet(1, with_reth(kWriteOnly, psn0() + 4, kIova, 4), pattern(4, 2));
    settle();
    ASSERT_GE(bench.sent.size(), 4u);
    EXPECT_EQ(bench.sent.back().d.opcode, kAck);
    EXPECT_EQ(bench.sent.back().d.psn, psn0() + 4);
    EXPECT_EQ(bench.sent.back().d.msn, 3u);
}

/// While sending is halted there is no turn, but requests are taken and executed.
TEST_P(Reads, HoldingUpSendingHoldsAnswers) {
    bench.halt_tx = true;
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, 3 * kPmtu));
    bench.packet(1, with_reth(kWriteOnly, psn0() + 3, kIova, 4), pattern(4, 2));
    settle();
    EXPECT_TRUE(bench.sent.empty());
    EXPECT_EQ(bench.read_memory(kBase, 4), pattern(4, 2));
    EXPECT_TRUE(bench.dut.work_o);
    bench.halt_tx = false;
    settle();
    EXPECT_EQ(bench.sent.size(), 4u);
    EXPECT_FALSE(bench.dut.work_o);
}

TEST_P(Reads, RepeatedReadIsAnsweredAgainAlsoInPart) {
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, 700));
    bench.packet(1, with_reth(kReadRequest, psn0() + 3, kIova + 4096, 600));
    settle();
    bench.sent.clear();
    bench.packet(1, with_reth(kReadRequest, psn0() + 4, kIova + 4096 + 256, 344));
    settle();
    expect_response(0, psn0() + 4, kIova + 4096 + 256, 344, 2);
    bench.sent.clear();
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, 700));
    bench.packet(1, with_reth(kReadRequest, psn0() + 3, kIova + 4096, 600));
    settle();
    ASSERT_EQ(bench.sent.size(), 6u);
    expect_response(0, psn0(), kIova, 700, 1);
    expect_response(3, psn0() + 3, kIova + 4096, 600, 2);
    EXPECT_EQ(stat(DINGO_CARD_DUPLICATE_REQUEST), 3u);
    EXPECT_EQ(qp_stat(DINGO_QP_DUPLICATES), 3u);
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_DUPLICATE), 0u);
}

TEST_P(Reads, RepetitionThatFitsNoReadIsDropped) {
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, 700));
    settle();
    bench.sent.clear();
    bench.packet(1, with_reth(kReadRequest, psn0() + 1, kIova, 400));             // other address
    bench.packet(1, with_reth(kReadRequest, psn0() + 1, kIova + 256, 445));       // too long
    bench.packet(1, with_reth(kReadRequest, psn0() + 1, kIova + 256, 9, 0x666));  // other key
    bench.packet(1, with_reth(kReadRequest, psn0() - 9, kIova, 700));             // unknown
    bench.packet(1, request(kFetchAdd, psn0() - 1));
    settle();
    EXPECT_TRUE(bench.sent.empty());
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_DUPLICATE), 5u);
}

TEST_P(Reads, OldestReadIsForgottenWhenThereAreMoreThanSlots) {
    for (unsigned i = 0; i < 5; ++i) {
        bench.packet(1, with_reth(kReadRequest, psn0() + i, kIova + 256 * i, 256));
        settle();
    }
    bench.sent.clear();
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, 256));
    settle();
    EXPECT_TRUE(bench.sent.empty());
    bench.packet(1, with_reth(kReadRequest, psn0() + 1, kIova + 256, 256));
    settle();
    expect_response(0, psn0() + 1, kIova + 256, 256, 2);
}

TEST_P(Reads, MoreReadsThanAgreedAreRefused) {
    bench.halt_tx = true;
    for (unsigned i = 0; i < 5; ++i)
        bench.packet(1, with_reth(kReadRequest, psn0() + i, kIova, 256));
    settle();
    bench.halt_tx = false;
    settle();
    ASSERT_EQ(bench.sent.size(), 5u);
    EXPECT_EQ(bench.sent[4].d.syndrome, kSynInvalid);
    EXPECT_EQ(bench.sent[4].d.psn, psn0() + 4);
    ASSERT_EQ(bench.events.size(), 1u);
    EXPECT_EQ(bench.events[0].kind, DINGO_EV_QP_REQ_ERR);
}

/// C9-110: the repetition of an earlier READ goes first; it ends when a new READ needs its slot.
TEST_P(Reads, RepetitionEndsWhenItsSlotIsNeeded) {
    for (unsigned i = 0; i < 4; ++i)
        bench.packet(1, with_reth(kReadRequest, psn0() + i, kIova + 256 * i, 256));
    settle();
    bench.sent.clear();
    bench.halt_tx = true;
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, 256));  // repeats the oldest
    bench.packet(1, with_reth(kReadRequest, psn0() + 4, kIova + 1024, 256));
    settle();
    bench.halt_tx = false;
    settle();
    ASSERT_EQ(bench.sent.size(), 1u);
    expect_response(0, psn0() + 4, kIova + 1024, 256, 5);
}

/// A requester that sends a new READ needs no more of the repetition; so the repetition ends also
/// when the new READ is refused.
TEST_P(Reads, RepetitionEndsAlsoForAReadThatIsRefused) {
    for (unsigned i = 0; i < 4; ++i)
        bench.packet(1, with_reth(kReadRequest, psn0() + i, kIova + 256 * i, 256));
    settle();
    bench.sent.clear();
    bench.halt_tx = true;
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, 256));
    settle();
    bench.packet(1, with_reth(kReadRequest, psn0() + 4, kIova, 256, 0xbad));
    settle();
    bench.halt_tx = false;
    settle();
    expect_reply(kSynAccess, psn0() + 4, 4);
}

TEST_P(Reads, ResponseStandsForTheAcknowledgementsBeforeIt) {
    bench.halt_tx = true;
    bench.packet(1, with_reth(kWriteOnly, psn0(), kIova, 4), pattern(4, 1));
    bench.packet(1, with_reth(kReadRequest, psn0() + 1, kIova, 100));
    settle();
    bench.halt_tx = false;
    settle();
    ASSERT_EQ(bench.sent.size(), 1u);
    expect_response(0, psn0() + 1, kIova, 100, 2);
}

TEST_P(Reads, RegionThatGoesAwayEndsTheQueuePair) {
    bench.halt_tx = true;
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, 700));
    settle();
    bench.remove_region(kKey);
    bench.halt_tx = false;
    settle();
    expect_reply(kSynAccess, psn0(), 1);
    EXPECT_EQ(bench.qp(1).state, DINGO_QPS_ERR);
    EXPECT_EQ(bench.failed_qps, std::vector<unsigned>{1});
    ASSERT_EQ(bench.events.size(), 1u);
    EXPECT_EQ(bench.events[0].kind, DINGO_EV_QP_ACCESS_ERR);
    EXPECT_EQ(stat(DINGO_CARD_RESP_REMOTE_ACCESS_ERRORS), 1u);
}

TEST_P(Reads, BusErrorOfAResponseIsANak) {
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, 700));
    settle();
    bench.sent.clear();
    bench.tx_error(1, psn0() + 1);
    bench.tx_error(1, psn0() + 2);  // after the first error: ignored
    settle();
    expect_reply(kSynOperation, psn0() + 1, 1);
    EXPECT_EQ(bench.qp(1).state, DINGO_QPS_ERR);
    ASSERT_EQ(bench.events.size(), 1u);
    EXPECT_EQ(bench.events[0].kind, DINGO_EV_QP_ACCESS_ERR);
    EXPECT_EQ(stat(DINGO_CARD_RESP_REMOTE_OP_ERRORS), 1u);
}

TEST_P(Reads, NothingIsSentWithoutASourceAddress) {
    bench.gid_valid = 0;
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, 700));
    bench.packet(1, with_reth(kWriteOnly, psn0() + 3, kIova, 4), pattern(4, 2));
    settle();
    EXPECT_TRUE(bench.sent.empty());
    EXPECT_EQ(bench.qp(1).state, DINGO_QPS_RTS);
}

}  // namespace
}  // namespace bench
