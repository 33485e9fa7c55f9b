// SPDX-License-Identifier: BSD-2-Clause
//
// The RC requester against a scripted responder: packets and PSNs, acknowledgements of all kinds,
// NAKs, READ data that is late, duplicated, missing or wrong.
#include <functional>

#include "peer.h"

namespace dingo::test {
namespace {

using packet::Opcode;

class Requester : public Peer {
  protected:
    std::string response(const char* place, std::uint32_t n, std::uint32_t bytes,
                         std::uint64_t from = 0) {
        std::string text = std::string("RC_RDMA_READ_RESPONSE_") + place +
                           " psn=" + std::to_string((kCardPsn + n) & packet::kPsnMask) +
                           " payload=pattern:" + std::to_string(bytes) + "@" + std::to_string(from);
        if (std::string(place) != "MIDDLE")
            text += " syndrome=ack";
        return text;
    }
    void expect_done(std::uint8_t status, std::uint8_t vendor_err = DINGO_VERR_NONE) {
        const auto cqe = poll();
        ASSERT_TRUE(cqe) << "no completion";
        EXPECT_STREQ(status_name(cqe->status), status_name(status));
        EXPECT_EQ(cqe->vendor_err, vendor_err);
    }
    void drain() {
        while (next()) {
        }
    }
};

TEST_F(Requester, SequenceNaksWithoutProgressExhaustTheRetries) {
    for (const unsigned retries : {0U, 1U, 3U, 7U}) {
        SCOPED_TRACE(retries);
        Options options = defaults();
        options.path.retry_cnt = static_cast<std::uint8_t>(retries);
        if (card.host.dma_writes == 0)
            start_card();
        make_qp(options);
        post(request(DINGO_WR_WRITE, 10));
        for (unsigned i = 0; i <= retries; ++i) {
            expect_packet(Opcode::kRcWriteOnly, kCardPsn);
            in(ack(0, "nak:psn"));
        }
        expect_silence();
        expect_done(DINGO_WCS_RETRY_EXC_ERR, DINGO_VERR_NAK_SEQ);
        EXPECT_EQ(state(), DINGO_QPS_ERR);
    }
}

TEST_F(Requester, ModifyingAttributesInRtsGivesNoRetriesBack) {
    Options options = defaults();
    options.path.retry_cnt = 1;
    start(options);
    post(request(DINGO_WR_WRITE, 10));
    in(ack(0, "nak:psn"));
    drain();
    modify(DINGO_QPM_ACCESS, attr());
    EXPECT_EQ(card.driver.query_qp(qp.qpn).retries_left, 0);
    in(ack(0, "nak:psn"));
    expect_silence();
    expect_done(DINGO_WCS_RETRY_EXC_ERR, DINGO_VERR_NAK_SEQ);
}

TEST_F(Requester, FatalNaksFailTheirWqeAndFlushTheRest) {
    struct Case {
        const char* syndrome;
        std::uint8_t status, vendor_err;
        dingo_card_counter counter;
    };
    const Case cases[] = {
        {"nak:invreq", DINGO_WCS_REM_INV_REQ_ERR, DINGO_VERR_NAK_INVALID,
         DINGO_CARD_REQ_REMOTE_INVALID_REQUEST},
        {"nak:access", DINGO_WCS_REM_ACCESS_ERR, DINGO_VERR_NAK_ACCESS,
         DINGO_CARD_REQ_REMOTE_ACCESS_ERRORS},
        {"nak:op", DINGO_WCS_REM_OP_ERR, DINGO_VERR_NAK_OP, DINGO_CARD_REQ_REMOTE_OP_ERRORS},
    };
    start_card();
    for (const Case& c : cases) {
        SCOPED_TRACE(c.syndrome);
        make_qp(defaults());
        for (int i = 0; i < 4; ++i)
            post(request(DINGO_WR_WRITE, 10));
        drain();
        in(ack(1, c.syndrome));
        expect_done(DINGO_WCS_SUCCESS);
        expect_done(c.status, c.vendor_err);
        expect_done(DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
        expect_done(DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
        EXPECT_FALSE(poll());
        EXPECT_EQ(stat(c.counter), 1U);
        EXPECT_EQ(state(), DINGO_QPS_ERR);
    }
}

TEST_F(Requester, MissingReadDataIsAskedForAtOnceAlsoWhileDraining) {
    start();
    post(request(DINGO_WR_READ, 600));
    drain();
    card.driver.to_state(qp, DINGO_QPS_SQD);
    in(response("FIRST", 0, 256));
    in(response("LAST", 2, 88, 512));  // packet 1 is lost
    expect_packet(Opcode::kRcReadRequest, kCardPsn + 1);
    in(response("FIRST", 1, 256, 256));
    in(response("LAST", 2, 88, 512));
    expect_done(DINGO_WCS_SUCCESS);
    EXPECT_TRUE(is_pattern(0, 600));
}

TEST_F(Requester, ReadDataNeedsOneFetchOfItsWorkRequest) {
    start();
    post(request(DINGO_WR_WRITE, 10));
    in(ack(0));
    post(request(DINGO_WR_READ, 256 * 8));
    in(response("FIRST", 1, 256));
    const std::uint64_t reads = card.host.dma_reads;
    for (std::uint32_t n = 2; n < 8; ++n)
        in(response("MIDDLE", n, 256, (n - 1) * 256));
    EXPECT_EQ(card.host.dma_reads, reads);
    in(response("LAST", 8, 256, 7 * 256));
    expect_done(DINGO_WCS_SUCCESS);
    expect_done(DINGO_WCS_SUCCESS);
    EXPECT_TRUE(is_pattern(0, 256 * 8));
}

/// A byte of a posted work request that its program overwrites.
struct Changed {
    const char* what;
    std::uint64_t at;
    std::uint8_t value;
};

// The response then has no destination any more.
TEST_F(Requester, AReadWhoseWorkRequestWasChangedFails) {
    const Changed cases[] = {
        {"opcode", offsetof(dingo_wqe_ctrl, opcode), DINGO_WR_WRITE},
        {"no opcode", offsetof(dingo_wqe_ctrl, opcode), 0xff},
        {"length", 32 + offsetof(dingo_sge, length), 9},
        {"entries", offsetof(dingo_wqe_ctrl, num_sge), 0},
    };
    start_card();
    for (const Changed& c : cases) {
        SCOPED_TRACE(c.what);
        make_qp(defaults());
        post(request(DINGO_WR_READ, 10));
        expect_packet(Opcode::kRcReadRequest, kCardPsn);
        card.host.store<std::uint8_t>(qp.sq + c.at, c.value);
        in(response("ONLY", 0, 10));
        const auto cqe = poll();
        ASSERT_TRUE(cqe);
        EXPECT_EQ(cqe->status, DINGO_WCS_LOC_QP_OP_ERR);
        EXPECT_EQ(state(), DINGO_QPS_ERR);
        EXPECT_EQ(memory(0, 1)[0], std::byte{0}) << "nothing is written";
        EXPECT_FALSE(poll());
    }
}

TEST_F(Requester, ARequestThatCannotBeFetchedHasNoOpcodeOfTheOneBefore) {
    start();
    post(request(DINGO_WR_WRITE, 10));
    in(ack(0));
    expect_done(DINGO_WCS_SUCCESS);
    card.driver.post_send(qp, request(DINGO_WR_WRITE, 10));
    card.host.break_range(qp.sq, 4096);
    card.settle();
    const auto cqe = poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->vendor_err, DINGO_VERR_WQE_FETCH);
    EXPECT_EQ(cqe_opcode(*cqe), 0);
}

TEST_F(Requester, ARepetitionOfAWorkRequestThatWasChangedFails) {
    const Changed cases[] = {
        {"opcode", offsetof(dingo_wqe_ctrl, opcode), DINGO_WR_WRITE_IMM},
        {"length", 32 + offsetof(dingo_sge, length), 9},
    };
    start_card();
    for (const Changed& c : cases) {
        SCOPED_TRACE(c.what);
        make_qp(defaults());
        post(request(DINGO_WR_WRITE, 10));
        expect_packet(Opcode::kRcWriteOnly, kCardPsn);
        card.host.store<std::uint8_t>(qp.sq + c.at, c.value);
        in(ack(0, "nak:psn"));
        expect_silence();
        expect_done(DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH);
        EXPECT_EQ(state(), DINGO_QPS_ERR);
    }
}

TEST_F(Requester, RnrNakThatPassesAReadTwiceUsesNoRnrRetry) {
    Options options = defaults();
    options.path.rnr_retry = 0;
    start(options);
    post(request(DINGO_WR_READ, 100));
    post(request(DINGO_WR_SEND, 10));
    drain();
    in(ack(1, "rnr:5"));  // the READ's data is lost: both requests are repeated
    expect_packet(Opcode::kRcReadRequest, kCardPsn);
    expect_packet(Opcode::kRcSendOnly, kCardPsn + 1);
    in(ack(1, "rnr:5"));  // once more
    expect_silence();
    EXPECT_FALSE(poll());
    in(response("ONLY", 0, 100));
    in(ack(1));
    expect_done(DINGO_WCS_SUCCESS);
    expect_done(DINGO_WCS_SUCCESS);
}

TEST_F(Requester, SequenceNakThatPassesAReadTwiceUsesOneRetry) {
    Options options = defaults();
    options.path.retry_cnt = 1;
    start(options);
    post(request(DINGO_WR_READ, 100));
    post(request(DINGO_WR_WRITE, 10));
    drain();
    in(ack(1, "nak:psn"));  // the READ's data is lost: both requests are repeated
    expect_packet(Opcode::kRcReadRequest, kCardPsn);
    expect_packet(Opcode::kRcWriteOnly, kCardPsn + 1);
    in(ack(1, "nak:psn"));
    expect_silence();
    EXPECT_FALSE(poll());
    in(response("ONLY", 0, 100));
    in(ack(1));
    expect_done(DINGO_WCS_SUCCESS);
    expect_done(DINGO_WCS_SUCCESS);
}

TEST_F(Requester, AckThatPassesAReadIsAnImpliedNak) {
    start();
    post(request(DINGO_WR_WRITE, 10));
    post(request(DINGO_WR_READ, 100));
    post(request(DINGO_WR_WRITE, 10));
    drain();
    in(ack(2));
    expect_done(DINGO_WCS_SUCCESS);
    EXPECT_FALSE(poll());
    expect_packet(Opcode::kRcReadRequest, kCardPsn + 1);
    expect_packet(Opcode::kRcWriteOnly, kCardPsn + 2);
    EXPECT_EQ(stat(DINGO_CARD_IMPLIED_NAK_SEQ_ERR), 1U);
    in(response("ONLY", 1, 100));
    in(ack(2));
    expect_done(DINGO_WCS_SUCCESS);
    expect_done(DINGO_WCS_SUCCESS);
}

// Every response to a later request implies that the READ's data is lost; the later request waits
// for it.
TEST_F(Requester, WhateverPassesAReadAsksForItAgain) {
    struct Case {
        std::uint8_t opcode;  // of the request after the READ
        std::string line;
        std::uint8_t status, vendor_err;  // final status of that request
    };
    const Case cases[] = {
        {DINGO_WR_WRITE, ack(1), DINGO_WCS_SUCCESS, 0},
        {DINGO_WR_WRITE, ack(1, "nak:invreq"), DINGO_WCS_REM_INV_REQ_ERR, DINGO_VERR_NAK_INVALID},
        {DINGO_WR_WRITE, ack(1, "nak:access"), DINGO_WCS_REM_ACCESS_ERR, DINGO_VERR_NAK_ACCESS},
        {DINGO_WR_WRITE, ack(1, "nak:op"), DINGO_WCS_REM_OP_ERR, DINGO_VERR_NAK_OP},
        {DINGO_WR_WRITE, ack(1, "0x65"), DINGO_WCS_BAD_RESP_ERR, DINGO_VERR_BAD_RESPONSE},
        {DINGO_WR_READ, response("ONLY", 1, 8), DINGO_WCS_SUCCESS, 0},
        {DINGO_WR_FETCH_ADD,
         "RC_ATOMIC_ACKNOWLEDGE syndrome=ack orig=1 psn=" + std::to_string(kCardPsn + 1),
         DINGO_WCS_SUCCESS, 0},
    };
    start_card();
    std::uint64_t asked = 0;
    for (const Case& c : cases) {
        SCOPED_TRACE(c.line);
        make_qp(defaults());
        post(request(DINGO_WR_READ, 8));
        post(request(c.opcode, 8));
        drain();
        for (int i = 0; i < 2; ++i) {  // repeated only once for all such responses
            in(c.line);
            EXPECT_EQ(stat(DINGO_CARD_IMPLIED_NAK_SEQ_ERR), asked + 1);
        }
        ++asked;
        EXPECT_FALSE(poll());
        expect_packet(Opcode::kRcReadRequest, kCardPsn);
        ASSERT_TRUE(next());
        EXPECT_EQ(packet.bth.psn, kCardPsn + 1);
        expect_silence();
        in(response("ONLY", 0, 8));
        expect_done(DINGO_WCS_SUCCESS);
        in(c.line);
        expect_done(c.status, c.vendor_err);
    }
}

TEST_F(Requester, AWrongAnswerThatPassesAReadIsDropped) {
    start();
    post(request(DINGO_WR_READ, 8));
    post(request(DINGO_WR_WRITE, 8));
    drain();
    in(response("ONLY", 1, 8));
    in("RC_ATOMIC_ACKNOWLEDGE syndrome=ack orig=1 psn=" + std::to_string(kCardPsn + 1));
    expect_silence();
    EXPECT_FALSE(poll());
    EXPECT_EQ(state(), DINGO_QPS_RTS);
}

TEST_F(Requester, WrongResponsesFailTheQp) {
    start_card();
    struct Case {
        const char* what;
        std::uint8_t opcode;
        std::string line;
    };
    const Case cases[] = {
        {"too short", DINGO_WR_READ, response("FIRST", 0, 252)},
        {"last too early", DINGO_WR_READ, response("ONLY", 0, 256)},
        {"middle without first", DINGO_WR_READ, response("MIDDLE", 0, 256)},
        {"data for a write", DINGO_WR_WRITE, response("ONLY", 0, 100)},
        {"atomic for a read", DINGO_WR_READ,
         "RC_ATOMIC_ACKNOWLEDGE syndrome=ack orig=1 psn=" + std::to_string(kCardPsn)},
        {"read for an atomic", DINGO_WR_FETCH_ADD, response("ONLY", 0, 8)},
        {"reserved syndrome", DINGO_WR_WRITE, ack(0, "0x65")},
    };
    for (const Case& c : cases) {
        SCOPED_TRACE(c.what);
        make_qp(defaults());
        post(request(c.opcode, c.opcode == DINGO_WR_FETCH_ADD ? 8 : 600));
        drain();
        in(c.line);
        expect_done(DINGO_WCS_BAD_RESP_ERR, DINGO_VERR_BAD_RESPONSE);
        EXPECT_EQ(state(), DINGO_QPS_ERR);
    }
}

TEST_F(Requester, PacketsOfTwoMessagesDifferInTheirIpv4Identification) {
    start();
    post(request(DINGO_WR_WRITE, 3 * kPmtu));
    post(request(DINGO_WR_WRITE, 10));
    std::vector<std::uint16_t> seen;
    while (next())
        seen.push_back(packet.ip_id);
    ASSERT_EQ(seen.size(), 4U);
    for (std::size_t i = 1; i < seen.size(); ++i)
        EXPECT_EQ(seen[i], static_cast<std::uint16_t>(seen[0] + i));
}

TEST_F(Requester, WindowBoundsWhatIsInFlight) {
    start();
    post(request(DINGO_WR_WRITE, 512 * 1024));
    std::uint32_t sent = 0;
    bool asked = false;
    while (next()) {
        ++sent;
        asked = asked || packet.bth.ack_req;
    }
    EXPECT_EQ(sent, 256U);
    EXPECT_TRUE(asked);
    EXPECT_TRUE(packet.bth.ack_req) << "one answer must be able to open the whole window";
    in(ack(99));
    sent = 0;
    while (next())
        ++sent;
    EXPECT_EQ(sent, 100U);
}

// A peer that ACKs only on request would otherwise stall the window halfway.
TEST_F(Requester, EverySixtyFourthPacketOfALongMessageAsksForAnAck) {
    start();
    post(request(DINGO_WR_WRITE, 200 * kPmtu));
    for (unsigned n = 0; n < 200; ++n) {
        ASSERT_TRUE(next());
        EXPECT_EQ(packet.bth.ack_req, n % 64 == 63 || n == 199) << n;
    }
}

TEST_F(Requester, ARequestIsFetchedOnceForAllItsPackets) {
    start();
    SendWr wr = request(DINGO_WR_WRITE, 3 * kPmtu);
    post(wr);
    const std::uint64_t reads = card.host.dma_reads;
    post(wr);
    EXPECT_EQ(card.host.dma_reads - reads, 1U + 3U) << "the request and the data of each packet";
    wr.sges.clear();
    post(wr);
    EXPECT_EQ(card.host.dma_reads - reads, 1U + 3U + 1U);
}

TEST_F(Requester, ALossMakesTheWindowNoWider) {
    start();
    post(request(DINGO_WR_READ, 2 * kPmtu));
    post(request(DINGO_WR_WRITE, 512 * 1024));
    for (int round = 0; round < 3; ++round) {
        expect_packet(Opcode::kRcReadRequest, kCardPsn);
        std::uint32_t sent = 0;
        while (next())
            ++sent;
        EXPECT_EQ(sent, 256U) << round;
        in(ack(0, "nak:psn"));
    }
}

TEST_F(Requester, LongestReadSpansHalfOfThePsns) {
    start();
    SendWr wr = request(DINGO_WR_READ, 0);
    const Mr big = card.driver.create_mr(1ULL << 31, kAll);
    wr.sges = {big.sge(0, 1U << 31)};
    post(wr);
    expect_packet(Opcode::kRcReadRequest, kCardPsn);
    EXPECT_EQ(packet.reth.length, 1U << 31);
    post(request(DINGO_WR_WRITE, 10));
    expect_silence();  // its PSN would be ambiguous with the READ's
    in(response("FIRST", 0, 256));
    expect_packet(Opcode::kRcWriteOnly, kCardPsn + (1U << 23));
}

TEST_F(Requester, ReadsTogetherAskForUpTo4096Packets) {
    start();
    post(request(DINGO_WR_READ, 2048 * kPmtu));
    post(request(DINGO_WR_READ, 2048 * kPmtu));
    expect_packet(Opcode::kRcReadRequest, kCardPsn);
    expect_packet(Opcode::kRcReadRequest, kCardPsn + 2048);
    post(request(DINGO_WR_READ, 10));
    expect_silence();
    in(response("FIRST", 0, 256));
    expect_packet(Opcode::kRcReadRequest, kCardPsn + 4096);
}

TEST_F(Requester, SendThatInvalidatesMayCarryInlineData) {
    start();
    SendWr wr;
    wr.opcode = DINGO_WR_SEND_INV;
    wr.imm = 0x1234;
    wr.inline_data.assign(5, std::byte{7});
    post(wr);
    expect_packet(Opcode::kRcSendOnlyInv, kCardPsn);
    EXPECT_EQ(packet.inv_rkey, 0x1234U);
    EXPECT_EQ(packet.payload.size(), 5U);
}

TEST_F(Requester, QueuePairsTakeTurnsOfSixteenPackets) {
    start();
    TestQp first = qp;
    Options options = defaults();
    options.path.sq_psn = 0x8000;
    make_qp(options);
    card.driver.post_send(first, request(DINGO_WR_WRITE, 64 * kPmtu));
    card.driver.post_send(qp, request(DINGO_WR_WRITE, 64 * kPmtu));
    card.settle();
    for (unsigned n = 0; n < 128; ++n) {
        ASSERT_TRUE(next());
        EXPECT_EQ(packet.bth.psn >= 0x8000, n / 16 % 2 == 1) << n;
    }
}

TEST_F(Requester, WireBusyKeepsTheWork) {
    start();
    card.wire.busy = true;
    post(request(DINGO_WR_WRITE, 600));
    expect_silence();
    card.wire.busy = false;
    let_pass(1'000'000);
    expect_packet(Opcode::kRcWriteFirst, kCardPsn);
    expect_packet(Opcode::kRcWriteMiddle, kCardPsn + 1);
    expect_packet(Opcode::kRcWriteLast, kCardPsn + 2);
}

TEST_F(Requester, APortThatIsDownSendsNothingAndWhatWasLostIsRepeated) {
    start();
    const auto enable = [&](bool on) {
        dingo_cmd_set_port command{};
        command.flags = on ? DINGO_CMD_SET_PORT_FLAGS_ENABLE_MASK : 0;
        command.mtu = 9000;
        card.driver.execute_ok(DINGO_OP_SET_PORT, command);
    };
    const auto link = [&](bool on) { card.engine->set_link(on); };
    std::uint32_t n = 0;
    for (const std::function<void(bool)>& set_up : {std::function<void(bool)>(enable), {link}}) {
        const std::uint64_t sent = stat(DINGO_CARD_RDMA_TX_PACKETS);
        set_up(false);
        post(request(DINGO_WR_WRITE, 10));
        expect_silence();
        EXPECT_EQ(stat(DINGO_CARD_RDMA_TX_PACKETS), sent);
        EXPECT_EQ(qp_stat(DINGO_QP_TX_PACKETS), sent);
        set_up(true);
        let_pass(300'000'000);
        expect_packet(Opcode::kRcWriteOnly, kCardPsn + n);
        in(ack(n++));
        expect_done(DINGO_WCS_SUCCESS);
        drain();
    }
}

TEST_F(Requester, GidChangeTakesEffectOnOpenConnections) {
    start();
    const std::uint8_t other[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 33};
    card.driver.set_gid(0, other, 7);
    post(request(DINGO_WR_WRITE, 10));
    ASSERT_TRUE(next());
    EXPECT_EQ(to_string(packet.sgid), "10.77.0.33");
    EXPECT_TRUE(packet.has_vlan);
    EXPECT_EQ(packet.vlan_tci, 7);
}

TEST_F(Requester, PathAttributesStandInTheHeaders) {
    Options options = defaults();
    options.path.tclass = 0x6A;  // DSCP 26, ECT(0)
    options.path.hop_limit = 9;
    options.path.udp_sport = 0xD00D;
    options.path.sl = 5;
    start_card();
    const std::uint8_t ipv6[16] = {0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    card.driver.set_gid(3, ipv6, 100);
    options.path.sgid_index = 3;
    options.path.dgid = {0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
    options.path.flow_label = 0x12345;
    make_qp(options);
    post(request(DINGO_WR_WRITE, 10));
    ASSERT_TRUE(next());
    EXPECT_EQ(packet.l3, packet::L3Kind::kIpv6);
    EXPECT_EQ(packet.dscp, 26);
    EXPECT_EQ(packet.ecn, 2);
    EXPECT_EQ(packet.hop_limit, 9);
    EXPECT_EQ(packet.udp_sport, 0xD00D);
    EXPECT_EQ(packet.flow_label, 0x12345U);
    EXPECT_EQ(packet.vlan_tci, 5 << 13 | 100);
    EXPECT_EQ(packet.dmac, (packet::Mac{{2, 0, 0, 0, 0, 9}}));
    EXPECT_EQ(packet.smac.to_u64(), card.driver.read64(DINGO_REG_MAC));
}

TEST_F(Requester, APathGivenInSqdIsTheOneFromThenOn) {
    start();
    const auto write_from = [&](std::uint16_t peer_port) {
        post(request(DINGO_WR_WRITE, 10));
        ASSERT_TRUE(next());
        in(ack(packet.bth.psn - kCardPsn) + " sport=" + std::to_string(peer_port));
        ASSERT_TRUE(poll());
    };
    write_from(50'000);
    card.driver.to_state(qp, DINGO_QPS_SQD);
    dingo_qp_attr other = attr();
    other.hop_limit = 9;
    other.dmac[5] ^= 0x10;
    modify(DINGO_QPM_AV, other);
    card.driver.to_state(qp, DINGO_QPS_RTS);
    write_from(50'001);  // the new path may have another source port
    EXPECT_EQ(packet.hop_limit, 9);
    EXPECT_EQ(packet.dmac.bytes[5], other.dmac[5]);
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_ADDRESS), 0U);
}

TEST_F(Requester, AtomicsCarryTheirOperandsAndNothingElse) {
    start();
    std::uint32_t n = 0;
    for (const auto& [wr, opcode, compare] :
         {std::tuple{DINGO_WR_CMP_SWAP, Opcode::kRcCmpSwap, 0x1122334455667788ULL},
          {DINGO_WR_FETCH_ADD, Opcode::kRcFetchAdd, 0ULL}}) {
        SendWr atomic = request(static_cast<std::uint8_t>(wr), 8);
        atomic.swap_add = 0x99aabbccddeeff00;
        atomic.compare = 0x1122334455667788;
        post(atomic);
        expect_packet(opcode, kCardPsn + n++);
        EXPECT_EQ(packet.atomic_eth.va, 0x1000U);
        EXPECT_EQ(packet.atomic_eth.rkey, 0x99U);
        EXPECT_EQ(packet.atomic_eth.swap_add, atomic.swap_add);
        EXPECT_EQ(packet.atomic_eth.compare, compare);
    }
}

TEST_F(Requester, WhatWasPostedBeforeErrIsSentBeforeIt) {
    start();
    card.driver.post_send(qp, request(DINGO_WR_SEND, 10));  // the card was not run yet
    card.driver.to_state(qp, DINGO_QPS_ERR);
    expect_packet(Opcode::kRcSendOnly, kCardPsn);
    expect_done(DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
}

TEST_F(Requester, AGoneSourceGidFailsTheWork) {
    start();
    dingo_cmd_set_gid command{};
    card.driver.execute_ok(DINGO_OP_SET_GID, command);
    post(request(DINGO_WR_WRITE, 10));
    expect_silence();
    expect_done(DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_GID);
}

TEST_F(Requester, AnsweredReadsAndAtomicsLeaveTheWindowAsItWas) {
    start();
    const auto psn_of = [](std::uint32_t n) { return " psn=" + std::to_string(kCardPsn + n); };
    std::uint32_t n = 0;
    for (int round = 0; round < 5; ++round) {
        post(request(DINGO_WR_FETCH_ADD, 8));
        in("RC_ATOMIC_ACKNOWLEDGE" + psn_of(n++) + " syndrome=ack orig=5");
        expect_done(DINGO_WCS_SUCCESS);
        post(request(DINGO_WR_READ, 2 * kPmtu));
        in(response("FIRST", n++, kPmtu));
        in(response("LAST", n++, kPmtu));
        expect_done(DINGO_WCS_SUCCESS);
    }
    drain();
    post(request(DINGO_WR_WRITE, 512 * 1024));
    std::uint32_t sent = 0;
    while (next())
        ++sent;
    EXPECT_EQ(sent, 256U);
}

TEST_F(Requester, ALocalOperationIsPassedWhenTheMessagesAroundItAreRepeated) {
    start();
    post(request(DINGO_WR_WRITE, 10));
    SendWr nop;
    nop.opcode = DINGO_WR_NOP;
    post(nop);
    post(request(DINGO_WR_WRITE, 10));
    for (int round = 0; round < 3; ++round) {
        expect_packet(Opcode::kRcWriteOnly, kCardPsn);
        expect_packet(Opcode::kRcWriteOnly, kCardPsn + 1);
        expect_silence();
        if (round < 2)
            in(ack(0, "nak:psn"));
    }
    in(ack(1));
    for (const int opcode : {int{DINGO_WR_WRITE}, int{DINGO_WR_NOP}, int{DINGO_WR_WRITE}}) {
        const auto cqe = poll();
        ASSERT_TRUE(cqe);
        EXPECT_EQ(cqe_opcode(*cqe), opcode);
        EXPECT_EQ(cqe->status, DINGO_WCS_SUCCESS);
    }
    EXPECT_FALSE(poll());
}

// Responses to the peer are sent first; if they find the wire full, the QP's own requests are not
// tried in the same turn.
TEST_F(Requester, AFullWireIsAskedOnceInATurn) {
    start();
    card.wire.busy = true;
    card.driver.post_send(qp, request(DINGO_WR_WRITE, 10));
    card.engine->receive(build("RC_RDMA_READ_REQUEST" + psn(0) + at_mr() + " len=10"));
    card.engine->run(card.now, 1);
    EXPECT_EQ(stat(DINGO_CARD_WIRE_BUSY), 1U);
}

}  // namespace
}  // namespace dingo::test
