// SPDX-License-Identifier: BSD-2-Clause
//
// SENDs of one packet, whose receive WQEs and keys are looked up before their steps (quick path):
// the results equal those of the long path, with any other packets between them.
#include <algorithm>

#include "responder_packets.h"

namespace bench {
namespace {

constexpr std::uint32_t kNoKey = 0x00060011;

class QuickSends : public ResponderTest {
  protected:
    static std::uint32_t length(unsigned n) { return 1 + n * 37 % kPmtu; }
    static std::uint64_t place(unsigned n, unsigned qp) { return 0x8000 * qp + 256 * (n % 128); }
    void post(unsigned n, unsigned qp = 1, std::uint32_t key = kKey, unsigned bytes = kPmtu) {
        bench.write_wqe(qp, qp << 16 | n, {{kIova + place(n, qp), key, bytes}});
    }
    void post_many(unsigned count, unsigned qp = 1) {
        for (unsigned n = 0; n < count; ++n)
            post(n, qp);
        bench.ring(qp);
        settle();
    }
    void send(unsigned n, unsigned qp = 1) {
        bench.packet(qp, request(kSendOnly, bench.qp(qp).cfg.rq_psn + n),
                     pattern(length(n), n + qp));
    }
    bool received(unsigned n, unsigned qp = 1) {
        return bench.read_memory(kBase + place(n, qp), length(n)) == pattern(length(n), n + qp);
    }
    /// Expects the successful completions of a QP to be those of its first `count` messages.
    void expect_completions(unsigned count, unsigned qp = 1) {
        unsigned next = 0;
        for (const rtl::CqeReq& c : bench.cqes) {
            if (c.qp != qp || c.status != DINGO_WCS_SUCCESS)
                continue;
            EXPECT_EQ(c.wqe_index, qp << 16 | next);
            EXPECT_EQ(c.byte_len, length(next));
            EXPECT_EQ(c.qpn_op, bench.qpn(qp) | std::uint32_t{DINGO_WC_RECV} << 24);
            ++next;
        }
        EXPECT_EQ(next, count) << "QP " << qp;
    }
};
INSTANTIATE_TEST_SUITE_P(Stalls, QuickSends, kStalls);

TEST_P(QuickSends, OfOneQp) {
    bench.create_rc(1, 6, 5);
    post_many(60);
    for (unsigned n = 0; n < 60; ++n)
        send(n);
    unsigned cycles = 0;
    while (bench.cqes.size() < 60 && cycles++ < 10'000)
        bench.cycle();
    if (GetParam().ready == 100) {
        EXPECT_LE(cycles, 60U * 5 + GetParam().commit_delay);
    }
    settle();
    expect_completions(60);
    for (unsigned n = 0; n < 60; ++n)
        EXPECT_TRUE(received(n)) << n;
    EXPECT_EQ(stat(DINGO_CARD_RX_SEND_REQUESTS), 60U);
    EXPECT_EQ(qp_stat(DINGO_QP_RECV_CQES), 60U);
    const auto info = bench.query(1);
    EXPECT_EQ(info.rq_consumer, 60U);
    EXPECT_EQ(info.msn, 60U);
    EXPECT_EQ(info.rq_psn, psn0() + 60);
}

/// dingo_rsp_ahead guesses the receive of a SEND by counting the SENDs of its QP before it: in the
/// queue, in work, and being stored. With fewer QPs, more of them are of the same QP.
TEST_P(QuickSends, OfOneToFourQpsInTurn) {
    for (unsigned qps = 1; qps < 5; ++qps) {
        bench.cqes.clear();
        for (unsigned qp = 1; qp <= qps; ++qp) {
            bench.create_rc(qp, 6, 5 + qp % 3);
            post_many(40, qp);
        }
        for (unsigned n = 0; n < 40; ++n)
            for (unsigned qp = 1; qp <= qps; ++qp)
                send(n, qp);
        settle();
        for (unsigned qp = 1; qp <= qps; ++qp) {
            expect_completions(40, qp);
            for (unsigned n = 0; n < 40; ++n)
                EXPECT_TRUE(received(n, qp)) << qp << ' ' << n;
        }
    }
}

TEST_P(QuickSends, ReceivesArePostedBetweenThem) {
    bench.create_rc(1, 6, 5);
    post_many(20);
    for (unsigned n = 0; n < 200; ++n) {
        send(n);
        post(n + 20);
        bench.ring(1);
        for (unsigned i = 0; i < n % 7; ++i)
            bench.cycle();
        if (n % 16 == 15)
            settle();
    }
    settle();
    expect_completions(200);
    EXPECT_EQ(bench.query(1).rq_producer, 220U);
}

TEST_P(QuickSends, WithoutAReceiveTheOneBehindIsNotReady) {
    post_many(3);
    for (unsigned n = 0; n < 6; ++n)
        send(n);
    settle();
    expect_completions(3);
    EXPECT_EQ(qp_stat(DINGO_QP_RNR_NAK_SENT), 1U);
    EXPECT_EQ(bench.sent.back().d.syndrome, 0x20 | 12);
    EXPECT_EQ(bench.sent.back().d.psn, psn0() + 3);
    for (unsigned n = 3; n < 6; ++n)
        post(n);
    bench.ring(1);
    settle();
    for (unsigned n = 3; n < 6; ++n)
        send(n);
    settle();
    expect_completions(6);
}

TEST_P(QuickSends, AGapAndARepetitionTakeNoReceive) {
    post_many(8);
    for (const unsigned n : {0U, 1U, 0U, 3U, 1U, 4U})
        send(n);
    settle();
    expect_completions(2);
    EXPECT_EQ(stat(DINGO_CARD_DUPLICATE_REQUEST), 2U);
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_SEQUENCE), 2U);
    for (unsigned n = 2; n < 8; ++n)
        send(n);
    settle();
    expect_completions(8);
}

TEST_P(QuickSends, AnEntryWithoutAKeyEndsTheQp) {
    for (unsigned n = 0; n < 8; ++n)
        post(n, 1, n == 4 ? kNoKey : kKey);
    bench.ring(1);
    settle();
    for (unsigned n = 0; n < 8; ++n)
        send(n);
    settle();
    expect_completions(4);
    expect_error_cqe(4, 1U << 16 | 4, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_KEY);
    for (unsigned n = 5; n < 8; ++n)
        expect_error_cqe(n, 1U << 16 | n, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    EXPECT_EQ(bench.failed_qps, (std::vector{1U}));
}

TEST_P(QuickSends, AnEntryThatIsTooShortEndsTheQp) {
    for (unsigned n = 0; n < 8; ++n)
        post(n, 1, kKey, n == 4 ? length(n) - 1 : length(n));
    bench.ring(1);
    settle();
    for (unsigned n = 0; n < 8; ++n)
        send(n);
    settle();
    expect_completions(4);
    expect_error_cqe(4, 1U << 16 | 4, DINGO_WCS_LOC_LEN_ERR, DINGO_VERR_RQ_TOO_SHORT);
    EXPECT_EQ(stat(DINGO_CARD_RESP_LOCAL_LENGTH_ERROR), 1U);
    EXPECT_EQ(bench.failed_qps, (std::vector{1U}));
}

TEST_P(QuickSends, AnEntryThatCannotBeReadEndsTheQp) {
    bench.bad_lines.insert(bench.ring_address(1) / 64 + 4);
    post_many(8);
    for (unsigned n = 0; n < 8; ++n)
        send(n);
    settle();
    expect_completions(4);
    EXPECT_EQ(bench.cqes[4].status, DINGO_WCS_LOC_QP_OP_ERR);
    EXPECT_EQ(bench.failed_qps, (std::vector{1U}));
}

TEST_P(QuickSends, BytesThatMemoryRefusesMakeThoseBehindVoid) {
    bench.bad_bytes = {kBase + place(4, 1), kBase + place(4, 1) + 1};
    post_many(8);
    for (unsigned n = 0; n < 8; ++n)
        send(n);
    settle();
    expect_completions(4);
    EXPECT_EQ(bench.query(1).msn, 4U);
    EXPECT_EQ(bench.query(1).rq_consumer, 8U);  // with the flushed ones
    expect_error_cqe(4, 1U << 16 | 4, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_BUS);
    ASSERT_EQ(bench.cqes.size(), 8U);
    for (unsigned n = 5; n < 8; ++n)
        expect_error_cqe(n, 1U << 16 | n, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
}

/// Groups of QPs 1 and 17 have the same places in dingo_rq_cache, and a 4 KiB page ends within a
/// group of their rings: one QP's group is fetched while the other's is looked up.
TEST_P(QuickSends, OfQpsWhoseEntriesDisplaceEachOther) {
    constexpr unsigned kOther = 17, kApart = 64, kMany = 400;
    for (const unsigned qp : {1U, kOther}) {
        bench.create_rc(qp, 8, 6);
        bench.qp(qp).cfg.rq.addr += 64;
    }
    std::vector<unsigned> posted(kOther + 1), sent(kOther + 1);
    for (unsigned n = 0; n < kMany + kApart; ++n) {
        for (const unsigned qp : {1U, kOther}) {
            if (qp == 1 && n < kApart)
                continue;
            while (posted[qp] < sent[qp] + 24)
                post(posted[qp]++, qp);
            bench.ring(qp);
        }
        if (n % 8 == 0)
            settle();
        if (n >= kApart)
            send(sent[1]++);
        send(sent[kOther]++, kOther);
    }
    settle();
    expect_completions(kMany);
    expect_completions(kMany + kApart, kOther);
}

/// The same packets to two responders. In the second one, receives have another SGE of no bytes, so
/// that all SENDs take the long path. Memory, completions, events and counters must be the same;
/// ACKs may be merged differently.
class SlowAndQuick : public ResponderTest {
  protected:
    static constexpr unsigned kQps = 8;
    SlowAndQuick() : slow_(GetParam()) {
        slow_.add_region({kKey, 7, 0x1f, kIova, 1 << 20, kBase});
        for (unsigned qp = 1; qp <= kQps; ++qp)
            for (Bench* b : {&bench, &slow_})
                b->create_rc(qp, 6, 6);
        bench.stats.clear();
        slow_.stats.clear();
    }
    void post(unsigned qp) {
        const unsigned n = bench.written(qp);
        const std::uint32_t key = random_() % 60 == 0 ? kNoKey : kKey;
        const std::uint16_t rsvd = random_() % 100 == 0 ? 1 : 0;
        const std::uint32_t bytes = random_() % 30 == 0 ? 100 : 3 * kPmtu;
        const Sge sge{kIova + 0x10000 * (qp - 1) + 1024 * (n % 64), key, bytes};
        bench.write_wqe(qp, qp << 16 | n, {sge}, rsvd);
        slow_.write_wqe(qp, qp << 16 | n, {sge, {}}, rsvd);
    }
    void packet(unsigned qp, const rtl::Rxh& h, const Bytes& payload) {
        bench.packet(qp, h, payload);
        slow_.packet(qp, h, payload);
    }
    void message(unsigned qp) {
        std::uint32_t& psn = psn_[qp];
        const unsigned kind = random_() % 24;
        rtl::Rxh h = request(kind < 12 ? kSendOnly : kSendOnlyImm, psn, random_() % 2 == 0);
        h.imm = static_cast<std::uint32_t>(random_());
        h.se = random_() % 2 == 0;
        const Bytes some = pattern(1 + random_() % kPmtu, random_() % 1000);
        if (kind == 16) {
            h.psn = (psn - 1 - random_() % 4) & 0xffffff;
        } else if (kind == 17) {
            h.psn = (psn + 1) & 0xffffff;
        } else if (kind == 18) {
            packet(qp, request(kSendFirst, psn, false), pattern(kPmtu, psn));
            h = request(kSendLast, psn + 1);
            psn += 2;
        } else if (kind == 19) {
            h = with_reth(kWriteOnly, psn++, kIova + 0x90000 + 256 * qp, some.size());
        } else if (kind == 20) {
            h = with_reth(kWriteOnlyImm, psn++, kIova + 0x90000 + 256 * qp, some.size());
        } else if (kind == 21) {
            packet(qp, request(kSendOnly, psn++), {});
            return;
        } else if (kind == 22 && random_() % 8 == 0) {
            h = request(kSendOnlyInv, psn++);
        } else {
            ++psn;
        }
        packet(qp, h, some);
    }
    static std::vector<std::vector<std::uint32_t>> told(const Bench& b, unsigned qp) {
        std::vector<std::vector<std::uint32_t>> all;
        for (const rtl::CqeReq& c : b.cqes)
            if (c.qp == qp)
                all.push_back({c.cq, c.from_rsp, c.wqe_index, c.byte_len, c.imm, c.qpn_op,
                               c.src_qpn, c.status, c.verr, c.vlan, c.flags});
        for (const rtl::Ev& e : b.events)
            if (e.id == b.qpn(qp))
                all.push_back({e.kind});
        return all;
    }
    void expect_same() {
        EXPECT_EQ(bench.memory, slow_.memory);
        EXPECT_EQ(bench.stats, slow_.stats);
        for (unsigned qp = 1; qp <= kQps; ++qp) {
            EXPECT_EQ(told(bench, qp), told(slow_, qp)) << qp;
            EXPECT_EQ(bench.qp(qp).state, slow_.qp(qp).state);
            for (unsigned i = 0; i < 16; ++i) {
                if (i != DINGO_QP_ACKS_SENT) {  // an ACK stands for a varying number of messages
                    EXPECT_EQ((bench.qp_stats[{qp, i}]), (slow_.qp_stats[{qp, i}])) << i;
                }
            }
            const auto a = bench.query(qp), b = slow_.query(qp);
            EXPECT_EQ(a.msn, b.msn) << qp;
            EXPECT_EQ(a.rq_psn, b.rq_psn) << qp;
            EXPECT_EQ(a.rq_consumer, b.rq_consumer) << qp;
            EXPECT_EQ(a.rq_producer, b.rq_producer) << qp;
        }
        EXPECT_TRUE(slow_.errors.empty()) << slow_.errors.front();
    }
    Bench slow_;
    std::mt19937 random_{GetParam().seed};
    std::uint32_t psn_[kQps + 1]{};
};
INSTANTIATE_TEST_SUITE_P(Stalls, SlowAndQuick, kStalls);

TEST_P(SlowAndQuick, TellTheSame) {
    for (unsigned life = 0; life < 12; ++life) {
        for (unsigned qp = 1; qp <= kQps; ++qp) {
            for (Bench* b : {&bench, &slow_})
                b->create_rc(qp, 6, 6);
            psn_[qp] = bench.qp(qp).cfg.rq_psn;
        }
        for (unsigned round = 0; round < 6; ++round) {
            for (unsigned qp = 1; qp <= kQps; ++qp) {
                const unsigned room = 64 - (bench.written(qp) - bench.query(qp).rq_consumer);
                for (unsigned n = std::min<unsigned>(room, random_() % 10); n > 0; --n)
                    post(qp);
                bench.ring(qp);
                slow_.ring(qp);
            }
            settle();
            ASSERT_TRUE(slow_.settle());
            for (unsigned qp = 1; qp <= kQps; ++qp)
                psn_[qp] = bench.query(qp).rq_psn;  // goes on with the first that was not executed
            for (unsigned n = random_() % 60; n > 0; --n)
                message(1 + random_() % (1 + round * kQps / 6));
            settle();
            ASSERT_TRUE(slow_.settle());
            expect_same();
            if (HasFailure())
                return;
        }
    }
}

}  // namespace
}  // namespace bench
