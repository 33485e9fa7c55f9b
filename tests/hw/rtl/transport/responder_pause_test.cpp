// SPDX-License-Identifier: BSD-2-Clause
//
// Paused regions at the responder: requests get RNR NAKs, READ responses stop until the resume,
// also with an RNR NAK, UD and UC messages are dropped, and other QPs do not wait.
#include "responder_packets.h"

namespace bench {
namespace {

constexpr std::uint8_t kSynRnr = 0x20 | 12;
constexpr std::uint64_t kMoved = kBase + 0x1000'0000;
constexpr std::uint32_t kOtherKey = 0x00060011;  // most tests do not pause this region
constexpr std::uint64_t kOtherBase = kBase + 0x2000'0000;

class Pauses : public ResponderTest {
  protected:
    Pauses() { bench.add_region({kOtherKey, 7, 0x1f, kIova, 1 << 20, kOtherBase}); }
    void expect_rnr(std::uint32_t psn, std::uint32_t msn = 0) {
        expect_reply(kSynRnr, psn, msn);
        EXPECT_EQ(bench.qp(1).state, DINGO_QPS_RTS);
        EXPECT_EQ(bench.query(1).rq_psn, psn);
        EXPECT_TRUE(bench.events.empty());
    }
    void resume() { bench.resume_region(kKey, kMoved); }
    std::size_t sent_of(unsigned qp) const {
        std::size_t count = 0;
        for (const Sent& s : bench.sent)
            count += s.d.qp == qp;
        return count;
    }
};
INSTANTIATE_TEST_SUITE_P(Stalls, Pauses, kStalls);

TEST_P(Pauses, RequestsAreAskedForAgainAndDoneInTheNewPlace) {
    const Bytes data = pattern(100, 1);
    std::uint32_t psn = psn0();
    bench.pause_region(kKey);
    bench.packet(1, with_reth(kWriteOnly, psn, kIova + 8, 100), data);
    settle();
    expect_rnr(psn);
    bench.packet(1, with_reth(kReadRequest, psn, kIova, 100));
    settle();
    expect_rnr(psn);
    rtl::Rxh add = with_reth(kFetchAdd, psn, kIova, 8);
    add.swap_add = 3;
    bench.packet(1, add);
    settle();
    expect_rnr(psn);
    EXPECT_EQ(stat(DINGO_CARD_RNR_NAK_SENT), 3u);
    EXPECT_EQ(qp_stat(DINGO_QP_RNR_NAK_SENT), 3u);
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_BUFFER), 0u);
    EXPECT_TRUE(bench.memory.empty());
    resume();
    bench.packet(1, with_reth(kWriteOnly, psn, kIova + 8, 100), data);
    settle();
    expect_reply(kSynAck, psn, 1);
    EXPECT_EQ(bench.read_memory(kMoved + 8, 100), data);
    EXPECT_EQ(bench.read_memory(kBase + 8, 100), Bytes(100));
}

TEST_P(Pauses, PacketsBehindTheRefusedOneAreNoGap) {
    bench.pause_region(kKey);
    for (unsigned n = 0; n < 4; ++n)
        bench.packet(1, with_reth(kWriteOnly, psn0() + n, kIova, 8, n == 0 ? kKey : kOtherKey),
                     pattern(8, n));
    settle();
    expect_rnr(psn0());
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_SEQUENCE), 0u);
    EXPECT_TRUE(bench.memory.empty());
}

TEST_P(Pauses, SendLeavesItsReceiveInTheQueue) {
    bench.post(1, 0x10, {{kIova, kKey, kPmtu}});
    bench.post(1, 0x11, {{kIova, kOtherKey, kPmtu}});
    settle();
    bench.pause_region(kKey);
    bench.packet(1, request(kSendOnly, psn0()), pattern(20, 1));
    settle();
    expect_rnr(psn0());
    EXPECT_EQ(bench.query(1).rq_consumer, 0u);
    EXPECT_TRUE(bench.cqes.empty());
    resume();
    bench.packet(1, request(kSendOnly, psn0()), pattern(20, 1));
    settle();
    ASSERT_EQ(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].wqe_index, 0x10u);
    EXPECT_EQ(bench.read_memory(kMoved, 20), pattern(20, 1));
}

TEST_P(Pauses, SendOfSeveralPacketsGoesOnWhereItStopped) {
    bench.post(1, 0x10, {{kIova, kOtherKey, 300}, {kIova, kKey, 1000}});
    settle();
    bench.packet(1, request(kSendFirst, psn0(), false), pattern(kPmtu, 1));
    settle();
    bench.pause_region(kKey);
    for (unsigned n = 0; n < 2; ++n) {  // its first 44 bytes are for kOtherKey, which is not paused
        bench.packet(1, request(kSendMiddle, psn0() + 1, false), pattern(kPmtu, 2));
        settle();
        expect_rnr(psn0() + 1);
    }
    resume();
    bench.packet(1, request(kSendMiddle, psn0() + 1, false), pattern(kPmtu, 2));
    bench.packet(1, request(kSendLast, psn0() + 2), pattern(40, 3));
    settle();
    ASSERT_EQ(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].byte_len, 2 * kPmtu + 40u);
    Bytes all = pattern(kPmtu, 1);
    for (const Bytes& part : {pattern(kPmtu, 2), pattern(40, 3)})
        all.insert(all.end(), part.begin(), part.end());
    EXPECT_EQ(bench.read_memory(kOtherBase, 300), Bytes(all.begin(), all.begin() + 300));
    EXPECT_EQ(bench.read_memory(kMoved, 252), Bytes(all.begin() + 300, all.end()));
}

TEST_P(Pauses, WriteOfSeveralPacketsGoesOnWhereItStopped) {
    bench.packet(1, with_reth(kWriteFirst, psn0(), kIova, 2 * kPmtu + 4), pattern(kPmtu, 1));
    settle();
    seen_ = bench.sent.size();
    bench.pause_region(kKey);
    bench.packet(1, request(kWriteMiddle, psn0() + 1, false), pattern(kPmtu, 2));
    bench.packet(1, request(kWriteLast, psn0() + 2), pattern(4, 3));
    settle();
    expect_rnr(psn0() + 1);
    resume();
    bench.packet(1, request(kWriteMiddle, psn0() + 1, false), pattern(kPmtu, 2));
    bench.packet(1, request(kWriteLast, psn0() + 2), pattern(4, 3));
    settle();
    expect_reply(kSynAck, psn0() + 2, 1);
    EXPECT_EQ(bench.read_memory(kBase, kPmtu), pattern(kPmtu, 1));
    EXPECT_EQ(bench.read_memory(kMoved + kPmtu, kPmtu), pattern(kPmtu, 2));
    EXPECT_EQ(bench.read_memory(kMoved + 2 * kPmtu, 4), pattern(4, 3));
}

TEST_P(Pauses, WriteWithImmediateLeavesItsReceiveInTheQueue) {
    bench.post(1, 0x10, {});
    settle();
    bench.pause_region(kKey);
    bench.packet(1, with_reth(kWriteOnlyImm, psn0(), kIova, 8), pattern(8, 1));
    settle();
    expect_rnr(psn0());
    EXPECT_EQ(bench.query(1).rq_consumer, 0u);
    resume();
    bench.packet(1, with_reth(kWriteOnlyImm, psn0(), kIova, 8), pattern(8, 1));
    settle();
    ASSERT_EQ(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].wqe_index, 0x10u);
}

TEST_P(Pauses, ResponseStopsHalfwayAndGoesOnInTheNewPlace) {
    constexpr unsigned kPackets = 40;
    bench.create_rc(2);
    bench.room_pause = 60;
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, kPackets * kPmtu));
    while (bench.sent.size() < 5)
        bench.cycle();
    bench.pause_region(kKey);
    settle();
    const std::size_t before = sent_of(1);
    EXPECT_LT(before, 10u);
    // another QP's READ, and a WRITE whose ACK must wait behind the response
    bench.packet(2, with_reth(kReadRequest, bench.qp(2).cfg.rq_psn, kIova, 3 * kPmtu, kOtherKey));
    bench.packet(1, with_reth(kWriteOnly, psn0() + kPackets, kIova, 8, kOtherKey), pattern(8, 1));
    settle();
    EXPECT_EQ(sent_of(2), 3u);
    EXPECT_EQ(sent_of(1), before) << "an ACK before the response would lose it";
    resume();
    settle();
    ASSERT_EQ(sent_of(1), kPackets + 2u);
    unsigned n = 0;
    for (const Sent& s : bench.sent) {
        if (s.d.qp != 1)
            continue;
        if (s.d.syndrome == kSynRnr) {
            EXPECT_EQ(s.d.psn, psn0() + before - 1);
            continue;
        }
        EXPECT_EQ(s.d.psn, psn0() + n);
        if (n < kPackets) {
            ASSERT_EQ(s.segs.size(), 1u);
            EXPECT_EQ(s.segs[0].mem.addr + s.segs[0].off,
                      (n < before - 1 ? kBase : kMoved) + n * kPmtu);
        } else {
            EXPECT_EQ(s.d.opcode, kAck);
        }
        ++n;
    }
    EXPECT_EQ(stat(DINGO_CARD_RNR_NAK_SENT), 1u);
    EXPECT_EQ(qp_stat(DINGO_QP_RNR_NAK_SENT), 1u);
}

TEST_P(Pauses, EachRepetitionIsRefusedAgainWhileTheResponseWaits) {
    bench.halt_tx = true;
    bench.packet(1, with_reth(kWriteOnly, psn0(), kIova, 8, kOtherKey), pattern(8, 1));
    bench.packet(1, with_reth(kReadRequest, psn0() + 1, kIova, 3 * kPmtu));
    settle();
    bench.pause_region(kKey);
    bench.halt_tx = false;
    settle();
    const auto expect_refused = [&] { expect_reply(kSynRnr, psn0() + 1, 1); };
    expect_refused();
    bench.packet(1, with_reth(kWriteOnly, psn0(), kIova, 8, kOtherKey), pattern(8, 1));
    settle();
    expect_refused();
    bench.packet(1, with_reth(kReadRequest, psn0() + 1, kIova, 3 * kPmtu));
    settle();
    expect_refused();
    EXPECT_EQ(stat(DINGO_CARD_RNR_NAK_SENT), 3u);
    resume();
    settle();
    ASSERT_EQ(bench.sent.size(), 7u);
    for (unsigned n = 0; n < 3; ++n)
        EXPECT_EQ(bench.sent[3 + n].d.psn, psn0() + 1 + n);
    EXPECT_EQ(bench.sent[6].d.opcode, kAck);
    EXPECT_EQ(bench.sent[6].d.psn, psn0() + 3);
}

TEST_P(Pauses, ResponsesGoOnWhenTheirRegionIsThereAndNotBefore) {
    bench.create_rc(2);
    bench.halt_tx = true;
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, 3 * kPmtu));
    bench.packet(2, with_reth(kReadRequest, bench.qp(2).cfg.rq_psn, kIova, 3 * kPmtu, kOtherKey));
    settle();
    bench.pause_region(kKey);
    bench.pause_region(kOtherKey);
    bench.halt_tx = false;
    settle();
    EXPECT_EQ(sent_of(1), 1u) << "the RNR NAK";
    EXPECT_EQ(sent_of(2), 1u);
    bench.resume_region(kOtherKey, kOtherBase);
    settle();
    EXPECT_EQ(sent_of(1), 1u);
    EXPECT_EQ(sent_of(2), 1u + 3u);
    bench.resume();  // as for some other region
    settle();
    EXPECT_EQ(sent_of(1), 1u);
    resume();
    settle();
    EXPECT_EQ(sent_of(1), 1u + 3u);
    EXPECT_EQ(sent_of(2), 1u + 3u);
}

TEST_P(Pauses, ResponseOfARegionThatGoesIsRefused) {
    bench.halt_tx = true;
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, 3 * kPmtu));
    settle();
    bench.pause_region(kKey);
    bench.halt_tx = false;
    settle();
    expect_reply(kSynRnr, psn0(), 0);
    bench.remove_region(kKey);
    bench.resume();
    settle();
    expect_reply(kSynAccess, psn0(), 1);
    EXPECT_EQ(bench.qp(1).state, DINGO_QPS_ERR);
}

TEST_P(Pauses, QpThatFailsWhileItsResponseWaitsIsFlushed) {
    bench.post(1, 0x10, {{kIova, kOtherKey, kPmtu}});
    bench.halt_tx = true;
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, 3 * kPmtu));
    settle();
    bench.pause_region(kKey);
    bench.halt_tx = false;
    settle();
    expect_reply(kSynRnr, psn0(), 0);
    bench.requester_failed(1);
    settle();
    ASSERT_EQ(bench.cqes.size(), 1u);
    expect_error_cqe(0, 0x10, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    resume();
    settle();
    EXPECT_EQ(bench.sent.size(), 1u);
    // A new QP of this number does not wait.
    bench.create_rc(1);
    resume();
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, kPmtu));
    settle();
    EXPECT_EQ(bench.sent.size(), 2u);
}

TEST_P(Pauses, DatagramIsLostAndItsReceiveStays) {
    bench.create_ud(2);
    bench.post(2, 0x20, {{kIova, kOtherKey, 50}, {kIova, kKey, kPmtu}});
    settle();
    bench.pause_region(kKey);
    rtl::Rxh h = request(kUdSendOnly, 5);
    h.qkey = 0x11111111;
    bench.packet(2, h, pattern(60, 1));
    settle();
    EXPECT_TRUE(bench.cqes.empty());
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_UD_NO_BUFFER), 1u);
    EXPECT_EQ(bench.query(2).rq_consumer, 0u);
    resume();
    bench.packet(2, h, pattern(60, 2));
    settle();
    ASSERT_EQ(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].wqe_index, 0x20u);
    const Bytes data = pattern(60, 2);  // GRH and its first 10 bytes go to kOtherKey
    EXPECT_EQ(bench.read_memory(kMoved, 50), Bytes(data.begin() + 10, data.end()));
}

TEST_P(Pauses, UcMessageIsDroppedAndItsReceiveIsTheNextOnes) {
    bench.create_uc(2);
    const std::uint32_t psn = bench.qp(2).cfg.rq_psn;
    bench.post(2, 0x20, {{kIova, kKey, 2 * kPmtu}});
    settle();
    bench.packet(2, request(kUcSendFirst, psn, false), pattern(kPmtu, 1));
    settle();
    bench.pause_region(kKey);
    bench.packet(2, request(kUcSendLast, psn + 1, false), pattern(20, 1));
    bench.packet(2, with_reth(kUcWriteOnly, psn + 2, kIova, 8), pattern(8, 1));
    settle();
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_UC), 2u);
    EXPECT_TRUE(bench.cqes.empty());
    EXPECT_EQ(bench.qp(2).state, DINGO_QPS_RTS);
    resume();
    bench.packet(2, request(kUcSendOnly, psn + 3, false), pattern(20, 2));
    settle();
    ASSERT_EQ(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].wqe_index, 0x20u);
    EXPECT_EQ(bench.read_memory(kMoved, 20), pattern(20, 2));
}

TEST_P(Pauses, EntryOfAnSrqGoesBackAndAnotherGetsIt) {
    bench.create_srq(2);
    for (const unsigned qp : {3u, 4u}) {
        bench.create_rc(qp);
        bench.share(qp, 2);
    }
    constexpr std::uint32_t paused = 0x00070011;
    bench.add_region({paused, Bench::kSrqPd, 0x1f, kIova, 1 << 20, kBase});
    bench.pause_region(paused);
    bench.post_srq(2, 0x30, {{kIova, paused, kPmtu}});
    settle();
    bench.packet(3, request(kSendOnly, bench.qp(3).cfg.rq_psn), pattern(20, 1));
    settle();
    expect_reply(kSynRnr, bench.qp(3).cfg.rq_psn, 0);
    bench.resume_region(paused, kMoved);
    bench.packet(4, request(kSendOnly, bench.qp(4).cfg.rq_psn), pattern(20, 2));
    settle();
    ASSERT_EQ(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].wqe_index, 0x30u);
    EXPECT_EQ(bench.cqes[0].qp, 4);
    EXPECT_EQ(bench.read_memory(kMoved, 20), pattern(20, 2));
}

}  // namespace
}  // namespace bench
