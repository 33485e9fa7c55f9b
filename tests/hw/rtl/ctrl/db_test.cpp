// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_db: every doorbell reaches its one target, in order, or is dropped and counted, by the
// rules of the C++ model.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>

#include "Vdingo_db.h"
#include "bench.h"
#include "dingo_hw.h"

namespace {

using namespace dingo::rtl;
constexpr unsigned kLog = 4;
constexpr unsigned kQps = 1 << kLog;
constexpr unsigned kCfg = 654 + 2 * 3 + 2 + 2;
constexpr unsigned kSrqLog = 2;
constexpr unsigned kSrqs = 1 << kSrqLog;
constexpr unsigned kTagLsb = kCfg - 1 - 8;
// fields between tag and page: kind, pdn, send_cq, recv_cq
constexpr unsigned kPageLsb = kTagLsb - 3 - 16 - 3 - 3 - 10;

enum Target { kNone, kSq, kRq, kCq, kEq, kEtx, kErx, kSrq };
struct Doorbell {
    unsigned page;
    std::uint32_t index;
    std::uint32_t word0;
};
struct QpEntry {
    bool valid = false;
    unsigned tag = 0;
    unsigned page = 0;
};

struct SrqEntry {
    bool on = false;
    unsigned page = 0;
};

/// As ModelEngine::ring() of the model, but the modules of CQ, EQ and Ethernet check their objects.
Target judge(const Doorbell& db, const std::array<QpEntry, kQps>& qps,
             const std::array<SrqEntry, kSrqs>& srqs) {
    const unsigned type = db.word0 >> 24 & 0xf;
    const std::uint32_t object = db.word0 & 0xffffff;
    std::uint32_t known = 0x0fffffff;
    if (type == DINGO_DB_SQ) {
        known |= DINGO_DOORBELL_WORD0_PUSHED_MASK;
    } else if (type == DINGO_DB_CQ) {
        known |= DINGO_DOORBELL_WORD0_ARM_SOLICITED_MASK | DINGO_DOORBELL_WORD0_ARM_SN_MASK;
    } else if (type == DINGO_DB_EQ) {
        known |= DINGO_DOORBELL_WORD0_ARM_MASK;
    }
    if ((db.word0 & ~known) != 0) {
        return kNone;
    }
    const unsigned index = object & 0xffff;
    const bool qp = index < kQps && qps[index].valid && qps[index].tag == object >> 16 &&
                    qps[index].page == db.page;
    switch (type) {
        case DINGO_DB_SQ:
            return qp ? kSq : kNone;
        case DINGO_DB_RQ:
            return qp ? kRq : kNone;
        case DINGO_DB_SRQ:
            return object < kSrqs && srqs[object].on && srqs[object].page == db.page ? kSrq : kNone;
        case DINGO_DB_CQ:
            return kCq;
        case DINGO_DB_EQ:
            return db.page == 0 ? kEq : kNone;
        case DINGO_DB_ETH_TX:
            return db.page == 0 && object < 4 ? kEtx : kNone;
        case DINGO_DB_ETH_RX:
            return db.page == 0 && object < 4 ? kErx : kNone;
        default:
            return kNone;
    }
}

class RtlDb : public testing::TestWithParam<int> {};

TEST_P(RtlDb, EveryDoorbellReachesItsTargetOrIsCounted) {
    const unsigned willing = static_cast<unsigned>(GetParam());
    Vdingo_db dut;
    Dice dice(1);
    std::array<QpEntry, kQps> qps;
    std::array<SrqEntry, kSrqs> srqs;
    std::deque<std::pair<Target, Doorbell>> expected;
    std::map<int, unsigned> seen;
    unsigned held = 0;  // doorbells in dingo_db
    unsigned halted = 0;
    const auto clock = [&] {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    };
    dut.rst_ni = 0;
    clock();
    dut.rst_ni = 1;
    Doorbell db{};
    bool offered = false;
    bool writing = false;
    unsigned write_index = 0;
    QpEntry write_entry;
    unsigned srq_index = 0;
    SrqEntry srq_entry;
    for (int cycle = 0; cycle < 250'000; ++cycle) {
        // Contexts are written only while doorbells are halted and dingo_db is idle.
        if (halted == 0 && dice.percent(2)) {
            halted = 30;
        } else if (halted != 0) {
            --halted;
        }
        dut.halt_i = halted != 0;
        writing = halted != 0 && dut.idle_o && cycle > 40 && dice.percent(50);
        dut.qp_we_i = writing;
        if (writing) {
            write_index = dice.below(kQps);
            write_entry = {dice.percent(80), dice.below(3), dice.below(3)};
            Bits cfg;
            for (unsigned i = 0; i < kCfg; ++i) {
                cfg.add(dice.below(2), 1);
            }
            Bits low;
            for (unsigned i = 0; i < kCfg; ++i) {
                const bool in_page = i >= kPageLsb && i < kPageLsb + 10;
                const bool in_tag = i >= kTagLsb && i < kTagLsb + 8;
                low.add(i == kCfg - 1 ? write_entry.valid
                        : in_tag      ? write_entry.tag >> (i - kTagLsb) & 1
                        : in_page     ? write_entry.page >> (i - kPageLsb) & 1
                                      : cfg.get(i, 1),
                        1);
            }
            dut.qp_windex_i = write_index;
            drive(dut.qp_wdata_i, low);
        }
        dut.srq_we_i = writing;
        if (writing) {
            srq_index = dice.below(kSrqs);
            srq_entry = {dice.percent(80), dice.below(3)};
            Bits cfg{{srq_entry.on, 1}, {srq_index, kSrqLog}, {srq_entry.page, 10}};
            Bits all;
            for (unsigned i = 0; i < 16 + 8 + 103; ++i)
                all.add(dice.below(2), 1);
            for (unsigned i = 0; i < 11 + kSrqLog; ++i)
                all.add(cfg.get(i, 1), 1);
            drive(dut.srq_wdata_i, all);
        }
        if (!offered && dice.percent(60)) {
            offered = true;
            const unsigned type = dice.percent(80) ? 1 + dice.below(7) : dice.below(16);
            const unsigned index = dice.percent(95) ? dice.below(kQps) : dice.below(65536);
            db = {dice.percent(90) ? dice.below(3) : dice.below(1024),
                  static_cast<std::uint32_t>(dice.any()), type << 24 | dice.below(3) << 16 | index};
            if ((type == DINGO_DB_ETH_TX || type == DINGO_DB_ETH_RX) && dice.percent(50)) {
                db.word0 = type << 24 | dice.below(5);  // there are four rings
            }
            if (type == DINGO_DB_SRQ && dice.percent(90))
                db.word0 = type << 24 | dice.below(kSrqs + 1);
            if (dice.percent(30)) {
                db.word0 |= 1u << (28 + dice.below(4));
            }
        }
        dut.db_valid_i = offered;
        drive(dut.db_i, Bits{{db.page, 10}, {db.index, 32}, {db.word0, 32}});
        dut.sq_ready_i = dice.percent(willing);
        dut.rq_ready_i = dice.percent(willing);
        dut.cq_ready_i = dice.percent(willing);
        dut.eq_ready_i = dice.percent(willing);
        dut.stat_ready_i = dice.percent(willing);
        dut.etx_bad_i = dice.percent(30);
        dut.erx_bad_i = dice.percent(30);
        dut.eval();
        if (dut.halt_i) {
            ASSERT_FALSE(dut.db_ready_o);
        }
        ASSERT_EQ(dut.idle_o != 0, held == 0);
        if (offered && dut.db_ready_o) {
            offered = false;
            ++held;
            expected.emplace_back(judge(db, qps, srqs), db);
        }
        const bool srq = dut.rq_valid_o && dut.q_srq_o;
        const std::array<bool, 8> valid{false,
                                        dut.sq_valid_o != 0,
                                        dut.rq_valid_o && !srq,
                                        dut.cq_valid_o != 0,
                                        dut.eq_valid_o != 0,
                                        dut.etx_valid_o != 0,
                                        dut.erx_valid_o != 0,
                                        srq};
        const std::array<bool, 8> ready{false,
                                        dut.sq_ready_i != 0,
                                        dut.rq_ready_i != 0,
                                        dut.cq_ready_i != 0,
                                        dut.eq_ready_i != 0,
                                        true,
                                        true,
                                        dut.rq_ready_i != 0};
        for (int t = kSq; t <= kSrq; ++t) {
            if (!valid[t]) {
                continue;
            }
            ASSERT_FALSE(expected.empty());
            const auto& [target, want] = expected.front();
            ASSERT_EQ(t, target);
            if (t == kSq || t == kRq || t == kSrq) {
                ASSERT_EQ(sample(dut.q_o, 0, 32).get(0, 32), want.index);
                ASSERT_EQ(sample(dut.q_o, 32, kLog).get(0, kLog), want.word0 & (kQps - 1));
                ASSERT_EQ(sample(dut.q_o, 32 + kLog, 3).get(0, 3),
                          t == kSq ? want.word0 >> 28 & 7 : 0u);
            } else {
                ASSERT_EQ(sample(dut.db_o, 0, 32).get(0, 32), want.word0);
                ASSERT_EQ(sample(dut.db_o, 32, 32).get(0, 32), want.index);
                ASSERT_EQ(sample(dut.db_o, 64, 10).get(0, 10), want.page);
            }
            if (ready[t]) {
                ++seen[t];
                if ((t == kEtx && dut.etx_bad_i) || (t == kErx && dut.erx_bad_i)) {
                    expected.front().first = kNone;  // counted next
                } else {
                    expected.pop_front();
                    --held;
                }
            }
        }
        if (dut.stat_valid_o) {
            ASSERT_FALSE(expected.empty());
            ASSERT_EQ(expected.front().first, kNone);
            ASSERT_EQ(dut.stat_o, unsigned{DINGO_CARD_DB_DROPPED} << 16 | 1u);
            if (dut.stat_ready_i) {
                ++seen[kNone];
                expected.pop_front();
                --held;
            }
        }
        clock();
        if (writing) {
            qps[write_index] = write_entry;
            srqs[srq_index] = srq_entry;
        }
    }
    for (int t = kNone; t <= kSrq; ++t) {
        EXPECT_GT(seen[t], 50u) << "target " << t << " is not tested";
    }
}

INSTANTIATE_TEST_SUITE_P(Stalls, RtlDb, testing::Values(100, 50, 10));

}  // namespace
