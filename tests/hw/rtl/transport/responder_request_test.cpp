// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_responder: SEND and WRITE of RC QPs: bytes in memory, then the completion, then the ACK.
#include <algorithm>

#include "responder_packets.h"

namespace bench {
namespace {

class Requests : public ResponderTest {};
INSTANTIATE_TEST_SUITE_P(Stalls, Requests, kStalls);

TEST_P(Requests, SendCompletesAndIsAcknowledged) {
    bench.post(1, 0xaa, {{kIova + 64, kKey, 512}});
    settle();
    rtl::Rxh h = request(kSendOnlyImm, psn0());
    h.imm = 0x44332211;
    h.se = true;
    const Bytes data = pattern(100, 1);
    bench.packet(1, h, data);
    settle();
    EXPECT_EQ(bench.read_memory(kBase + 64, 100), data);
    ASSERT_EQ(bench.cqes.size(), 1u);
    const rtl::CqeReq& c = bench.cqes[0];
    EXPECT_EQ(c.cq, 1);
    EXPECT_TRUE(c.from_rsp);
    EXPECT_EQ(c.wqe_index, 0xaau);
    EXPECT_EQ(c.byte_len, 100u);
    EXPECT_EQ(c.imm, 0x44332211u);
    EXPECT_EQ(c.status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(c.flags, DINGO_CQE_FLAGS_IMM_MASK | DINGO_CQE_FLAGS_SOLICITED_MASK);
    EXPECT_EQ(c.qpn_op, bench.qpn(1) | std::uint32_t{DINGO_WC_RECV_IMM} << 24);
    expect_reply(kSynAck, psn0(), 1);
    EXPECT_EQ(stat(DINGO_CARD_RX_SEND_REQUESTS), 1u);
    EXPECT_EQ(qp_stat(DINGO_QP_RECV_CQES), 1u);
    EXPECT_EQ(qp_stat(DINGO_QP_ACKS_SENT), 1u);
    std::vector<Step::Kind> order;
    for (const Step& step : bench.steps)
        order.push_back(step.kind);
    EXPECT_EQ(order, (std::vector{Step::kMemory, Step::kCqe, Step::kSent}));
}

/// Receive WQEs of every stride, SGEs of no bytes among them, messages of several packets.
TEST_P(Requests, SendScattersOverEntriesAndPackets) {
    for (const unsigned log_stride : {5U, 6U, 7U, 8U}) {
        const unsigned qp = log_stride;
        bench.create_rc(qp, 3, log_stride);
        const unsigned most = (1U << log_stride) / 16 - 1;
        std::uint32_t psn = bench.qp(qp).cfg.rq_psn;
        for (unsigned message = 0; message < 20; ++message) {
            const unsigned entries = 1 + message % most;
            std::vector<Sge> sges;
            std::vector<std::pair<std::uint64_t, unsigned>> places;
            std::uint64_t at = 4096 * (message % 8);
            unsigned room = 0;
            for (unsigned i = 0; i < entries; ++i) {
                const unsigned length = i == 1 ? 0 : entries == 1 ? 1000 : 77 + 31 * i;
                sges.push_back({kIova + at, i == 1 ? 0 : kKey, length});
                places.emplace_back(kBase + at, length);
                at += length + 13;
                room += length;
            }
            bench.post(qp, 100 + message, sges);
            settle();
            const unsigned length = std::min(room, 1 + 97 * message);
            const Bytes data = pattern(length, message);
            const unsigned packets = (length + kPmtu - 1) / kPmtu;
            for (unsigned i = 0; i < packets; ++i) {
                const bool last = i + 1 == packets;
                const std::uint8_t op =
                    i == 0 ? (last ? kSendOnly : kSendFirst) : (last ? kSendLast : kSendMiddle);
                const auto from = data.begin() + i * kPmtu;
                bench.packet(qp, request(op, psn++, last),
                             Bytes(from, last ? data.end() : from + kPmtu));
            }
            settle();
            ASSERT_EQ(bench.cqes.size(), 1u);
            EXPECT_EQ(bench.cqes[0].wqe_index, 100 + message);
            EXPECT_EQ(bench.cqes[0].byte_len, length);
            Bytes got;
            for (const auto& [address, bytes] : places) {
                const Bytes part = bench.read_memory(address, bytes);
                got.insert(got.end(), part.begin(), part.end());
            }
            got.resize(length);
            EXPECT_EQ(got, data);
            expect_reply(kSynAck, psn - 1, message + 1);
            bench.cqes.clear();
            bench.memory.clear();
        }
        const rtl::RspInfo info = bench.query(qp);
        EXPECT_EQ(info.rq_consumer, 20u);
        EXPECT_EQ(info.rq_producer, 20u);
        EXPECT_EQ(info.msn, 20u);
        EXPECT_EQ(info.rq_psn, psn);
    }
}

TEST_P(Requests, WriteGoesToItsAddressAndTellsNobody) {
    const Bytes data = pattern(600, 3);
    bench.packet(1, with_reth(kWriteFirst, psn0(), kIova + 40, 600), Bytes(&data[0], &data[256]));
    bench.packet(1, request(kWriteMiddle, psn0() + 1, false), Bytes(&data[256], &data[512]));
    bench.packet(1, request(kWriteLast, psn0() + 2), Bytes(data.begin() + 512, data.end()));
    settle();
    EXPECT_EQ(bench.read_memory(kBase + 40, 600), data);
    EXPECT_TRUE(bench.cqes.empty());
    ASSERT_FALSE(bench.sent.empty());
    EXPECT_EQ(bench.sent.back().d.psn, psn0() + 2);
    EXPECT_EQ(bench.sent.back().d.msn, 1u);
    EXPECT_EQ(stat(DINGO_CARD_RX_WRITE_REQUESTS), 1u);
}

TEST_P(Requests, WriteWithImmediateDataTakesAReceive) {
    bench.post(1, 0x77, {});
    settle();
    rtl::Rxh h = with_reth(kWriteOnlyImm, psn0(), kIova, 8);
    h.imm = 0xdeadbeef;
    bench.packet(1, h, pattern(8, 4));
    settle();
    ASSERT_EQ(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].byte_len, 8u);
    EXPECT_EQ(bench.cqes[0].imm, 0xdeadbeefu);
    EXPECT_EQ(bench.cqes[0].wqe_index, 0x77u);
    EXPECT_EQ(bench.cqes[0].qpn_op >> 24, unsigned{DINGO_WC_RECV_WRITE_IMM});
    expect_reply(kSynAck, psn0(), 1);
}

TEST_P(Requests, EmptyMessagesNeedNoKey) {
    bench.post(1, 5, {});
    settle();
    bench.packet(1, with_reth(kWriteOnly, psn0(), 0, 0, 0), {});
    bench.packet(1, request(kSendOnly, psn0() + 1));
    settle();
    ASSERT_EQ(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].byte_len, 0u);
    EXPECT_EQ(bench.sent.back().d.syndrome, kSynAck);
    EXPECT_EQ(bench.sent.back().d.msn, 2u);
}

/// The entries of a ring are read ahead of their use, each once: here 4 in a read.
TEST_P(Requests, EntriesAreReadAheadOnce) {
    for (unsigned i = 0; i < 8; ++i)
        bench.write_wqe(1, i, {{kIova, kKey, 256}});
    bench.ring(1);
    settle();
    EXPECT_EQ(bench.rq_reads, 2u);
    for (unsigned i = 0; i < 8; ++i)
        bench.packet(1, request(kSendOnly, psn0() + i), pattern(16, i));
    settle();
    EXPECT_EQ(bench.rq_reads, 2u);
    ASSERT_EQ(bench.cqes.size(), 8u);
    for (unsigned i = 0; i < 8; ++i)
        EXPECT_EQ(bench.cqes[i].wqe_index, i);
}

/// Rings of every stride and many sizes wrap many times and are posted in pieces: entries are used
/// in order, and none is used as it was read before it was posted.
TEST_P(Requests, RingsOfEveryStrideGoRound) {
    std::mt19937 random(4);
    for (unsigned stride = 5; stride <= 8; ++stride) {
        for (unsigned log_rq = 0; log_rq <= 6; log_rq += log_rq == 0 ? 1 : 2) {
            const unsigned qp = 2 + (stride * 4 + log_rq) % 20;
            bench.cqes.clear();
            bench.create_rc(qp, log_rq, stride);
            std::uint32_t posted = bench.written(qp), sent = posted;
            const std::uint32_t first = posted;
            for (unsigned round = 0; round < 40; ++round) {
                const unsigned room = (1U << log_rq) - (posted - sent);
                for (unsigned n = random() % (posted - sent + 1); n > 0; --n, ++sent)
                    bench.packet(qp, request(kSendOnly, bench.qp(qp).cfg.rq_psn + sent - first),
                                 pattern(16, sent));
                // More are posted while these are received.
                for (unsigned n = random() % (room + 1); n > 0; --n, ++posted)
                    bench.write_wqe(qp, 1000 + posted, {{kIova + 64, kKey, 256}});
                bench.ring(qp);
                settle();
            }
            ASSERT_EQ(bench.cqes.size(), sent - first) << stride << ' ' << log_rq;
            for (unsigned i = 0; i < sent - first; ++i)
                ASSERT_EQ(bench.cqes[i].wqe_index, 1000 + first + i) << stride << ' ' << log_rq;
        }
    }
}

TEST_P(Requests, RingMayLieInPages) {
    bench.create_rc(2, 5, 8);
    bench.page_ring(2);
    for (unsigned i = 0; i < 32; ++i)  // 2 pages of 16 entries
        bench.write_wqe(2, 500 + i, std::vector<Sge>(15, Sge{kIova + 256 * i, kKey, 10}));
    bench.ring(2);
    settle();
    for (unsigned i = 0; i < 32; ++i)
        bench.packet(2, request(kSendOnly, bench.qp(2).cfg.rq_psn + i), pattern(150, i));
    settle();
    ASSERT_EQ(bench.cqes.size(), 32u);
    for (unsigned i = 0; i < 32; ++i) {
        EXPECT_EQ(bench.cqes[i].wqe_index, 500 + i);
        EXPECT_EQ(bench.cqes[i].status, DINGO_WCS_SUCCESS);
        const Bytes sent = pattern(150, i);
        EXPECT_EQ(bench.read_memory(kBase + 256 * i, 10), Bytes(sent.begin() + 140, sent.end()));
    }
}

/// The cache must not give entries of the destroyed ring to the new QP of the same number.
TEST_P(Requests, NothingIsLeftOfAnOldRing) {
    bench.post(1, 0x11, {{kIova, kKey, 256}});
    settle();
    bench.create_rc(1);
    bench.post(1, 0x22, {{kIova, kKey, 256}});
    settle();
    bench.packet(1, request(kSendOnly, psn0()), pattern(16, 1));
    settle();
    ASSERT_EQ(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].wqe_index, 0x22u);
}

TEST_P(Requests, ReceiveQueueWrapsWithManyPackets) {
    std::uint32_t psn = psn0();
    for (unsigned round = 0; round < 12; ++round) {
        for (unsigned i = 0; i < 5; ++i)
            bench.write_wqe(1, 1000 + round * 5 + i, {{kIova + 512 * i, kKey, 512}});
        bench.ring(1);
        settle();
        for (unsigned i = 0; i < 5; ++i)
            bench.packet(1, request(kSendOnly, psn++, i == 4), pattern(200 + i, round));
        settle();
        ASSERT_EQ(bench.cqes.size(), 5 * (round + 1));
        for (unsigned i = 0; i < 5; ++i)
            EXPECT_EQ(bench.cqes[round * 5 + i].wqe_index, 1000 + round * 5 + i);
        expect_reply(kSynAck, psn - 1, 5 * (round + 1));
    }
}

TEST_P(Requests, DoorbellsOutsideTheRingAreRefused) {
    bench.doorbell(1, 17);  // the ring has 16
    settle();
    EXPECT_EQ(bench.bad_doorbells, 1u);
    bench.doorbell(1, 5);
    bench.doorbell(1, 4);  // backwards
    bench.doorbell(1, 16);
    settle();
    EXPECT_EQ(bench.bad_doorbells, 2u);
    bench.qp(2) = {};
    bench.doorbell(2, 0);  // a QP in RESET
    settle();
    EXPECT_EQ(bench.bad_doorbells, 3u);
    EXPECT_EQ(bench.query(1).rq_producer, 16u);
    EXPECT_EQ(stat(DINGO_CARD_DB_DROPPED), 3u);
}

TEST_P(Requests, FirstPacketInRtrIsAnEvent) {
    bench.qp(1).state = DINGO_QPS_RTR;
    bench.packet(1, with_reth(kWriteOnly, psn0(), kIova, 4), pattern(4, 1));
    bench.packet(1, with_reth(kWriteOnly, psn0() + 1, kIova, 4), pattern(4, 2));
    settle();
    ASSERT_EQ(bench.events.size(), 1u);
    EXPECT_EQ(bench.events[0].kind, DINGO_EV_COMM_EST);
    EXPECT_EQ(bench.events[0].id, bench.qpn(1));
}

/// Packets of four QPs' messages are interleaved: each message continues in its own receive WQE.
TEST_P(Requests, InterleavedMessagesKeepTheirReceives) {
    constexpr unsigned kPackets = 3;
    for (unsigned qp = 1; qp <= 4; ++qp) {
        bench.create_rc(qp, 3, qp % 2 ? 7 : 6);
        bench.post(qp, qp,
                   {{kIova + 0x10000 * qp, kKey, 100},
                    {kIova + 0x10000 * qp + 0x1000, kKey, 300},
                    {kIova + 0x10000 * qp + 0x2000, kKey, 400}});
    }
    settle();
    for (unsigned i = 0; i < kPackets; ++i)
        for (unsigned qp = 1; qp <= 4; ++qp)
            bench.packet(qp,
                         request(i == 0              ? kSendFirst
                                 : i + 1 == kPackets ? kSendLast
                                                     : kSendMiddle,
                                 bench.qp(qp).cfg.rq_psn + i, i + 1 == kPackets),
                         pattern(kPmtu, qp * 8 + i));
    settle();
    ASSERT_EQ(bench.cqes.size(), 4u);
    for (unsigned qp = 1; qp <= 4; ++qp) {
        Bytes expected, got;
        for (unsigned i = 0; i < kPackets; ++i) {
            const Bytes part = pattern(kPmtu, qp * 8 + i);
            expected.insert(expected.end(), part.begin(), part.end());
        }
        for (const auto& [offset, bytes] :
             {std::pair{0U, 100U}, std::pair{0x1000U, 300U}, std::pair{0x2000U, 368U}}) {
            const Bytes part = bench.read_memory(kBase + 0x10000 * qp + offset, bytes);
            got.insert(got.end(), part.begin(), part.end());
        }
        EXPECT_EQ(got, expected) << qp;
        EXPECT_EQ(bench.cqes[qp - 1].byte_len, kPackets * kPmtu);
    }
}

/// Random SENDs of 8 QPs: completions and ACKs of each QP are in order and complete.
TEST_P(Requests, ManyQueuePairsKeepTheirOwnOrder) {
    std::vector<std::uint32_t> psn(9);
    std::mt19937 random(5);
    for (unsigned qp = 1; qp <= 8; ++qp) {
        bench.create_rc(qp, 6, 5);
        psn[qp] = bench.qp(qp).cfg.rq_psn;
        for (unsigned i = 0; i < 40; ++i)
            bench.write_wqe(qp, qp << 16 | i, {{kIova + 4096 * qp, kKey, 256}});
        bench.ring(qp);
    }
    settle();
    for (unsigned i = 0; i < 200; ++i) {
        const unsigned qp = 1 + random() % 8;
        if (psn[qp] < bench.qp(qp).cfg.rq_psn + 40)
            bench.packet(qp, request(kSendOnly, psn[qp]++), pattern(1 + random() % 256, i));
    }
    settle();
    std::vector<std::uint32_t> next(9);
    for (const rtl::CqeReq& c : bench.cqes)
        EXPECT_EQ(c.wqe_index, std::uint32_t{c.qp} << 16 | next[c.qp]++);
    std::vector<std::uint32_t> acked(9);
    for (const Sent& s : bench.sent)
        acked[s.d.qp] = s.d.psn + 1;
    for (unsigned qp = 1; qp <= 8; ++qp) {
        EXPECT_EQ(next[qp], psn[qp] - bench.qp(qp).cfg.rq_psn);
        EXPECT_EQ(acked[qp], psn[qp]);
    }
}

}  // namespace
}  // namespace bench
