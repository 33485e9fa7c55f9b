// SPDX-License-Identifier: BSD-2-Clause
//
// The RC responder against a peer that does what it likes: PSN rules, duplicates, opcode order,
// lengths, keys.
#include <algorithm>

#include "peer.h"

namespace dingo::test {
namespace {

namespace syndrome = packet::syndrome;
using packet::Opcode;

class Responder : public Peer {
  protected:
    void expect_fatal(std::uint8_t nak, std::uint32_t n, std::uint8_t kind,
                      const std::string& what = "") {
        expect_reply(nak, kRequestPsn + n, what.c_str());
        EXPECT_EQ(state(), DINGO_QPS_ERR) << what;
        bool seen = kind == 0;
        while (const auto entry = event())
            seen = seen || (entry->kind == kind && entry->id == qp.qpn);
        EXPECT_TRUE(seen) << what << ": event " << int{kind};
    }
    /// A new QP, so that a test can try many fatal requests.
    void renew(const Options& options) {
        while (poll()) {
        }
        card.wire.sent.clear();
        ASSERT_EQ(card.driver.destroy(DINGO_OP_DESTROY_QP, qp.qpn).status, DINGO_ST_OK);
        qp = card.driver.create_qp(cq, cq, options.qp);
        card.driver.to_init(qp, options.path);
        card.driver.to_rtr(qp, options.path);
        card.driver.to_rts(qp, options.path);
        while (event()) {
        }
    }
};

TEST_F(Responder, AcknowledgesWhenAsked) {
    start();
    in("RC_RDMA_WRITE_ONLY" + psn(0) + at_mr() + " len=100 payload=100");
    expect_silence();
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(1) + at_mr(100) + " len=100 payload=100");
    expect_reply(syndrome::kAckNoCredits, kRequestPsn + 1);
    EXPECT_EQ(packet.aeth.msn, 2U);
    EXPECT_TRUE(is_pattern(0, 100));
    EXPECT_TRUE(is_pattern(100, 100));
}

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

TEST_F(Responder, OneNakForAGapWithTheExpectedPsn) {
    start();
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(2) + at_mr() + " len=4 payload=4");
    expect_reply(syndrome::kNakPsnSequence, kRequestPsn);
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_SEQUENCE), 1U);
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(3) + at_mr() + " len=4 payload=4");
    expect_silence();
    for (std::uint32_t n = 0; n < 4; ++n)
        in("RC_RDMA_WRITE_ONLY ackreq" + psn(n) + at_mr() + " len=4 payload=4");
    for (std::uint32_t n = 0; n < 4; ++n)
        expect_reply(syndrome::kAckNoCredits, kRequestPsn + n);
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(6) + at_mr() + " len=4 payload=4");
    expect_reply(syndrome::kNakPsnSequence, kRequestPsn + 4);
    EXPECT_EQ(qp_stat(DINGO_QP_SEQ_NAK_SENT), 2U);
}

TEST_F(Responder, DuplicateWriteIsAcknowledgedAndNotExecuted) {
    start();
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(0) + at_mr() + " len=4 payload=hex:01020304");
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(1) + at_mr() + " len=4 payload=hex:05060708");
    expect_reply(syndrome::kAckNoCredits, kRequestPsn);
    expect_reply(syndrome::kAckNoCredits, kRequestPsn + 1);
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(0) + at_mr() + " len=4 payload=hex:01020304");
    expect_reply(syndrome::kAckNoCredits, kRequestPsn + 1);
    EXPECT_EQ(memory(0, 1)[0], std::byte{5});
    EXPECT_EQ(stat(DINGO_CARD_DUPLICATE_REQUEST), 1U);
}

TEST_F(Responder, DuplicateSendTakesNoSecondReceive) {
    start();
    post_recv(1);
    post_recv(2);
    in("RC_SEND_ONLY ackreq" + psn(0) + " payload=10");
    in("RC_SEND_ONLY ackreq" + psn(0) + " payload=10");
    expect_reply(syndrome::kAckNoCredits, kRequestPsn);
    expect_reply(syndrome::kAckNoCredits, kRequestPsn);
    ASSERT_EQ(poll()->wqe_index, 1U);
    EXPECT_FALSE(poll());
    EXPECT_EQ(qp_stat(DINGO_QP_DUPLICATES), 1U);
}

TEST_F(Responder, DuplicateReadWholeAndTail) {
    start();
    fill(0, 1000);
    const std::string whole = "RC_RDMA_READ_REQUEST" + psn(0) + at_mr() + " len=1000";
    for (int round = 0; round < 2; ++round) {
        in(whole);
        const Opcode opcodes[] = {Opcode::kRcReadResponseFirst, Opcode::kRcReadResponseMiddle,
                                  Opcode::kRcReadResponseMiddle, Opcode::kRcReadResponseLast};
        for (std::uint32_t n = 0; n < 4; ++n) {
            expect_packet(opcodes[n], kRequestPsn + n);
            EXPECT_EQ(packet.payload.size(), n < 3 ? 256U : 232U);
            EXPECT_EQ(packet.payload[0], packet::pattern_byte(n * 256));
        }
        expect_silence();
    }
    in("RC_RDMA_READ_REQUEST" + psn(2) + at_mr(512) + " len=488");
    expect_packet(Opcode::kRcReadResponseFirst, kRequestPsn + 2);
    EXPECT_EQ(packet.payload[0], packet::pattern_byte(512));
    expect_packet(Opcode::kRcReadResponseLast, kRequestPsn + 3);
    EXPECT_EQ(packet.payload.size(), 232U);
    in("RC_RDMA_READ_REQUEST" + psn(3) + at_mr(768) + " len=232");
    expect_packet(Opcode::kRcReadResponseOnly, kRequestPsn + 3);
    expect_silence();
}

TEST_F(Responder, DuplicateReadOutsideTheSavedRequestIsDropped) {
    start();
    in("RC_RDMA_READ_REQUEST" + psn(0) + at_mr(256) + " len=1000");
    while (next()) {
    }
    in("RC_RDMA_READ_REQUEST" + psn(0) + at_mr(0) + " len=1000");
    in("RC_RDMA_READ_REQUEST" + psn(0) + at_mr(256) + " len=1001");
    in("RC_RDMA_READ_REQUEST" + psn(1) + at_mr(256) + " len=100");
    in("RC_RDMA_READ_REQUEST psn=" + std::to_string(kRequestPsn - 1) + at_mr(256) + " len=100");
    in("RC_RDMA_READ_REQUEST" + psn(0) + " va=0 rkey=1 len=100");
    expect_silence();
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_DUPLICATE), 5U);
    EXPECT_EQ(state(), DINGO_QPS_RTS);
}

TEST_F(Responder, DuplicateAtomicIsAnsweredFromMemoryOfTheCard) {
    start();
    card.host.store<std::uint64_t>(mr.bus, 100);
    const std::string add = "RC_FETCH_ADD" + psn(0) + at_mr() + " add=5";
    for (int round = 0; round < 3; ++round) {
        in(add);
        expect_packet(Opcode::kRcAtomicAck, kRequestPsn);
        EXPECT_EQ(packet.atomic_original, 100U);
        EXPECT_EQ(packet.aeth.syndrome, syndrome::kAckNoCredits);
    }
    EXPECT_EQ(card.host.load<std::uint64_t>(mr.bus), 105U);
    EXPECT_EQ(stat(DINGO_CARD_RX_ATOMIC_REQUESTS), 1U);
}

TEST_F(Responder, AtomicOlderThanTheSavedOnesIsDropped) {
    start();
    const std::uint32_t saved = TestDriver::PathOptions{}.max_rd_atomic;
    for (std::uint32_t n = 0; n <= saved; ++n)
        in("RC_FETCH_ADD" + psn(n) + at_mr() + " add=1");
    while (next()) {
    }
    in("RC_FETCH_ADD" + psn(0) + at_mr() + " add=1");
    expect_silence();
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_DUPLICATE), 1U);
    in("RC_FETCH_ADD" + psn(1) + at_mr() + " add=1");
    expect_packet(Opcode::kRcAtomicAck, kRequestPsn + 1);
    EXPECT_EQ(packet.atomic_original, 1U);
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
    EXPECT_EQ(memory(0, 1)[0], std::byte{0});  // refused as a whole
}

/// Verdict of the specification for opcode `second` behind `first`: accepted, or NAK 0x61.
bool may_follow(const packet::OpcodeTraits& first, const packet::OpcodeTraits& second) {
    const bool open = first.is_request() && !first.last;
    if (!open)
        return second.first;
    return !second.first && second.operation == first.operation;
}

TEST_F(Responder, AllPairsOfRequestOpcodes) {
    Options options = defaults();
    start(options);
    std::vector<Opcode> opcodes;
    for (unsigned op = 0; op <= 0x17; ++op)
        if (packet::traits(static_cast<Opcode>(op)).is_request())
            opcodes.push_back(static_cast<Opcode>(op));
    ASSERT_EQ(opcodes.size(), 17U);
    const auto line = [&](Opcode op, std::uint32_t n) {
        const packet::OpcodeTraits& t = packet::traits(op);
        std::string text = std::string(t.name) + " ackreq" + psn(n);
        if (t.has_reth())
            text += at_mr() + " len=" + (t.is_read_request() ? "100" : t.only() ? "256" : "2000");
        if (t.is_atomic())
            text += at_mr() + " add=1";
        if (t.has_ieth())
            text += " inv=1";
        if (t.carries_payload)
            text += " payload=256";
        return text;
    };
    for (const Opcode first : opcodes) {
        if (!packet::traits(first).first)
            continue;
        for (const Opcode second : opcodes) {
            SCOPED_TRACE(std::string(packet::name(first)) + " then " +
                         std::string(packet::name(second)));
            const packet::OpcodeTraits& a = packet::traits(first);
            const packet::OpcodeTraits& b = packet::traits(second);
            // An unknown key to invalidate, and a WRITE whose length does not fit its end, are
            // other errors.
            if (a.has_ieth() || b.has_ieth() || (b.is_write() && b.last && !b.first))
                continue;
            renew(options);
            for (std::uint32_t tag = 0; tag < 3; ++tag)
                post_recv(tag);
            in(line(first, 0));
            while (next()) {
            }
            ASSERT_EQ(state(), DINGO_QPS_RTS);
            in(line(second, 1));
            if (may_follow(a, b)) {
                ASSERT_TRUE(next());
                EXPECT_FALSE(packet.op().is_ack() && !syndrome::is_ack(packet.aeth.syndrome))
                    << to_text(packet);
                EXPECT_EQ(state(), DINGO_QPS_RTS);
            } else {
                expect_fatal(syndrome::kNakInvalidRequest, 1, DINGO_EV_QP_REQ_ERR);
            }
        }
    }
}

TEST_F(Responder, MessageCannotBeginInTheMiddle) {
    Options options = defaults();
    start(options);
    for (const char* name :
         {"RC_SEND_MIDDLE", "RC_SEND_LAST", "RC_SEND_LAST_IMM", "RC_SEND_LAST_INV",
          "RC_RDMA_WRITE_MIDDLE", "RC_RDMA_WRITE_LAST", "RC_RDMA_WRITE_LAST_IMM"}) {
        renew(options);
        in(std::string(name) + psn(0) + " payload=256");
        expect_fatal(syndrome::kNakInvalidRequest, 0, DINGO_EV_QP_REQ_ERR, name);
    }
}

class ResponderLength : public Responder, public ::testing::WithParamInterface<std::uint8_t> {};

TEST_P(ResponderLength, EdgesOfEveryPlaceInAMessage) {  // C9-92
    const std::uint32_t pmtu = 128U << GetParam();
    Options options = defaults();
    options.path.path_mtu = GetParam();
    start(options);
    const auto pay = [](std::uint32_t n) { return " payload=" + std::to_string(n); };
    const auto len = [](std::uint64_t n) { return " len=" + std::to_string(n); };
    struct Case {
        std::string first, second;  // second: empty, or sent after `first`
        bool good;
    };
    const std::string w = at_mr();
    const std::vector<Case> cases = {
        {"RC_SEND_ONLY" + pay(0), "", true},
        {"RC_SEND_ONLY" + pay(1), "", true},
        {"RC_SEND_ONLY" + pay(pmtu - 1), "", true},
        {"RC_SEND_ONLY" + pay(pmtu), "", true},
        {"RC_SEND_ONLY" + pay(pmtu + 1), "", false},
        {"RC_SEND_FIRST" + pay(pmtu), "", true},
        {"RC_SEND_FIRST" + pay(pmtu - 1), "", false},
        {"RC_SEND_FIRST" + pay(pmtu + 1), "", false},
        {"RC_SEND_FIRST" + pay(0), "", false},
        {"RC_SEND_FIRST" + pay(pmtu), "RC_SEND_MIDDLE" + pay(pmtu), true},
        {"RC_SEND_FIRST" + pay(pmtu), "RC_SEND_MIDDLE" + pay(pmtu - 1), false},
        {"RC_SEND_FIRST" + pay(pmtu), "RC_SEND_LAST" + pay(0), false},
        {"RC_SEND_FIRST" + pay(pmtu), "RC_SEND_LAST" + pay(1), true},
        {"RC_SEND_FIRST" + pay(pmtu), "RC_SEND_LAST" + pay(pmtu), true},
        {"RC_SEND_FIRST" + pay(pmtu), "RC_SEND_LAST" + pay(pmtu + 1), false},
        {"RC_RDMA_WRITE_ONLY" + w + len(0), "", true},
        {"RC_RDMA_WRITE_ONLY" + w + len(pmtu) + pay(pmtu), "", true},
        {"RC_RDMA_WRITE_ONLY" + w + len(pmtu + 1) + pay(pmtu + 1), "", false},
        {"RC_RDMA_WRITE_ONLY" + w + len(8) + pay(4), "", false},
        {"RC_RDMA_WRITE_ONLY" + w + len(4) + pay(8), "", false},
        {"RC_RDMA_WRITE_FIRST" + w + len(pmtu + 1) + pay(pmtu), "", true},
        {"RC_RDMA_WRITE_FIRST" + w + len(pmtu) + pay(pmtu), "", false},
        {"RC_RDMA_WRITE_FIRST" + w + len(pmtu + 1) + pay(pmtu), "RC_RDMA_WRITE_LAST" + pay(1),
         true},
        {"RC_RDMA_WRITE_FIRST" + w + len(pmtu + 1) + pay(pmtu), "RC_RDMA_WRITE_LAST" + pay(2),
         false},
        {"RC_RDMA_WRITE_FIRST" + w + len(pmtu + 2) + pay(pmtu), "RC_RDMA_WRITE_LAST" + pay(1),
         false},
        {"RC_RDMA_WRITE_FIRST" + w + len(2 * pmtu) + pay(pmtu), "RC_RDMA_WRITE_MIDDLE" + pay(pmtu),
         false},
        {"RC_RDMA_WRITE_ONLY" + w + len((1ULL << 31) + 1) + pay(pmtu), "", false},
        {"RC_RDMA_READ_REQUEST" + w + len(0), "", true},
        {"RC_RDMA_READ_REQUEST" + w + len(pmtu + 1), "", true},
        {"RC_RDMA_READ_REQUEST" + w + len((1ULL << 31) + 1), "", false},
    };
    for (const Case& c : cases) {
        SCOPED_TRACE(c.first + " then " + c.second);
        renew(options);
        post_recv(1, 3 * 4096);
        in(c.first + " ackreq" + psn(0));
        if (!c.second.empty()) {
            while (next()) {
            }
            in(c.second + " ackreq" + psn(1));
        }
        if (c.good) {
            ASSERT_TRUE(next());
            EXPECT_EQ(packet.aeth.syndrome, syndrome::kAckNoCredits) << to_text(packet);
        } else {
            expect_fatal(syndrome::kNakInvalidRequest, c.second.empty() ? 0 : 1,
                         DINGO_EV_QP_REQ_ERR);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Pmtu, ResponderLength, ::testing::Values(1, 2, 3, 4, 5));

TEST_F(Responder, KeyErrorsAreRefusedAndNoByteIsWritten) {
    Options options = defaults();
    start(options);
    const Mr small = card.driver.create_mr(4096, kAll);
    const Mr read_only = card.driver.create_mr(4096, DINGO_ACC_REMOTE_READ);
    const Mr other_pd = card.driver.create_mr(4096, kAll, 2);
    const Mr gone = card.driver.create_mr(4096, kAll);
    card.driver.destroy(DINGO_OP_DESTROY_MR, gone.key);
    const auto where = [](std::uint64_t va, std::uint32_t key) {
        return " va=" + std::to_string(va) + " rkey=" + std::to_string(key);
    };
    struct Case {
        const char* what;
        std::string where;
        bool read_fails_too;
    };
    const std::vector<Case> cases = {
        {"unknown key", where(small.iova, small.key ^ 1), true},
        {"other PD", where(other_pd.iova, other_pd.key), true},
        {"no right to write", where(read_only.iova, read_only.key), false},
        {"destroyed", where(gone.iova, gone.key), true},
        {"one byte before", where(small.iova - 1, small.key), true},
        {"one byte behind", where(small.iova + 4096 - 100 + 1, small.key), true},
        {"wraps at 2^64", where(~std::uint64_t{0} - 10, small.key), true},
    };
    for (const Case& c : cases) {
        for (const bool read : {false, true}) {
            if (read && !c.read_fails_too)
                continue;
            renew(options);
            const auto before = card.host.dma_writes;
            in((read ? "RC_RDMA_READ_REQUEST ackreq" : "RC_RDMA_WRITE_ONLY ackreq") + psn(0) +
               c.where + " len=100" + (read ? "" : " payload=100"));
            expect_reply(syndrome::kNakRemoteAccess, kRequestPsn, c.what);
            EXPECT_LE(card.host.dma_writes - before, 1U) << c.what;  // the event's EQE
            EXPECT_EQ(state(), DINGO_QPS_ERR);
            expect_silence();
        }
    }
    EXPECT_EQ(stat(DINGO_CARD_RESP_REMOTE_ACCESS_ERRORS), 13U);
    for (unsigned i = 0; i < 4096; ++i)
        ASSERT_EQ(card.host.load<std::uint8_t>(small.bus + i), 0);
}

TEST_F(Responder, LastByteOfARegionIsReachable) {
    start();
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(0) + at_mr((1 << 20) - 100) + " len=100 payload=100");
    expect_reply(syndrome::kAckNoCredits, kRequestPsn);
    EXPECT_TRUE(is_pattern((1 << 20) - 100, 100));
}

TEST_F(Responder, ZeroLengthNeedsNoKey) {
    start();
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(0) + " va=0xdeadbeef rkey=0x1234 len=0");
    expect_reply(syndrome::kAckNoCredits, kRequestPsn);
    in("RC_RDMA_READ_REQUEST" + psn(1) + " va=0xdeadbeef rkey=0x1234 len=0");
    expect_packet(Opcode::kRcReadResponseOnly, kRequestPsn + 1);
    EXPECT_EQ(packet.payload.size(), 0U);
}

TEST_F(Responder, MisalignedAtomicIsAnInvalidRequest) {
    start();
    in("RC_FETCH_ADD" + psn(0) + at_mr(4) + " add=5");
    expect_fatal(syndrome::kNakInvalidRequest, 0, DINGO_EV_QP_REQ_ERR);
}

TEST_F(Responder, RightsOfTheQpAreChecked) {
    Options options = defaults();
    options.path.access = 0;
    start(options);
    for (const std::string& line : {"RC_RDMA_WRITE_ONLY" + psn(0) + at_mr() + " len=4 payload=4",
                                    "RC_RDMA_READ_REQUEST" + psn(0) + at_mr() + " len=4",
                                    "RC_FETCH_ADD" + psn(0) + at_mr() + " add=1"}) {
        renew(options);
        in(line);
        expect_fatal(syndrome::kNakInvalidRequest, 0, DINGO_EV_QP_REQ_ERR, line);
    }
}

TEST_F(Responder, MessageLongerThanTheReceiveBuffer) {
    start();
    post_recv(7, 300);
    in("RC_SEND_FIRST" + psn(0) + " payload=256");
    in("RC_SEND_LAST ackreq" + psn(1) + " payload=45");
    expect_fatal(syndrome::kNakInvalidRequest, 1, 0);
    const auto cqe = poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->status, DINGO_WCS_LOC_LEN_ERR);
    EXPECT_EQ(cqe->vendor_err, DINGO_VERR_RQ_TOO_SHORT);
    EXPECT_EQ(cqe->wqe_index, 7U);
    EXPECT_EQ(stat(DINGO_CARD_RESP_LOCAL_LENGTH_ERROR), 1U);
}

TEST_F(Responder, ReceiveBufferWithABadKeyIsTheResponderOwnFault) {
    start();
    dingo_sge bad = mr.sge(0, 100);
    bad.lkey ^= 1;
    card.driver.post_recv(qp, 3, {bad});
    post_recv(4);
    in("RC_SEND_ONLY ackreq" + psn(0) + " payload=10");
    expect_fatal(syndrome::kNakRemoteOperational, 0, 0);
    EXPECT_EQ(poll()->status, DINGO_WCS_LOC_PROT_ERR);
    const auto flushed = poll();
    ASSERT_TRUE(flushed);
    EXPECT_EQ(flushed->status, DINGO_WCS_WR_FLUSH_ERR);
    EXPECT_EQ(flushed->wqe_index, 4U);
    EXPECT_FALSE(poll());
}

TEST_F(Responder, WhatIsNotForThisConnectionIsDroppedInSilence) {
    start();
    const std::string good = "RC_RDMA_WRITE_ONLY ackreq" + psn(0) + at_mr() + " len=4 payload=4";
    struct Case {
        std::string extra;
        dingo_card_counter counter;
    };
    const std::vector<Case> cases = {
        {" qpn=77", DINGO_CARD_RX_DROP_BAD_QPN},
        {" qpn=" + std::to_string(qp.qpn ^ 0x10000), DINGO_CARD_RX_DROP_BAD_QPN},
        {" pkey=0x8001", DINGO_CARD_BAD_PKEY},
        {" src=10.77.0.8", DINGO_CARD_RX_DROP_ADDRESS},
        {" dst=10.77.0.7", DINGO_CARD_RX_DROP_ADDRESS},
        {" vlan=5", DINGO_CARD_RX_DROP_ADDRESS},
        {" badicrc", DINGO_CARD_RX_ICRC_ENCAPSULATED},
    };
    for (const Case& c : cases) {
        const std::uint64_t before = stat(c.counter);
        in(good + c.extra);
        EXPECT_EQ(stat(c.counter), before + 1) << c.extra;
        expect_silence();
    }
    in("UC_SEND_ONLY" + psn(0) + " payload=4");
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_OPCODE), 1U);
    in("CNP" + psn(0));
    EXPECT_EQ(stat(DINGO_CARD_RP_CNP_IGNORED), 1U);
    expect_silence();
    EXPECT_EQ(state(), DINGO_QPS_RTS);
    EXPECT_EQ(stat(DINGO_CARD_RX_WRITE_REQUESTS), 0U);
    in(good + " ecn=3 ttl=1 dscp=9");  // may change on the way
    expect_reply(syndrome::kAckNoCredits, kRequestPsn);
    EXPECT_EQ(stat(DINGO_CARD_NP_ECN_MARKED_ROCE_PACKETS), 1U);
    in("RC_RDMA_WRITE_ONLY ackreq pkey=0x7fff" + psn(1) + at_mr() +
       " len=4 payload=4");  // limited member
    expect_reply(syndrome::kAckNoCredits, kRequestPsn + 1);
}

TEST_F(Responder, StateDecidesWhatIsTaken) {
    Options options = defaults();
    options.rts = false;
    start(options);
    while (event()) {
    }
    in("RC_ACKNOWLEDGE psn=0 syndrome=ack");
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_QP_STATE), 1U);
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(0) + at_mr() + " len=4 payload=4");
    expect_reply(syndrome::kAckNoCredits, kRequestPsn);
    const auto established = event();
    ASSERT_TRUE(established);
    EXPECT_EQ(established->kind, DINGO_EV_COMM_EST);
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(1) + at_mr() + " len=4 payload=4");
    expect_reply(syndrome::kAckNoCredits, kRequestPsn + 1);
    EXPECT_FALSE(event());
    card.driver.to_state(qp, DINGO_QPS_ERR);
    in("RC_RDMA_WRITE_ONLY ackreq" + psn(2) + at_mr() + " len=4 payload=4");
    expect_silence();
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_QP_STATE), 2U);
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

// The peer repeated its first READ, then got all data of the first answer and goes on: its next
// READ needs the slot whose repetition is still being sent.
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
    qp = card.driver.create_qp(cq, cq, options.qp);
    card.driver.to_init(qp, options.path);
    card.driver.to_rtr(qp, options.path);
    card.driver.to_rts(qp, options.path);
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
    card.driver.to_init(qp, options.path);
    card.driver.to_rtr(qp, options.path);
    card.driver.to_rts(qp, options.path);
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

// With one slot for READs and atomics each of them uses what the one before it left.
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

// An executed request has its acknowledgement also when the QP ends in the same moment: its peer
// would repeat it to nobody.
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
    // The ACK would acknowledge a READ whose data has not left.
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
    qp = card.driver.create_qp(cq, cq, options.qp);
    card.driver.to_init(qp, options.path);
    card.driver.to_rtr(qp, options.path);
    card.driver.to_rts(qp, options.path);
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
