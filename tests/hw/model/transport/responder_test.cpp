// SPDX-License-Identifier: BSD-2-Clause
//
// The RC responder against an arbitrary peer: PSN rules, duplicates, opcode order, lengths, keys.
#include <algorithm>

#include "peer.h"

namespace dingo::test {
namespace {

namespace syndrome = packet::syndrome;
using packet::Opcode;

class Responder : public Peer {
  protected:
    /// Expects a fatal NAK and the QP in ERR, with only this event; 0: none.
    void expect_fatal(std::uint8_t nak, std::uint32_t n, std::uint8_t kind,
                      const std::string& what = "") {
        expect_reply(nak, kRequestPsn + n, what.c_str());
        EXPECT_EQ(state(), DINGO_QPS_ERR) << what;
        bool seen = false;
        while (const auto entry = event()) {
            if (entry->id != qp.qpn)
                continue;
            EXPECT_EQ(entry->kind, kind) << what;
            seen = true;
        }
        EXPECT_EQ(seen, kind != 0) << what << ": event " << int{kind};
    }
    /// Replaces the QP, so that a test can try many fatal requests.
    void renew(const Options& options) {
        while (poll()) {
        }
        card.wire.sent.clear();
        ASSERT_EQ(card.driver.destroy(DINGO_OP_DESTROY_QP, qp.qpn).status, DINGO_ST_OK);
        make_qp(options);
        while (event()) {
        }
    }
};

TEST_F(Responder, OneAckForABurst) {
    start();
    for (std::uint32_t n = 0; n < 10; ++n)
        card.engine->receive(
            build("RC_RDMA_WRITE_ONLY ackreq" + psn(n) + at_mr() + " len=4 payload=4"));
    card.settle();
    expect_reply(syndrome::kAckNoCredits, kRequestPsn + 9);
    EXPECT_EQ(packet.aeth.msn, 10U);
    expect_silence();
    EXPECT_EQ(qp_stat(DINGO_QP_ACKS_SENT), 1U);
}

TEST_F(Responder, AnAnswerIsTheAckOfWhatCameBeforeIt) {
    start();
    std::uint32_t n = 0;
    for (const auto& [line, answer] :
         {std::pair{"RC_RDMA_READ_REQUEST len=10", Opcode::kRcReadResponseOnly},
          {"RC_FETCH_ADD add=1", Opcode::kRcAtomicAck}}) {
        SCOPED_TRACE(line);
        card.engine->receive(
            build("RC_RDMA_WRITE_ONLY ackreq" + psn(n++) + at_mr() + " len=4 payload=4"));
        card.engine->receive(build(line + psn(n) + at_mr()));
        card.settle();
        expect_packet(answer, kRequestPsn + n++);
        EXPECT_EQ(packet.aeth.msn, n);
        expect_silence();
    }
    EXPECT_EQ(qp_stat(DINGO_QP_ACKS_SENT), 0U);
}

TEST_F(Responder, AckComesBehindTheReadDataBeforeIt) {
    start();
    card.engine->receive(build("RC_RDMA_READ_REQUEST" + psn(0) + at_mr() + " len=10000"));
    card.engine->receive(
        build("RC_RDMA_WRITE_ONLY ackreq" + psn(40) + at_mr() + " len=4 payload=4"));
    card.settle();
    for (std::uint32_t n = 0; n < 40; ++n) {
        ASSERT_TRUE(next());
        EXPECT_EQ(packet.bth.psn, kRequestPsn + n);
        EXPECT_TRUE(packet.op().is_read_response());
    }
    expect_reply(syndrome::kAckNoCredits, kRequestPsn + 40);
}

TEST_F(Responder, DuplicateReadInterruptsALaterOne) {
    start();
    in("RC_RDMA_READ_REQUEST" + psn(0) + at_mr() + " len=512");
    while (next()) {
    }
    card.engine->receive(build("RC_RDMA_READ_REQUEST" + psn(2) + at_mr() + " len=20000"));
    card.engine->run(card.now, 4);
    card.engine->receive(build("RC_RDMA_READ_REQUEST" + psn(0) + at_mr() + " len=512"));
    card.settle();
    std::vector<std::uint32_t> psns;
    while (next())
        psns.push_back(packet.bth.psn - kRequestPsn);
    const auto again = std::find(psns.begin(), psns.end(), 0U);
    ASSERT_NE(again, psns.end());
    EXPECT_EQ(*(again + 1), 1U);
    EXPECT_EQ(psns.back(), 2U + 78U);
    EXPECT_EQ(psns.size(), 2U + 79U);
}

// A new READ takes the slot of the oldest one, whose repetition is then abandoned; but the READ
// itself is not executed yet.
TEST_F(Responder, ARepetitionIsAnsweredWhenTheOneBeforeItIsGivenUp) {
    Options options = defaults();
    options.path.max_rd_atomic = 2;
    start(options);
    const Mr paused = card.driver.create_mr(4096, kAll);
    ASSERT_EQ(card.driver.destroy(DINGO_OP_PAUSE_MR, paused.key).status, DINGO_ST_OK);
    const auto read = [&](std::uint32_t n) {
        return build("RC_RDMA_READ_REQUEST" + psn(n) + at_mr(n * 64) + " len=8");
    };
    fill(0, 128);
    for (std::uint32_t n = 0; n < 2; ++n) {
        card.receive(read(n));
        expect_packet(Opcode::kRcReadResponseOnly, kRequestPsn + n);
    }
    card.wire.busy = true;
    card.receive(read(0));
    card.receive(read(1));
    in("RC_RDMA_READ_REQUEST" + psn(2) + " va=" + std::to_string(paused.iova) +
       " rkey=" + std::to_string(paused.key) + " len=8");
    card.wire.busy = false;
    let_pass(1'000'000);
    expect_packet(Opcode::kRcReadResponseOnly, kRequestPsn + 1);
    EXPECT_TRUE(std::ranges::equal(packet.payload, memory(64, 8)));
    expect_reply(syndrome::rnr(12), kRequestPsn + 2);
    expect_silence();
}

TEST_F(Responder, RnrNakWithoutReceiveAndSilenceBehindIt) {
    start();
    in("RC_SEND_ONLY ackreq" + psn(0) + " payload=10");
    expect_reply(syndrome::rnr(12), kRequestPsn);
    in("RC_SEND_ONLY ackreq" + psn(1) + " payload=10");
    expect_silence();
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_BUFFER), 1U);
    EXPECT_EQ(stat(DINGO_CARD_RNR_NAK_SENT), 1U);
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_SEQUENCE), 0U);
    post_recv(1);
    in("RC_SEND_ONLY ackreq" + psn(0) + " payload=10");
    expect_reply(syndrome::kAckNoCredits, kRequestPsn);
    in("RC_RDMA_WRITE_ONLY_IMM ackreq" + psn(1) + at_mr() + " len=4 payload=hex:ffffffff imm=1");
    expect_reply(syndrome::rnr(12), kRequestPsn + 1);
    EXPECT_EQ(memory(0, 1)[0], std::byte{0});  // completely refused
}

// The RNR NAK acknowledges what came before the READ; the ACK of what came behind it waits.
TEST_F(Responder, AReadWhoseRegionIsPausedBeforeItsResponseIsAskedForAgain) {
    start();
    card.wire.busy = true;
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(0) + at_mr() + " len=4 payload=4");
    in("RC_RDMA_READ_REQUEST" + psn(1) + at_mr() + " len=1000");
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(5) + at_mr() + " len=4 payload=4");
    ASSERT_EQ(card.driver.destroy(DINGO_OP_PAUSE_MR, mr.key).status, DINGO_ST_OK);
    card.wire.busy = false;
    let_pass(1'000'000);
    const auto expect_rnr = [&] {
        expect_reply(syndrome::rnr(12), kRequestPsn + 1);
        EXPECT_EQ(packet.aeth.msn, 1U);
        expect_silence();
    };
    expect_rnr();
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(0) + at_mr() + " len=4 payload=4");
    expect_rnr();
    in("RC_RDMA_READ_REQUEST" + psn(1) + at_mr() + " len=1000");
    expect_rnr();
    EXPECT_EQ(stat(DINGO_CARD_RNR_NAK_SENT), 3U);
    EXPECT_EQ(qp_stat(DINGO_QP_RNR_NAK_SENT), 3U);
    card.driver.move_mr(mr, mr.bus, kAll);
    let_pass(1'000'000);
    for (std::uint32_t n = 1; n < 5; ++n) {
        ASSERT_TRUE(next());
        EXPECT_TRUE(packet.op().is_read_response());
        EXPECT_EQ(packet.bth.psn, kRequestPsn + n);
    }
    expect_reply(syndrome::kAckNoCredits, kRequestPsn + 5);
    expect_silence();
}

TEST_F(Responder, WhatComesBehindAGapIsCountedByCardAndQueuePair) {
    start();
    for (const std::uint32_t n : {1, 2, 3})
        in("RC_RDMA_WRITE_ONLY ackreq" + psn(n) + at_mr() + " len=4 payload=4");
    expect_reply(syndrome::kNakPsnSequence, kRequestPsn);
    expect_silence();
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_SEQUENCE), 3U);
    EXPECT_EQ(qp_stat(DINGO_QP_OUT_OF_SEQUENCE), 3U);
}

// A message keeps its receive while messages of other QPs arrive.
TEST_F(Responder, MessagesOfTwoQueuePairsEachFillTheirOwnReceive) {
    start();
    post_recv(1);
    const TestQp first = qp;
    make_qp(defaults());
    card.driver.post_recv(qp, 2, {mr.sge(0x4000, 4096)});
    const auto send = [&](const TestQp& to, const char* place, std::uint32_t n,
                          std::uint32_t bytes) {
        in(std::string("RC_SEND_") + place + psn(n) + " payload=pattern:" + std::to_string(bytes) +
           "@" + std::to_string(n * kPmtu) + " qpn=" + std::to_string(to.qpn));
    };
    for (const auto& [place, n] : {std::pair{"FIRST", 0U}, {"MIDDLE", 1U}, {"MIDDLE", 2U}})
        for (const TestQp& one : {first, qp})
            send(one, place, n, kPmtu);
    for (const auto& [one, tag] : {std::pair<const TestQp*, std::uint32_t>{&first, 1}, {&qp, 2}}) {
        send(*one, "LAST", 3, 10);
        const auto cqe = poll();
        ASSERT_TRUE(cqe);
        EXPECT_EQ(cqe->status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(cqe_qpn(*cqe), one->qpn);
        EXPECT_EQ(cqe->wqe_index, tag);
    }
    for (const std::uint64_t at : {0x8000, 0x4000})
        EXPECT_TRUE(is_pattern(at, 3 * kPmtu + 10)) << at;
}

TEST_F(Responder, MoreReadsThanAgreedIsAnInvalidRequest) {
    start();
    const std::uint32_t agreed = TestDriver::PathOptions{}.max_rd_atomic;
    for (std::uint32_t n = 0; n <= agreed; ++n)
        card.engine->receive(build("RC_RDMA_READ_REQUEST" + psn(n * 4) + at_mr() + " len=1000"));
    card.settle();
    std::uint32_t responses = 0;
    while (next() && packet.op().is_read_response())
        ++responses;
    EXPECT_EQ(responses, agreed * 4);
    EXPECT_EQ(packet.aeth.syndrome, syndrome::kNakInvalidRequest);
    EXPECT_EQ(state(), DINGO_QPS_ERR);
}

// The peer repeated its first READ, then received all data of the first response and continues: its
// next READ needs the slot whose repetition is still being sent.
TEST_F(Responder, ANewReadEndsTheRepetitionOfTheOldest) {
    start();
    const std::uint32_t agreed = TestDriver::PathOptions{}.max_rd_atomic;
    for (std::uint32_t n = 0; n < agreed; ++n)
        in("RC_RDMA_READ_REQUEST" + psn(n * 4) + at_mr() + " len=1000");
    while (next()) {
    }
    card.engine->receive(build("RC_RDMA_READ_REQUEST" + psn(0) + at_mr() + " len=1000"));
    card.engine->receive(build("RC_RDMA_READ_REQUEST" + psn(agreed * 4) + at_mr() + " len=100"));
    card.settle();
    bool answered = false;
    while (next()) {
        ASSERT_TRUE(packet.op().is_read_response());
        answered |= packet.bth.psn == kRequestPsn + agreed * 4;
    }
    EXPECT_TRUE(answered);
    EXPECT_EQ(state(), DINGO_QPS_RTS);
}

TEST_F(Responder, AnswersThatHaveNoSourceAddressAreNotSentLater) {
    start();
    card.wire.busy = true;
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(0) + at_mr() + " len=4 payload=4");
    in("RC_RDMA_READ_REQUEST" + psn(1) + at_mr() + " len=1000");
    card.driver.execute_ok(DINGO_OP_SET_GID, dingo_cmd_set_gid{});
    card.wire.busy = false;
    let_pass(1'000'000);
    expect_silence();
    card.driver.set_ipv4(0, 0x0a4d0001);
    post(request(DINGO_WR_WRITE, 10));
    expect_packet(Opcode::kRcWriteOnly, kCardPsn);
    expect_silence();
}

TEST_F(Responder, AReceiveThatCannotBeFetchedHasNoOtherQueuePairsTag) {
    start();
    post_recv(77);
    in("RC_SEND_ONLY ackreq" + psn(0) + " payload=10");
    expect_reply(syndrome::kAckNoCredits, kRequestPsn);
    EXPECT_EQ(poll()->wqe_index, 77U);
    const Options options = defaults();
    make_qp(options);
    post_recv(1);
    post_recv(2);
    card.host.break_range(qp.rq, 4096);
    in("RC_SEND_ONLY ackreq" + psn(0) + " payload=10");
    expect_fatal(syndrome::kNakRemoteOperational, 0, 0);
    auto cqe = poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->vendor_err, DINGO_VERR_WQE_FETCH);
    EXPECT_EQ(cqe->wqe_index, 0U);
    cqe = poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->status, DINGO_WCS_WR_FLUSH_ERR);
    EXPECT_EQ(cqe->wqe_index, 0U);
}

TEST_F(Responder, AnSrqInBrokenMemoryIsReported) {
    start_card();
    const Options options = defaults();
    Srq srq = card.driver.create_srq();
    QpOptions with_srq = options.qp;
    with_srq.srqn = srq.srqn;
    with_srq.log_rq = with_srq.log_stride = 0;
    qp = card.driver.create_qp(cq, cq, with_srq);
    card.driver.bring_up(qp, options.path);
    const std::uint64_t dropped = stat(DINGO_CARD_DB_DROPPED);
    card.driver.doorbell(srq.db_page,
                         DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, DINGO_DB_SRQ) | srq.srqn, 65);
    EXPECT_EQ(stat(DINGO_CARD_DB_DROPPED), dropped + 1) << "the ring has 64 entries";
    card.driver.post_recv(srq, 5, {mr.sge(0, 100)});
    card.host.break_range(srq.ring, 4096);
    in("RC_SEND_ONLY ackreq" + psn(0) + " payload=10");
    expect_reply(syndrome::kNakRemoteOperational, kRequestPsn);
    unsigned reported = 0;
    while (const auto entry = event())
        reported += entry->kind == DINGO_EV_SRQ_ERR && entry->id == srq.srqn;
    EXPECT_EQ(reported, 1U);
}

TEST_F(Responder, WireBusyLosesNoReply) {
    start();
    card.wire.busy = true;
    in("RC_RDMA_READ_REQUEST" + psn(0) + at_mr() + " len=1000");
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(4) + at_mr() + " len=4 payload=4");
    expect_silence();
    card.wire.busy = false;
    let_pass(1'000'000);
    for (std::uint32_t n = 0; n < 4; ++n)
        ASSERT_TRUE(next());
    expect_reply(syndrome::kAckNoCredits, kRequestPsn + 4);
    EXPECT_GT(stat(DINGO_CARD_WIRE_BUSY), 0U);
}

// With one slot for READs and atomics, each uses the slot of the one before.
TEST_F(Responder, ASlotKeepsNothingOfTheRequestBefore) {
    Options options = defaults();
    options.path.max_rd_atomic = 1;
    start(options);
    in("RC_FETCH_ADD" + psn(0) + at_mr() + " add=1");
    expect_packet(Opcode::kRcAtomicAck, kRequestPsn);
    in("RC_RDMA_READ_REQUEST" + psn(1) + at_mr() + " len=10");
    expect_packet(Opcode::kRcReadResponseOnly, kRequestPsn + 1);
    EXPECT_EQ(packet.payload.size(), 10U);
    in("RC_FETCH_ADD" + psn(2) + at_mr() + " add=1");
    expect_packet(Opcode::kRcAtomicAck, kRequestPsn + 2);
    EXPECT_EQ(packet.atomic_original, 1U);
}

TEST_F(Responder, ASlotThatWasAnsweredBeforeIsNotFreeWhileItAnswersAgain) {
    Options options = defaults();
    options.path.max_rd_atomic = 1;
    start(options);
    in("RC_RDMA_READ_REQUEST" + psn(0) + at_mr() + " len=10");
    expect_packet(Opcode::kRcReadResponseOnly, kRequestPsn);
    card.engine->receive(build("RC_RDMA_READ_REQUEST" + psn(1) + at_mr() + " len=10"));
    card.engine->receive(build("RC_RDMA_READ_REQUEST" + psn(2) + at_mr() + " len=10"));
    card.settle();
    expect_packet(Opcode::kRcReadResponseOnly, kRequestPsn + 1);
    expect_fatal(syndrome::kNakInvalidRequest, 2, DINGO_EV_QP_REQ_ERR);
}

TEST_F(Responder, SlotsThatAreChangedInSqdKeepTheNewestRequests) {
    Options options = defaults();
    options.path.max_rd_atomic = 4;
    start(options);
    const auto read = [&](std::uint32_t n) {
        in("RC_RDMA_READ_REQUEST" + psn(n) + at_mr() + " len=10");
    };
    const auto expect_answers = [&](std::uint32_t from, std::uint32_t to) {
        for (std::uint32_t n = from; n < to; ++n) {
            read(n);
            expect_packet(Opcode::kRcReadResponseOnly, kRequestPsn + n);
            EXPECT_EQ(packet.payload.size(), 10U);
        }
    };
    const auto change = [&](std::uint8_t slots) {
        dingo_qp_attr changed = attr();
        changed.max_dest_rd_atomic = slots;
        modify(DINGO_QPM_MAX_DEST_RD_ATOMIC, changed);
    };
    expect_answers(0, 5);  // the newest one is in the first slot
    card.wire.busy = true;
    read(5);
    card.driver.to_state(qp, DINGO_QPS_SQD);
    change(3);
    card.wire.busy = false;
    let_pass(1'000'000);
    expect_packet(Opcode::kRcReadResponseOnly, kRequestPsn + 5);
    expect_answers(3, 6);
    read(2);
    expect_silence();
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_DUPLICATE), 1U);
    expect_answers(6, 7);
    change(5);
    expect_answers(4, 9);
    expect_answers(4, 9);
    change(1);
    expect_answers(8, 11);
    change(0);
    read(10);
    expect_silence();
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_DUPLICATE), 2U);
    change(2);
    expect_answers(11, 13);
    expect_answers(11, 13);
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(13) + at_mr() + " len=4 payload=4");
    expect_reply(syndrome::kAckNoCredits, kRequestPsn + 13);
    expect_silence();
}

TEST_F(Responder, OtherChangesKeepWhatThePeerMayAskForAgain) {
    start();
    const auto read = [&] {
        in("RC_RDMA_READ_REQUEST" + psn(0) + at_mr() + " len=10");
        expect_packet(Opcode::kRcReadResponseOnly, kRequestPsn);
    };
    read();
    for (const unsigned mask : {unsigned{DINGO_QPM_ACCESS}, unsigned{DINGO_QPM_MIN_RNR_TIMER}}) {
        modify(mask, attr());
        read();
    }
    card.driver.to_state(qp, DINGO_QPS_SQD);
    read();
    modify(DINGO_QPM_AV | DINGO_QPM_TIMEOUT | DINGO_QPM_RETRY_CNT, attr());
    read();
    modify(DINGO_QPM_MAX_DEST_RD_ATOMIC, attr());
    read();
    card.driver.to_state(qp, DINGO_QPS_RTS);
    read();
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_DUPLICATE), 0U);
}

// An executed request is acknowledged even if the QP ends at the same time: otherwise the peer
// would retransmit to a QP that no longer exists.
TEST_F(Responder, AnOwedAckLeavesBeforeTheQpEnds) {
    start();
    card.engine->receive(
        build("RC_RDMA_WRITE_ONLY ackreq" + psn(0) + at_mr() + " len=4 payload=4"));
    card.driver.to_state(qp, DINGO_QPS_ERR);
    card.settle();
    expect_reply(syndrome::kAckNoCredits, kRequestPsn);
    expect_silence();
    renew(defaults());
    card.engine->receive(
        build("RC_RDMA_WRITE_ONLY ackreq" + psn(0) + at_mr() + " len=4 payload=4"));
    ASSERT_EQ(card.driver.destroy(DINGO_OP_DESTROY_QP, qp.qpn).status, DINGO_ST_OK);
    expect_reply(syndrome::kAckNoCredits, kRequestPsn);
    expect_silence();
}

TEST_F(Responder, AQpThatOwesNothingEndsInSilence) {
    start();
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(0) + at_mr() + " len=4 payload=4");
    expect_reply(syndrome::kAckNoCredits, kRequestPsn);
    renew(defaults());
    expect_silence();
    // The ACK would acknowledge a READ whose data was not sent.
    card.engine->receive(build("RC_RDMA_READ_REQUEST" + psn(0) + at_mr() + " len=4"));
    card.engine->receive(
        build("RC_RDMA_WRITE_ONLY ackreq" + psn(1) + at_mr() + " len=4 payload=4"));
    ASSERT_EQ(card.driver.destroy(DINGO_OP_DESTROY_QP, qp.qpn).status, DINGO_ST_OK);
    expect_silence();
}

TEST_F(Responder, AMessageWhoseCompletionIsLostIsNeverAcknowledged) {
    start_card();
    cq = card.driver.create_cq(0);
    const Options options = defaults();
    make_qp(options);
    post_recv(1);
    post_recv(2);
    in("RC_SEND_ONLY ackreq" + psn(0) + " payload=10");
    expect_reply(syndrome::kAckNoCredits, kRequestPsn);
    in("RC_SEND_ONLY ackreq" + psn(1) + " payload=10");
    EXPECT_EQ(stat(DINGO_CARD_CQ_OVERFLOW), 1U);
    EXPECT_EQ(state(), DINGO_QPS_ERR);
    expect_silence();
    ASSERT_EQ(card.driver.destroy(DINGO_OP_DESTROY_QP, qp.qpn).status, DINGO_ST_OK);
    expect_silence();
}

// The QP has ended already, without a NAK: the request's error is not reported in addition.
TEST_F(Responder, ARequestThatFailsWhileItsCompletionIsLostFailsOnce) {
    start_card();
    const auto lost = [&](const char* what, const std::string& line, std::uint16_t rsvd0 = 0) {
        SCOPED_TRACE(what);
        cq = card.driver.create_cq(0);
        make_qp(defaults());
        for (const std::uint32_t tag : {1, 2})
            card.driver.post_recv(qp, tag, {mr.sge(0, 100)});
        in("RC_SEND_ONLY ackreq" + psn(0) + " payload=10");
        expect_reply(syndrome::kAckNoCredits, kRequestPsn);
        if (rsvd0 != 0)
            card.host.store<std::uint16_t>(
                qp.rq + (std::uint64_t{1} << qp.log_stride) + offsetof(dingo_rq_wqe, rsvd0), rsvd0);
        while (event()) {
        }
        in(line + " ackreq" + psn(1));
        expect_silence();
        EXPECT_EQ(state(), DINGO_QPS_ERR);
        std::vector<int> kinds;
        while (const auto entry = event())
            if (entry->kind != DINGO_EV_CQ_ERR)
                kinds.push_back(entry->kind);
        EXPECT_EQ(kinds, std::vector<int>{DINGO_EV_QP_FATAL});
    };
    lost("bad receive", "RC_SEND_ONLY payload=10", 1);
    lost("too long for its receive", "RC_SEND_ONLY payload=101");
    lost("no such key", "RC_SEND_ONLY_INV payload=10 inv=1");
    for (const auto counter : {DINGO_CARD_RESP_REMOTE_OP_ERRORS, DINGO_CARD_RESP_INVALID_REQUESTS,
                               DINGO_CARD_RESP_REMOTE_ACCESS_ERRORS})
        EXPECT_EQ(stat(counter), 0U) << int{counter};
}

// Also if the ring is unmapped rather than full, and for all QPs that use the CQ.
TEST_F(Responder, ACompletionQueueThatCannotBeWrittenLosesNobodysMessageInSilence) {
    start_card();
    make_qp(defaults());
    post_recv(1);
    const TestQp first = qp;
    make_qp(defaults());
    post_recv(2);
    card.host.break_range(cq.ring, std::uint64_t{DINGO_CQE_SIZE} << cq.log_size);
    for (const TestQp& one : {first, qp}) {
        in("RC_SEND_ONLY ackreq" + psn(0) + " payload=10 qpn=" + std::to_string(one.qpn));
        expect_silence();
        EXPECT_EQ(card.driver.query_qp(one.qpn).state, DINGO_QPS_ERR);
    }
    EXPECT_EQ(stat(DINGO_CARD_DMA_ERRORS), 1U) << "it is not tried again";
}

// The receive that it would have used is flushed with the others.
TEST_F(Responder, ARequestOfAWrongLengthUsesNoReceive) {
    start();
    for (const std::string& line : {"RC_SEND_ONLY payload=" + std::to_string(kPmtu + 1),
                                    "RC_SEND_FIRST payload=" + std::to_string(kPmtu - 1),
                                    "RC_RDMA_WRITE_ONLY_IMM imm=1 len=5 payload=4" + at_mr()}) {
        SCOPED_TRACE(line);
        for (const std::uint32_t tag : {1, 2})
            post_recv(tag);
        in(line + psn(0));
        expect_fatal(syndrome::kNakInvalidRequest, 0, DINGO_EV_QP_REQ_ERR);
        for (const std::uint32_t tag : {1, 2}) {
            const auto cqe = poll();
            ASSERT_TRUE(cqe) << tag;
            EXPECT_EQ(cqe->status, DINGO_WCS_WR_FLUSH_ERR);
            EXPECT_EQ(cqe->wqe_index, tag);
        }
        EXPECT_FALSE(poll());
        renew(defaults());
    }
}

TEST_F(Responder, EveryReservedBitOfAReceiveIsChecked) {
    start();
    const auto refused = [&](const char* what, std::size_t offset, std::uint16_t value) {
        post_recv(3);
        card.host.store<std::uint16_t>(qp.rq + offset, value);
        in("RC_SEND_ONLY ackreq" + psn(0) + " payload=10");
        expect_reply(syndrome::kNakRemoteOperational, kRequestPsn, what);
        const auto cqe = poll();
        ASSERT_TRUE(cqe) << what;
        EXPECT_EQ(cqe->status, DINGO_WCS_LOC_QP_OP_ERR) << what;
        EXPECT_EQ(cqe->vendor_err, DINGO_VERR_WQE_SIZE) << what;
        EXPECT_EQ(cqe->wqe_index, 3U) << what;
        renew(defaults());
    };
    refused("rsvd0", offsetof(dingo_rq_wqe, rsvd0), 1);
    refused("rsvd0", offsetof(dingo_rq_wqe, rsvd0), 0x8000);
    for (std::size_t i = 0; i < sizeof(dingo_rq_wqe::rsvd1); i += 2)
        refused("rsvd1", offsetof(dingo_rq_wqe, rsvd1) + i, 1);
    refused("more entries than the stride holds", offsetof(dingo_rq_wqe, num_sge), 16);
    refused("more entries than any stride holds", offsetof(dingo_rq_wqe, num_sge), 0xFFFF);
}

}  // namespace
}  // namespace dingo::test
