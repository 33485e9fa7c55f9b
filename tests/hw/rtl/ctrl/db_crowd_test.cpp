// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_db when doorbells come faster than their targets take them, and during halts: the host's
// write never waits, the newest index and every request for an event arrive, a doorbell from a page
// that does not own the object replaces none, and a halt ends.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "Vdingo_db.h"
#include "bench.h"
#include "dingo_hw.h"

namespace {

using namespace dingo::rtl;
constexpr unsigned kQps = 16;
constexpr unsigned kCqs = 8;
constexpr unsigned kEqs = 8;
constexpr unsigned kSrqLog = 2;
constexpr unsigned kSrqs = 1 << kSrqLog;
constexpr unsigned kPage = 5;  // doorbell page of every queue
constexpr unsigned kCfg = 654 + 2 * 3 + 2 + 2;
constexpr unsigned kPageLsb = kCfg - 1 - 8 - 3 - 16 - 3 - 3 - 10;
constexpr unsigned kMostWait = 24;     // cycles until a doorbell is taken
constexpr unsigned kMostHalt = 3'000;  // cycles from halt_i to a steady idle_o
constexpr unsigned kArmSn = 29;
constexpr unsigned kFlag = 1U << 28;  // CQ: solicited only; EQ: arm

struct Object {
    std::uint32_t index = 0;  // of the newest doorbell
    unsigned sn = 0;
    int armed = -1;      // cycle of the newest request for an event
    int armed_any = -1;  // CQ: cycle of the newest one for any completion, not only solicited ones
};

class DbCrowd : public testing::TestWithParam<unsigned> {
  protected:
    DbCrowd() {
        dut_.rst_ni = 0;
        clock();
        dut_.rst_ni = 1;
        for (int i = 0; i < 200; ++i)
            clock();
        for (unsigned i = 0; i < kQps; ++i)
            write_qp(i, true);
        for (unsigned i = 0; i < kCqs; ++i) {
            dut_.cq_we_i = 1;
            drive(dut_.cq_wdata_i, Bits{{1, 1},
                                        {0, 2},
                                        {i, 3},
                                        {0, 3},
                                        {kPage, 10},
                                        {0, 5},
                                        {0, 42},
                                        {0, 64},
                                        {0, 39}});
            clock();
        }
        dut_.cq_we_i = 0;
        for (unsigned i = 0; i < kSrqs; ++i)
            write_srq(i, true);
    }

    void clock() {
        dut_.clk_i = 1;
        dut_.eval();
        dut_.clk_i = 0;
        dut_.eval();
    }
    void write_qp(unsigned index, bool valid) {
        Bits cfg;
        for (unsigned i = 0; i < kCfg; ++i) {
            const bool in_page = i >= kPageLsb && i < kPageLsb + 10;
            cfg.add(i == kCfg - 1 ? valid : in_page ? kPage >> (i - kPageLsb) & 1 : 0, 1);
        }
        dut_.qp_we_i = 1;
        dut_.qp_windex_i = index;
        drive(dut_.qp_wdata_i, cfg);
        clock();
        dut_.qp_we_i = 0;
        there_[index] = valid;
    }

    void write_srq(unsigned index, bool on) {
        dut_.srq_we_i = 1;
        drive(dut_.srq_wdata_i,
              Bits{{on, 1}, {index, kSrqLog}, {kPage, 10}, {0, 16}, {0, 8}, {0, 64}, {0, 39}});
        clock();
        dut_.srq_we_i = 0;
        srq_there_[index] = on;
    }

    /// A random doorbell; one in five is from a page that does not own the object.
    void invent() {
        constexpr std::array types{DINGO_DB_SQ,  DINGO_DB_RQ, DINGO_DB_CQ,     DINGO_DB_CQ,
                                   DINGO_DB_SRQ, DINGO_DB_EQ, DINGO_DB_ETH_TX, DINGO_DB_ETH_RX};
        const unsigned type = types[dice_.below(types.size())];
        const bool kernel =
            type == DINGO_DB_EQ || type == DINGO_DB_ETH_TX || type == DINGO_DB_ETH_RX;
        const unsigned objects = type == DINGO_DB_CQ ? kCqs : type == DINGO_DB_EQ ? kEqs : 4;
        object_ = type << 24 | dice_.below(objects);
        word0_ = object_;
        index_ = static_cast<std::uint32_t>(dice_.any());
        good_ = dice_.percent(80);
        page_ = good_ == kernel ? 0 : kPage;
        if (type == DINGO_DB_CQ) {
            unsigned sn = rung_[object_].sn;
            if (good_ && dice_.percent(40))
                sn = (sn + 1) & 3;
            word0_ |= sn << kArmSn | (dice_.percent(50) ? kFlag : 0);
        } else if (type == DINGO_DB_EQ && dice_.percent(50)) {
            word0_ |= kFlag;
        }
        drive(dut_.db_i, Bits{{page_, 10}, {index_, 32}, {word0_, 32}});
    }
    void rung(int cycle) {
        if (good_)
            note(rung_[object_], word0_, index_, cycle);
    }
    /// Applies a doorbell to `object`.
    static void note(Object& object, std::uint32_t word0, std::uint32_t index, int cycle) {
        const unsigned type = word0 >> 24 & 0xf;
        const unsigned sn = word0 >> kArmSn & 3;
        object.index = index;
        if (type == DINGO_DB_CQ && sn != object.sn) {
            object.armed = cycle;
            if ((word0 & kFlag) == 0)
                object.armed_any = cycle;
        }
        if (type == DINGO_DB_EQ && (word0 & kFlag) != 0)
            object.armed = cycle;
        object.sn = type == DINGO_DB_CQ ? sn : 0;
    }

    void given(int cycle) {
        const std::array<std::pair<bool, unsigned>, 2> queues{
            {{dut_.sq_valid_o && dut_.sq_ready_i, DINGO_DB_SQ},
             {dut_.rq_valid_o && dut_.rq_ready_i, dut_.q_srq_o ? DINGO_DB_SRQ : DINGO_DB_RQ}}};
        for (const auto& [valid, type] : queues) {
            if (!valid)
                continue;
            const auto qp = static_cast<unsigned>(sample(dut_.q_o, 32, 4).get(0, 4));
            EXPECT_TRUE(type == DINGO_DB_SRQ ? srq_there_[qp] : there_[qp])
                << "a doorbell outlived QP or SRQ " << qp;
            note(given_[type << 24 | qp], type << 24, index_of(dut_.q_o), cycle);
            ++gave_;
        }
        if ((dut_.cq_valid_o && dut_.cq_ready_i) || (dut_.eq_valid_o && dut_.eq_ready_i) ||
            dut_.etx_valid_o || dut_.erx_valid_o) {
            const auto word0 = static_cast<std::uint32_t>(sample(dut_.db_o, 0, 32).get(0, 32));
            const auto page = sample(dut_.db_o, 64, 10).get(0, 10);
            ++gave_;
            if ((word0 >> 24 & 0xf) == DINGO_DB_CQ && page != kPage)
                return;  // dingo_cq checks the page and drops it
            note(given_[word0 & 0x0fffffff], word0,
                 static_cast<std::uint32_t>(sample(dut_.db_o, 32, 32).get(0, 32)), cycle);
        }
    }
    template <typename Port>
    static std::uint32_t index_of(const Port& port) {
        return static_cast<std::uint32_t>(sample(port, 0, 32).get(0, 32));
    }

    Vdingo_db dut_;
    Dice dice_{7};
    std::array<bool, kQps> there_{};
    std::array<bool, kSrqs> srq_there_{};
    std::map<std::uint32_t, Object> rung_;  // key: type and object
    std::map<std::uint32_t, Object> given_;
    std::uint32_t object_ = 0;
    std::uint32_t word0_ = 0;
    std::uint32_t index_ = 0;
    unsigned page_ = 0;
    bool good_ = false;
    unsigned gave_ = 0;
};

TEST_P(DbCrowd, NothingWaitsAndNothingIsLost) {
    const unsigned willing = GetParam();
    bool offered = false;
    bool halted = false;
    unsigned waited = 0;
    unsigned halt_at = 500;
    unsigned halting = 0;
    unsigned quiet = 0;
    unsigned taken = 0;
    unsigned halts = 0;
    const int flood = 60'000;
    for (int cycle = 0; cycle < flood + 20'000; ++cycle) {
        if (cycle >= flood && willing == 0)
            break;  // no target takes them
        dut_.crowded_i = cycle < flood;
        if (!offered && cycle < flood) {
            invent();
            offered = true;
        }
        if (!halted && halt_at-- == 0) {
            halted = true;
            halting = quiet = 0;
        }
        dut_.halt_i = halted;
        dut_.db_valid_i = offered;
        dut_.sq_ready_i = dice_.percent(willing);
        dut_.rq_ready_i = dice_.percent(willing);
        dut_.cq_ready_i = dice_.percent(willing);
        dut_.eq_ready_i = dice_.percent(willing);
        dut_.stat_ready_i = dice_.percent(50);
        dut_.eval();
        const unsigned before = gave_;
        given(cycle);
        if (halted) {
            quiet = dut_.idle_o ? quiet + 1 : 0;
            if (quiet > 8) {
                EXPECT_EQ(gave_, before) << "a doorbell was given while all stands still";
                if (dice_.percent(5)) {
                    halted = false;
                    halt_at = 100 + dice_.below(400);
                    ++halts;
                }
            } else if (willing != 0) {
                ASSERT_LT(++halting, kMostHalt) << "doorbells keep the card from coming to rest";
            }
        }
        const bool took = offered && dut_.db_ready_o;
        if (took) {
            rung(cycle);
            offered = false;
            waited = 0;
            ++taken;
        } else if (offered && cycle < flood) {
            ASSERT_LT(++waited, kMostWait) << "the host's write waits";
        }
        clock();
    }
    EXPECT_GT(taken, 5'000U);
    if (willing == 0)
        return;
    EXPECT_GT(halts, 50U);
    EXPECT_LT(gave_, taken);
    EXPECT_TRUE(dut_.idle_o);
    for (const auto& [object, want] : rung_) {
        const Object& got = given_[object];
        EXPECT_EQ(got.index, want.index) << std::hex << object;
        EXPECT_EQ(got.sn, want.sn) << std::hex << object;
        EXPECT_GE(got.armed, want.armed) << std::hex << object;
        EXPECT_GE(got.armed_any, want.armed_any) << std::hex << object;
    }
}

INSTANTIATE_TEST_SUITE_P(Willing, DbCrowd, testing::Values(100, 20, 2, 0));

class DbCrowdHalt : public DbCrowd {};

// Doorbells of two QPs and two SRQs are stored during a halt, which destroys one of each: the
// doorbells of those two are dropped and counted, the others arrive.
TEST_P(DbCrowdHalt, QueueDestroyedInAHaltGetsNone) {
    dut_.crowded_i = 1;
    dut_.sq_ready_i = dut_.rq_ready_i = dut_.cq_ready_i = dut_.eq_ready_i = dut_.stat_ready_i = 1;
    dut_.halt_i = 1;
    for (int i = 0; i < 20; ++i)
        clock();
    for (const unsigned object : {DINGO_DB_SQ << 24 | 3U, DINGO_DB_SQ << 24 | 4U,
                                  DINGO_DB_SRQ << 24 | 1U, DINGO_DB_SRQ << 24 | 2U}) {
        dut_.db_valid_i = 1;
        drive(dut_.db_i, Bits{{kPage, 10}, {object & 0xff, 32}, {object, 32}});
        for (dut_.eval(); !dut_.db_ready_o; dut_.eval())
            clock();
        clock();
    }
    dut_.db_valid_i = 0;
    for (int i = 0; i < 20; ++i)
        clock();
    EXPECT_TRUE(dut_.idle_o);
    write_qp(3, false);
    write_srq(1, false);
    dut_.halt_i = 0;
    unsigned dropped = 0;
    for (int i = 0; i < 80; ++i) {
        dut_.eval();
        given(i);
        dropped += dut_.stat_valid_o;
        clock();
    }
    EXPECT_EQ(dropped, 2U);
    EXPECT_EQ(given_.size(), 2U);
    EXPECT_EQ(given_[DINGO_DB_SQ << 24 | 4].index, 4U);
    EXPECT_EQ(given_[DINGO_DB_SRQ << 24 | 2].index, 2U);
}

INSTANTIATE_TEST_SUITE_P(Willing, DbCrowdHalt, testing::Values(100));

}  // namespace
