// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_responder: receives from shared receive queues. Each entry is taken once and completed
// once, also when its QP fails.
#include <algorithm>

#include "responder_packets.h"

namespace bench {
namespace {

constexpr unsigned kSrq = 5;
constexpr std::uint32_t kEntryKey = 0x00060022;  // a key of the SRQ's PD
constexpr std::uint64_t kEntryBase = 0x50000000;

/// QPs 1 and 2 on an SRQ of 8 entries.
class Srq : public ResponderTest {
  protected:
    Srq() {
        bench.create_rc(2);
        bench.add_region({kEntryKey, Bench::kSrqPd, 0x1f, kIova, 1 << 20, kEntryBase});
        make_srq(3);
    }
    void make_srq(unsigned log_size, unsigned log_stride = 6, std::uint32_t limit = 0) {
        bench.create_srq(kSrq, log_size, log_stride, limit);
        for (unsigned qp : {1U, 2U})
            bench.share(qp, kSrq);
    }
    static std::uint64_t slot(std::uint32_t tag) { return std::uint64_t{tag & 0xff} * 4096; }
    /// Posts an entry whose buffer address follows from its tag.
    void post(std::uint32_t tag, std::uint32_t length = 1024) {
        bench.post_srq(kSrq, tag, {{kIova + slot(tag), kEntryKey, length}});
    }
    void send(unsigned qp, unsigned number, std::size_t bytes, std::uint8_t opcode = kSendOnly) {
        bench.packet(qp, request(opcode, 1000 * qp + number), pattern(bytes, 16 * qp + number));
    }
    void expect_received(std::size_t index, unsigned qp, std::uint32_t tag, std::size_t bytes,
                         unsigned number) {
        ASSERT_LT(index, bench.cqes.size());
        const rtl::CqeReq& c = bench.cqes[index];
        EXPECT_EQ(c.status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(c.qp, qp);
        EXPECT_EQ(c.wqe_index, tag);
        EXPECT_EQ(c.byte_len, bytes);
        EXPECT_EQ(bench.read_memory(kEntryBase + slot(tag), bytes),
                  pattern(bytes, 16 * qp + number));
    }
    void expect_event(std::size_t index, std::uint8_t kind, std::uint32_t id) {
        ASSERT_LT(index, bench.events.size());
        EXPECT_EQ(bench.events[index].kind, kind);
        EXPECT_EQ(bench.events[index].id, id);
    }
    rtl::SrqInfo query() { return bench.srq_command(kSrq, rtl::kSrqaQuery); }
    std::uint32_t available() { return query().available; }
};
INSTANTIATE_TEST_SUITE_P(Stalls, Srq, kStalls);

TEST_P(Srq, TwoQpsTakeEntriesInRingOrder) {
    for (std::uint32_t tag = 10; tag < 13; ++tag)
        post(tag);
    settle();
    EXPECT_EQ(available(), 3U);
    send(2, 0, 100);
    send(1, 0, 0);
    send(2, 1, 256);
    settle();
    ASSERT_EQ(bench.cqes.size(), 3U);
    expect_received(0, 2, 10, 100, 0);
    expect_received(1, 1, 11, 0, 0);
    expect_received(2, 2, 12, 256, 1);
    EXPECT_EQ(available(), 0U);
    const rtl::RspInfo info = bench.query(1);
    EXPECT_EQ(info.rq_producer, 3U) << "a QP shows the place of its SRQ";
    EXPECT_EQ(info.rq_consumer, 3U);
    EXPECT_EQ(info.msn, 1U);
}

TEST_P(Srq, EveryStrideAndManyTimesAroundTheRing) {
    for (unsigned log_stride = 5; log_stride <= 8; ++log_stride) {
        bench.srq_command(kSrq, rtl::kSrqaDestroy);
        make_srq(1, log_stride);
        const unsigned entries = ((1U << log_stride) - 16) / 16;
        const std::size_t first = bench.cqes.size();
        for (std::uint32_t i = 0; i < 9; ++i) {
            // as many SGEs as the stride holds, of 32 adjacent bytes each
            std::vector<Sge> sges;
            for (unsigned k = 0; k < entries; ++k)
                sges.push_back({kIova + slot(i) + 32 * k, kEntryKey, 32});
            bench.post_srq(kSrq, i, sges);
            settle();
            const unsigned number = 9 * (log_stride - 5) + i;
            send(1, number, std::min(entries * 32U, 256U));
            settle();
            expect_received(first + i, 1, i, std::min(entries * 32U, 256U), number);
        }
    }
}

TEST_P(Srq, KeysAreOfItsPd) {
    bench.post_srq(kSrq, 10, {{kIova, kKey, 64}});  // a key of the QP's PD
    post(11);
    settle();
    send(1, 0, 64);
    settle();
    expect_error_cqe(0, 10, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_KEY_PD);
    expect_reply(kSynOperation, psn0(), 0);
    bench.packet(2, with_reth(kWriteOnly, 2000, kIova, 8), pattern(8, 1));  // checked with QP's PD
    send(2, 1, 100);
    settle();
    expect_received(1, 2, 11, 100, 1);
    EXPECT_EQ(bench.read_memory(kBase, 8), pattern(8, 1));
}

TEST_P(Srq, LimitFiresOnce) {
    make_srq(3, 6, 2);
    send(1, 0, 8);
    settle();
    EXPECT_TRUE(bench.events.empty()) << "only who takes an entry finds too few";
    for (std::uint32_t tag = 10; tag < 13; ++tag)
        post(tag);
    settle();
    EXPECT_EQ(query().limit, 2U);
    send(1, 0, 8);
    settle();
    EXPECT_TRUE(bench.events.empty());
    send(2, 0, 8);
    settle();
    ASSERT_EQ(bench.events.size(), 1U);
    expect_event(0, DINGO_EV_SRQ_LIMIT, kSrq);
    EXPECT_EQ(query().limit, 0U);
    send(1, 1, 8);
    settle();
    EXPECT_EQ(bench.events.size(), 1U);
}

TEST_P(Srq, LimitThatComesTooLateFiresAtOnceAndZeroDisarms) {
    post(10);
    post(11);
    settle();
    bench.srq_command(kSrq, rtl::kSrqaModify, 3);
    settle();
    ASSERT_EQ(bench.events.size(), 1U);
    expect_event(0, DINGO_EV_SRQ_LIMIT, kSrq);
    EXPECT_EQ(query().limit, 0U);
    bench.srq_command(kSrq, rtl::kSrqaModify, 2);
    EXPECT_EQ(query().limit, 2U);
    bench.srq_command(kSrq, rtl::kSrqaModify, 0);
    send(1, 0, 8);
    settle();
    EXPECT_EQ(bench.events.size(), 1U);
}

TEST_P(Srq, LimitCountsAMessageWhenItBeginsAndNotWhatGoesBack) {
    make_srq(3, 6, 1);
    post(10);
    settle();
    // 7 bytes of payload, 8 in the RETH: refused, and the entry goes back
    rtl::Rxh h = with_reth(kWriteOnlyImm, psn0(), kIova, 8);
    bench.packet(1, h, pattern(7, 1));
    settle();
    EXPECT_EQ(available(), 1U);
    ASSERT_EQ(bench.events.size(), 2U);
    expect_event(0, DINGO_EV_QP_REQ_ERR, bench.qpn(1));
    expect_event(1, DINGO_EV_QP_LAST_WQE, bench.qpn(1));
    send(2, 0, kPmtu, kSendFirst);
    settle();
    ASSERT_EQ(bench.events.size(), 3U);
    expect_event(2, DINGO_EV_SRQ_LIMIT, kSrq);
    send(2, 1, 4, kSendLast);
    settle();
    EXPECT_EQ(bench.cqes.size(), 1U);
    EXPECT_EQ(bench.events.size(), 3U);
}

TEST_P(Srq, EmptyOneIsNotReady) {
    send(1, 0, 8);
    settle();
    expect_reply(0x20 | 12, psn0(), 0);
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_BUFFER), 1U);
    post(10);
    settle();
    send(1, 0, 8);
    settle();
    expect_reply(kSynAck, psn0(), 1);
    expect_received(0, 1, 10, 8, 0);
}

TEST_P(Srq, DatagramsTakeFromItAndLoseWhatItLacks) {
    bench.create_ud(2);
    bench.share(2, kSrq);
    rtl::Rxh h = request(kUdSendOnly, 5, false);
    h.qkey = 0x11111111;
    bench.packet(2, h, pattern(8, 1));
    settle();
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_UD_NO_BUFFER), 1U);
    post(10, 64);
    settle();
    bench.packet(2, h, pattern(100, 1));  // too long: the entry goes back
    settle();
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_UD_LENGTH), 1U);
    EXPECT_EQ(available(), 1U);
    bench.packet(2, h, pattern(20, 3));
    settle();
    ASSERT_EQ(bench.cqes.size(), 1U);
    EXPECT_EQ(bench.cqes[0].wqe_index, 10U);
    EXPECT_EQ(bench.cqes[0].byte_len, 60U);
    EXPECT_EQ(bench.read_memory(kEntryBase + slot(10) + 40, 20), pattern(20, 3));
    EXPECT_EQ(available(), 0U);
}

TEST_P(Srq, EntryOfADroppedUcMessageIsTheNextOnes) {
    bench.create_uc(2);
    bench.share(2, kSrq);
    send(2, 0, 8, kUcSendOnly);
    settle();
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_BUFFER), 1U);
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_UC), 1U);
    post(10);
    post(11);
    settle();
    send(2, 1, kPmtu, kUcSendFirst);
    send(2, 3, 8, kUcSendLast);  // a gap
    settle();
    EXPECT_EQ(available(), 1U);
    send(2, 4, 9, kUcSendOnly);
    settle();
    ASSERT_EQ(bench.cqes.size(), 1U);
    expect_received(0, 2, 10, 9, 4);
    send(2, 5, kPmtu, kUcSendFirst);
    settle();
    bench.requester_failed(2);
    settle();
    ASSERT_EQ(bench.cqes.size(), 2U);
    expect_error_cqe(1, 11, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
}

/// While QP 1 is in the middle of a message, entries behind its entry complete, and all slots are
/// posted anew, also that of QP 1's entry. Its message still goes on in the old entry.
TEST_P(Srq, SlotOfAMessageInProgressMayBePostedAnew) {
    make_srq(1, 8);
    const auto entry = [](std::uint32_t tag) {
        std::vector<Sge> sges;
        for (unsigned k = 0; k < 15; ++k)
            sges.push_back({kIova + slot(tag) + 60 * k, kEntryKey, 60});
        return sges;
    };
    bench.post_srq(kSrq, 0, entry(0));
    bench.post_srq(kSrq, 1, entry(1));
    settle();
    send(1, 0, kPmtu, kSendFirst);
    settle();
    // more entries than dingo_rq_cache holds
    constexpr std::uint32_t kOthers = 600;
    for (std::uint32_t i = 0; i < kOthers; ++i) {
        send(2, i, 64);
        settle();
        ASSERT_EQ(bench.cqes.size(), i + 1);
        expect_received(i, 2, 1 + i % 200, 64, i);
        bench.post_srq(kSrq, 1 + (i + 1) % 200, entry(1 + (i + 1) % 200));
        settle();
    }
    bench.packet(1, request(kSendMiddle, psn0() + 1), pattern(kPmtu, 77));
    bench.packet(1, request(kSendLast, psn0() + 2), pattern(100, 78));
    settle();
    ASSERT_EQ(bench.cqes.size(), kOthers + 1);
    EXPECT_EQ(bench.cqes[kOthers].wqe_index, 0U);
    EXPECT_EQ(bench.cqes[kOthers].byte_len, 2 * kPmtu + 100);
    EXPECT_EQ(bench.read_memory(kEntryBase, kPmtu), pattern(kPmtu, 16));
    EXPECT_EQ(bench.read_memory(kEntryBase + kPmtu, kPmtu), pattern(kPmtu, 77));
    EXPECT_EQ(bench.read_memory(kEntryBase + 2 * kPmtu, 100), pattern(100, 78));
}

TEST_P(Srq, QpInErrorSaysOnceThatItTakesNoMore) {
    bench.cqe_delay = 50;
    post(10);
    post(11);
    settle();
    send(1, 0, kPmtu, kSendFirst);
    settle();
    bench.requester_failed(1);
    settle();
    ASSERT_EQ(bench.cqes.size(), 1U);
    expect_error_cqe(0, 10, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    ASSERT_EQ(bench.events.size(), 1U);
    expect_event(0, DINGO_EV_QP_LAST_WQE, bench.qpn(1));
    bench.doorbell(1, 1);
    bench.requester_failed(1);
    post(12);
    settle();
    EXPECT_EQ(bench.events.size(), 1U);
    EXPECT_EQ(stat(DINGO_CARD_DB_DROPPED), 1U) << "a QP with an SRQ has no RQ";
    send(2, 0, 30);
    settle();
    expect_received(1, 2, 11, 30, 0);
    EXPECT_EQ(available(), 1U);
}

/// Entries that packets of a QP took behind one that fails are flushed on that QP; they do not go
/// back to the SRQ.
TEST_P(Srq, WhatAFailedQpTookIsFlushed) {
    for (std::uint32_t tag = 0; tag < 8; ++tag)
        post(tag);
    settle();
    bench.bad_bytes = {kEntryBase + slot(1), kEntryBase + slot(1) + 1};
    send(1, 0, 200);
    send(1, 1, kPmtu, kSendFirst);  // fails
    send(1, 2, 10, kSendLast);
    send(1, 3, 20);
    send(2, 0, 30);
    send(1, 4, kPmtu, kSendFirst);
    bench.packet(1, with_reth(kWriteOnlyImm, psn0() + 5, kIova, 8), pattern(8, 1));
    send(2, 1, 40);
    settle();
    const std::uint32_t left = available();
    ASSERT_EQ(bench.cqes.size() + left, 8U) << "each entry that was taken completes once";
    std::vector<std::uint32_t> tags;
    unsigned good = 0;
    for (const rtl::CqeReq& c : bench.cqes) {
        tags.push_back(c.wqe_index);
        good += c.status == DINGO_WCS_SUCCESS;
        if (c.wqe_index == 1) {
            EXPECT_EQ(c.status, DINGO_WCS_LOC_PROT_ERR);
            EXPECT_EQ(c.verr, DINGO_VERR_BUS);
        } else if (c.status != DINGO_WCS_SUCCESS) {
            EXPECT_EQ(c.status, DINGO_WCS_WR_FLUSH_ERR);
            EXPECT_EQ(c.qp, 1U);
        }
    }
    std::ranges::sort(tags);
    for (std::uint32_t i = 0; i < tags.size(); ++i)
        EXPECT_EQ(tags[i], i);
    EXPECT_EQ(good, 3U);
    EXPECT_EQ(stat(DINGO_CARD_RESP_CQE_FLUSH_ERROR), bench.cqes.size() - 4);
    expect_event(bench.events.size() - 1, DINGO_EV_QP_LAST_WQE, bench.qpn(1));
    EXPECT_EQ(bench.qp(1).state, DINGO_QPS_ERR);
    EXPECT_EQ(bench.qp(2).state, DINGO_QPS_RTS);
}

/// As above, but all packets are done with phase 1 before the first one's bytes are refused.
TEST_P(Srq, MessageThatBeganBehindAFailedOneIsFlushed) {
    for (std::uint32_t tag = 0; tag < 4; ++tag)
        post(tag);
    settle();
    bench.bad_bytes = {kEntryBase + slot(0), kEntryBase + slot(0) + 1};
    bench.halt_commits = true;
    send(1, 0, 200);  // fails
    send(1, 1, 100);
    send(1, 2, kPmtu, kSendFirst);
    for (int i = 0; i < 2000; ++i)
        bench.cycle();
    bench.halt_commits = false;
    settle();
    ASSERT_EQ(bench.cqes.size(), 3U);
    expect_error_cqe(0, 0, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_BUS);
    expect_error_cqe(1, 1, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    expect_error_cqe(2, 2, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    EXPECT_EQ(available(), 1U);
}

TEST_P(Srq, EntryOfAMessageThatFailsLaterCompletesOnce) {
    post(0);
    post(1);
    settle();
    send(1, 0, kPmtu, kSendFirst);
    settle();
    bench.bad_bytes = {kEntryBase + slot(0) + kPmtu, kEntryBase + slot(0) + kPmtu + 1};
    bench.halt_commits = true;
    send(1, 1, kPmtu, kSendMiddle);  // fails
    send(1, 2, 10, kSendLast);
    send(1, 3, 10);
    for (int i = 0; i < 2000; ++i)
        bench.cycle();
    bench.halt_commits = false;
    settle();
    ASSERT_EQ(bench.cqes.size(), 2U);
    expect_error_cqe(0, 0, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_BUS);
    expect_error_cqe(1, 1, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
}

TEST_P(Srq, EntriesOfAFailedWriteAndOfThoseBehindAreFlushed) {
    for (std::uint32_t tag = 0; tag < 4; ++tag)
        post(tag);
    settle();
    bench.bad_bytes = {kBase, kBase + 1};
    bench.halt_commits = true;
    bench.packet(1, with_reth(kWriteOnlyImm, psn0(), kIova, 8), pattern(8, 1));
    send(1, 1, 10);
    send(1, 2, kPmtu, kSendFirst);
    for (int i = 0; i < 2000; ++i)
        bench.cycle();
    bench.halt_commits = false;
    settle();
    ASSERT_EQ(bench.cqes.size(), 3U);
    for (std::uint32_t tag = 0; tag < 3; ++tag)
        expect_error_cqe(tag, tag, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    EXPECT_EQ(stat(DINGO_CARD_RESP_CQE_FLUSH_ERROR), 3U);
}

TEST_P(Srq, EntryOfAWriteThatFailsIsFlushed) {
    post(10);
    post(11);
    settle();
    bench.bad_bytes = {kBase, kBase + 1};
    bench.packet(1, with_reth(kWriteOnlyImm, psn0(), kIova, 8), pattern(8, 1));
    settle();
    ASSERT_EQ(bench.cqes.size(), 1U);
    expect_error_cqe(0, 10, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    EXPECT_EQ(available(), 1U);
    ASSERT_EQ(bench.events.size(), 2U);
    expect_event(0, DINGO_EV_QP_FATAL, bench.qpn(1));
    expect_event(1, DINGO_EV_QP_LAST_WQE, bench.qpn(1));
}

TEST_P(Srq, EntryThatCannotBeReadStopsIt) {
    make_srq(3, 6, 8);
    bench.bad_lines.insert(bench.srq_address(kSrq, 0) / 64);
    post(10);
    post(11);
    settle();
    bench.srq_command(kSrq, rtl::kSrqaModify, 2);
    send(1, 0, 8);
    settle();
    expect_error_cqe(0, 0, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH);
    expect_reply(kSynOperation, psn0(), 0);
    ASSERT_EQ(bench.events.size(), 3U);
    expect_event(0, DINGO_EV_SRQ_ERR, kSrq);
    expect_event(1, DINGO_EV_SRQ_LIMIT, kSrq);
    expect_event(2, DINGO_EV_QP_LAST_WQE, bench.qpn(1));
    bench.bad_lines.clear();
    send(2, 0, 8);
    post(12);
    settle();
    expect_reply(0x20 | 12, 2000, 0);
    EXPECT_EQ(stat(DINGO_CARD_DB_DROPPED), 1U);
    EXPECT_EQ(bench.bad_doorbells, 1U);
    EXPECT_EQ(available(), 1U) << "what was posted before still counts";
    EXPECT_EQ(bench.cqes.size(), 1U);
}

TEST_P(Srq, EntryThatIsNoWqeEndsItsQpOnly) {
    bench.write_srq(kSrq, 10, {{kIova, kEntryKey, 64}}, 1);  // reserved bits
    bench.ring_srq(kSrq);
    bench.write_srq(kSrq, 11,
                    std::vector<Sge>(4, {kIova, kEntryKey, 64}));  // more than the stride holds
    bench.ring_srq(kSrq);
    post(12, 10);
    settle();
    send(1, 0, 8);
    settle();
    expect_error_cqe(0, 10, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_SIZE);
    expect_reply(kSynOperation, psn0(), 0);
    send(2, 0, 8);
    settle();
    expect_error_cqe(1, 11, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_SIZE);
    expect_reply(kSynOperation, 2000, 0);
    bench.create_rc(2);
    bench.share(2, kSrq);
    send(2, 0, 11);  // longer than the entry
    settle();
    expect_error_cqe(2, 12, DINGO_WCS_LOC_LEN_ERR, DINGO_VERR_RQ_TOO_SHORT);
    EXPECT_EQ(available(), 0U);
}

TEST_P(Srq, DoorbellsThatLie) {
    post(10);
    post(11);
    settle();
    bench.srq_doorbell(kSrq, 9);  // more than the ring holds
    bench.srq_doorbell(kSrq, 1);  // backwards
    bench.srq_doorbell(kSrq, 0xffffffff);
    bench.doorbell(1, 1);  // a QP with an SRQ has no RQ
    settle();
    EXPECT_EQ(bench.bad_doorbells, 4U);
    EXPECT_EQ(stat(DINGO_CARD_DB_DROPPED), 4U);
    EXPECT_EQ(available(), 2U);
    bench.srq_doorbell(kSrq, 8);  // full, with six entries that were not written
    settle();
    EXPECT_EQ(available(), 8U);
    send(2, 0, 8);
    settle();
    expect_received(0, 2, 10, 8, 0);
}

TEST_P(Srq, NewOneOfTheSameNumberBeginsAfresh) {
    for (std::uint32_t tag = 10; tag < 14; ++tag)
        post(tag);
    settle();
    send(1, 0, 8);
    settle();
    bench.srq_command(kSrq, rtl::kSrqaDestroy);
    make_srq(3);
    EXPECT_EQ(available(), 0U);
    post(20);
    post(21);
    settle();
    send(1, 1, 8);
    send(2, 0, 9);
    settle();
    ASSERT_EQ(bench.cqes.size(), 3U);
    expect_received(1, 1, 20, 8, 1);
    expect_received(2, 2, 21, 9, 0);
}

/// A QP's own RQ and an SRQ of the same number are two queues.
TEST_P(Srq, QueueOfTheQpWithItsNumberIsAnother) {
    bench.create_rc(kSrq);
    post(10);
    bench.post(kSrq, 30, {{kIova + slot(30), kKey, 64}});
    settle();
    send(kSrq, 0, 8);
    send(1, 0, 9);
    settle();
    ASSERT_EQ(bench.cqes.size(), 2U);
    expect_received(1, 1, 10, 9, 0);
    EXPECT_EQ(bench.cqes[0].qp, kSrq);
    EXPECT_EQ(bench.cqes[0].wqe_index, 30U);
    EXPECT_EQ(bench.read_memory(kBase + slot(30), 8), pattern(8, 16 * kSrq));
}

/// Doorbells of an SRQ come between packets and doorbells of the QP with the same number.
TEST_P(Srq, ContextOfTheQpWithItsNumberStaysAsItIs) {
    bench.create_rc(kSrq);
    bench.post(kSrq, 0, {{kIova, kKey, 64}});
    settle();
    for (std::uint32_t i = 0; i < 12; ++i) {
        bench.post(kSrq, i + 1, {{kIova + slot(i + 1), kKey, 64}});
        bench.srq_doorbell(kSrq, i / 2);  // some of them wrong
        bench.srq_doorbell(kSrq, 0);
        send(kSrq, i, 8);
        bench.srq_doorbell(kSrq, i / 3);
        if (i % 3 == 0)
            settle();
    }
    settle();
    ASSERT_EQ(bench.cqes.size(), 12U);
    for (std::uint32_t i = 0; i < 12; ++i)
        EXPECT_EQ(bench.cqes[i].wqe_index, i);
    const rtl::RspInfo info = bench.query(kSrq);
    EXPECT_EQ(info.rq_producer, 13U);
    EXPECT_EQ(info.rq_consumer, 12U);
}

// A reset 20 to 69 cycles after packets were offered: new QPs and the SRQ begin without entries.
TEST_P(Srq, ResetInTheMiddle) {
    for (unsigned round = 0; round < 8; ++round) {
        for (std::uint32_t tag = 0; tag < 4; ++tag)
            post(tag);
        send(1, 0, kPmtu, kSendFirst);
        send(2, 0, 8);
        for (unsigned i = 0; i < 20 + 7 * round; ++i)
            bench.cycle();
        bench.forget();
        bench.reset();
        bench.cqes.clear();
        bench.create_rc(1);
        bench.create_rc(2);
        make_srq(3);
        EXPECT_EQ(available(), 0U);
    }
    post(10);
    settle();
    send(2, 0, 8);
    settle();
    ASSERT_EQ(bench.cqes.size(), 1U);
    expect_received(0, 2, 10, 8, 0);
}

/// Eight QPs on two SRQs, interleaved messages of up to four packets: all bytes arrive, and each
/// entry is used once.
TEST_P(Srq, ManyQpsShareTwo) {
    constexpr unsigned kQps = 8, kMessages = 150;
    std::mt19937 random(GetParam().seed);
    std::map<unsigned, std::uint32_t> next_tag{{2, 0}, {3, 0}};
    std::map<unsigned, std::vector<std::uint32_t>> lengths;
    std::vector<unsigned> psn(kQps), at(kQps), done(kQps);
    for (unsigned srq : {2U, 3U})
        bench.create_srq(srq, 4, srq == 2 ? 5 : 7, 0);
    for (unsigned qp = 10; qp < 10 + kQps; ++qp) {
        bench.create_rc(qp);
        bench.share(qp, qp % 2 == 0 ? 2 : 3);
        for (unsigned i = 0; i < kMessages / kQps + 1; ++i)
            lengths[qp].push_back(random() % (4 * kPmtu));
    }
    const auto address = [](unsigned srq, std::uint32_t tag) {
        return (srq - 2) * 0x80000ULL + 1024ULL * tag;
    };
    unsigned posted = 0, begun = 0;
    bool more = true;
    std::size_t seen = 0;
    while (more) {
        // As the provider does: no more receives outstanding than the ring has slots.
        std::map<unsigned, std::size_t> completed;
        for (const rtl::CqeReq& c : bench.cqes)
            ++completed[c.qp % 2 == 0 ? 2 : 3];
        for (unsigned srq : {2U, 3U})
            while (next_tag[srq] - completed[srq] < 16) {
                const std::uint32_t tag = next_tag[srq]++;
                bench.post_srq(srq, tag, {{kIova + address(srq, tag), kEntryKey, 4 * kPmtu}});
                ++posted;
            }
        settle();
        more = false;
        for (unsigned i = 0; i < 24; ++i) {
            const unsigned qp = random() % kQps;
            const std::vector<std::uint32_t>& list = lengths[10 + qp];
            if (done[qp] == list.size())
                continue;
            more = true;
            const std::uint32_t length = list[done[qp]];
            const Bytes all = pattern(length, 40 * qp + done[qp]);
            const std::uint32_t from = at[qp] * kPmtu;
            const bool first = from == 0, last = length - from <= kPmtu;
            // Keeps the number of messages below that of free entries.
            if (first && ++begun > 8 && i > 8) {
                --begun;
                continue;
            }
            const Bytes part(all.begin() + from, all.begin() + std::min(from + kPmtu, length));
            bench.packet(
                10 + qp,
                request(first ? (last ? kSendOnly : kSendFirst) : (last ? kSendLast : kSendMiddle),
                        1000 * (10 + qp) + psn[qp]++),
                part);
            at[qp] = last ? 0 : at[qp] + 1;
            if (last)
                ++done[qp];
        }
        begun = 0;
        settle();
        for (; seen < bench.sent.size(); ++seen)
            ASSERT_EQ(bench.sent[seen].d.syndrome, kSynAck);
    }
    std::map<unsigned, unsigned> message;
    std::set<std::pair<unsigned, std::uint32_t>> used;
    for (const rtl::CqeReq& c : bench.cqes) {
        const unsigned srq = c.qp % 2 == 0 ? 2 : 3;
        ASSERT_EQ(c.status, DINGO_WCS_SUCCESS);
        ASSERT_TRUE(used.emplace(srq, c.wqe_index).second) << "an entry was used twice";
        const unsigned number = message[c.qp]++;
        ASSERT_EQ(c.byte_len, lengths[c.qp][number]);
        ASSERT_EQ(bench.read_memory(kEntryBase + address(srq, c.wqe_index), c.byte_len),
                  pattern(c.byte_len, 40 * (c.qp - 10) + number));
    }
    EXPECT_EQ(bench.cqes.size(), kQps * (kMessages / kQps + 1));
    EXPECT_GT(posted, 32U);
}

}  // namespace
}  // namespace bench
