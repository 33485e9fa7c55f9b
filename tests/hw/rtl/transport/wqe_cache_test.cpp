// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_wqe_cache against a model of it, cycle by cycle: which fills are taken, what they read,
// which QPs they wake and in which order, and what a look-up finds.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <random>

#include "../support/packed.h"
#include "Vdingo_wqe_cache.h"
#include "rtl_types.h"

namespace {

constexpr unsigned kFills = 32;  // most fills on their way plus QPs that are due
constexpr unsigned kSpare = 24;  // the same limit for fills with fill_spare_i (doorbells)

struct Fill {
    unsigned qp = 0;
    std::uint32_t index = 0;
    unsigned blocks = 0;  ///< asked for
    unsigned first = 0, last_group = 0;
    bool one = false, wake = false;
};
struct Block {
    unsigned qp = 0;
    std::uint32_t index = 0;
    bool err = false;
    std::uint64_t line = 0;
};
struct Ask {
    unsigned qp = 0;
    std::uint32_t index = 0, limit = 8;
    bool wake = false, force = false, spare = false;
    bool only_look = false;  ///< fill_go_i stays down: the fill is only tested
};

std::uint32_t pattern(std::uint64_t line) {
    return static_cast<std::uint32_t>(line * 0x9E3779B9U);
}

class WqeCache : public testing::TestWithParam<unsigned> {
  protected:
    WqeCache() : random(GetParam()) {
        dut.rst_ni = 0;
        edge();
        dut.rst_ni = 1;
        dut.wqe_ready_i = 1;
        dut.line_ready_i = 1;
        for (unsigned qp = 0; qp < rings.size(); ++qp)
            rings[qp].addr = 0x10'0000 + 0x1'0000 * qp;
    }
    static unsigned line_of(unsigned qp, std::uint32_t index) {
        unsigned line = index & 2047U;
        for (unsigned i = 0; i < rtl::kQpLog; ++i)
            line ^= (qp >> i & 1U) << (10 - i);
        return line;
    }
    /// Whether two fills share a group of eight places or, if both have one block, the place.
    static bool meet(const Fill& a, const Fill& b) {
        if (a.one && b.one)
            return a.first == b.first;
        return a.first / 8 == b.first / 8 || a.first / 8 == b.last_group ||
               a.last_group == b.first / 8 || a.last_group == b.last_group;
    }
    unsigned pick(unsigned n) { return static_cast<unsigned>(random() % n); }
    void edge() {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    }

    /// Offers a fill in the next cycle.
    void ask(const Ask& a) {
        asked = a;
        asking = true;
    }
    /// One cycle: sets the inputs, compares the outputs with the model, advances the model.
    void cycle() {
        drive_inputs();
        dut.eval();
        const bool pop = !due.empty() && dut.wake_ready_i;
        ASSERT_EQ(dut.wake_valid_o, !due.empty());
        if (pop) {
            ASSERT_EQ(dut.wake_qp_o, due.front().qp);
        }
        const auto used = fills.size() + due.size();
        ASSERT_EQ(dut.spare_o, used < kSpare && !refused);
        ASSERT_EQ(dut.push_ready_o, !dut.wqe_rsp_valid_i);
        looked_up();
        Fill fill;
        bool room = false, take = false;
        if (asking)
            offered(used, fill, room, take);
        if (asking && asked.only_look)
            asking = take = false;
        taken = asking && room;
        request();
        // next state of the model
        if (asking && asked.spare && asked.wake && !room)
            refused = true;
        if (done || pop)
            refused = false;
        if (asking && room && asked.wake)
            for (std::size_t i = done ? 1 : 0; i < fills.size(); ++i)
                fills[i].wake = fills[i].wake || covers(fills[i]);
        if (dut.clear_i)
            blocks.clear();
        if (dut.wqe_rsp_valid_i)
            arrived();
        else if (dut.push_valid_i)
            pushed();
        if (pop)
            due.pop_front();
        generation += dut.clear_i;
        if (take) {
            fills.push_back(fill);
            unread.push_back(fill);
        }
        asking = false;
        edge();
    }
    void run(unsigned cycles) {
        for (unsigned i = 0; i < cycles && !HasFatalFailure(); ++i)
            cycle();
    }
    /// Runs until no fill is on its way and no QP is due.
    void settle() {
        wakes = answers = true;
        for (unsigned i = 0; i < 3000 && !(fills.empty() && due.empty()) && !HasFatalFailure(); ++i)
            cycle();
        ASSERT_TRUE(fills.empty() && due.empty());
        dut.eval();
        EXPECT_TRUE(dut.idle_o);
    }

    Vdingo_wqe_cache dut;
    std::mt19937 random;
    std::array<rtl::Xmem, 32> rings{};
    unsigned log_sq = 6;
    bool answers = true, wakes = true, looks = false, clears = false, stalls = false,
         clear_now = false, pushes = false;
    bool taken = false;      ///< the last fill was accepted
    unsigned reads = 0;      ///< requests to host memory
    unsigned puts = 0;       ///< blocks that were pushed
    std::deque<Fill> fills;  ///< in order, the oldest in front
    std::deque<Fill> due;    ///< fills that are done, whose QPs wait for their turns
    unsigned clashes = 0, lates = 0, joined = 0, shortened = 0, probe_hits = 0;

  private:
    struct Line {
        std::uint64_t line = 0;
        bool last = false, err = false;
    };
    bool covers(const Fill& f) const {
        return f.qp == asked.qp && asked.index - f.index < f.blocks;
    }
    void drive_inputs() {
        dut.wake_ready_i = wakes && (!stalls || pick(3) == 0);
        dut.wqe_ready_i = !stalls || pick(4) != 0;
        dut.clear_i = clear_now || (clears && pick(200) == 0);
        dut.re_i = looks && pick(4) != 0;
        dut.fill_valid_i = asking;
        if (asking) {
            dut.fill_qp_i = static_cast<std::uint8_t>(asked.qp);
            dut.fill_index_i = asked.index;
            dut.fill_limit_i = static_cast<std::uint8_t>(std::min(asked.limit, 8U));
            dut.fill_wake_i = asked.wake;
            dut.fill_force_i = asked.force;
            dut.fill_spare_i = asked.spare;
            dut.fill_go_i = !asked.only_look;
            dut.fill_log_sq_i = static_cast<std::uint8_t>(log_sq);
            rtl::drive(dut.fill_sq_i, rings[asked.qp]);
        }
        if (dut.re_i) {
            look = {random_qp(), random_index()};
            dut.qp_i = static_cast<std::uint8_t>(look.qp);
            dut.index_i = look.index;
        }
        if (!dut.push_valid_i || dut.push_ready_o) {
            dut.push_valid_i = pushes && pick(5) == 0;
            put = {random_qp(), random_index(), false, random()};
            rtl::Push push;
            push.qp = static_cast<decltype(push.qp)>(put.qp);
            push.index = put.index;
            push.data.fill(pattern(put.line));
            rtl::drive(dut.push_i, push);
        }
        probe.index = random_index();
        dut.probe_i = dut.re_i && pick(2) == 0;
        dut.probe_index_i = probe.index;
        dut.wqe_rsp_valid_i = answers && !lines.empty() && (!stalls || pick(3) != 0);
        done = false;
        if (dut.wqe_rsp_valid_i) {
            rtl::RdlRsp rsp;
            rsp.err = lines.front().err;
            rsp.last = done = lines.front().last;
            rsp.data.fill(pattern(lines.front().line));
            rtl::drive(dut.line_rsp_i, rsp);
        }
    }
    void looked_up() {
        if (looking) {
            ASSERT_EQ(dut.hit_o, found);
            if (found) {
                ASSERT_EQ(dut.err_o, seen.err);
                ASSERT_EQ(dut.data_o[5], pattern(seen.line));
            }
        }
        probed_up();
        looking = dut.re_i;
        if (!looking)
            return;
        const auto at = blocks.find(line_of(look.qp, look.index));
        found = at != blocks.end() && at->second.qp == look.qp && at->second.index == look.index;
        if (found)
            seen = at->second;
    }
    /// The tags that a probe reads have a 4-bit generation, which each clear advances: after 16
    /// clears an old tag counts again.
    void probed_up() {
        if (probing) {
            ASSERT_EQ(dut.probe_hit_o, probe_found);
            probe_hits += probe_found;
        }
        probing = dut.probe_i;
        if (!probing)
            return;
        const auto at = tags.find(line_of(look.qp, probe.index));
        probe_found = at != tags.end() && at->second.qp == look.qp &&
                      at->second.index == probe.index && (generation - at->second.gen) % 16 == 0;
    }
    void offered(std::size_t used, Fill& fill, bool& room, bool& take) {
        const unsigned ring = 1U << log_sq;
        const unsigned most = std::min({8U, ring - asked.index % ring, asked.limit});
        fill = {asked.qp,
                asked.index,
                most,
                line_of(asked.qp, asked.index),
                line_of(asked.qp, asked.index + most - 1) / 8,
                most == 1,
                asked.wake};
        bool clash = false, late = false, same = false;
        for (std::size_t i = 0; i < fills.size(); ++i) {
            const bool ends = done && i == 0;
            late = late || (ends && covers(fills[i]));
            same = same || (!ends && covers(fills[i]));
            clash = clash || (fills[i].qp != asked.qp && meet(fills[i], fill));
            if (fills[i].qp == asked.qp && fills[i].index - asked.index - 1 < most - 1)
                fill.blocks = std::min(fill.blocks, fills[i].index - asked.index);
        }
        for (const Fill& d : due)
            clash = clash || (d.qp != asked.qp && meet(d, fill));
        clash = clash && !asked.force;
        room = fills.size() < kFills && !clash && !late && (!asked.wake || used < kFills) &&
               (!asked.spare || used < kSpare);
        take = room && !same;
        clashes += clash, lates += late, joined += room && same, shortened += fill.blocks < most;
        ASSERT_EQ(dut.fill_ready_o, room)
            << "qp " << asked.qp << " index " << asked.index << " limit " << asked.limit;
    }
    void request() {
        if (!dut.wqe_valid_o || !dut.wqe_ready_i)
            return;
        ASSERT_FALSE(unread.empty()) << "read without a fill";
        const Fill fill = unread.front();
        unread.pop_front();
        const auto req = rtl::sample<rtl::RdlReq>(dut.wqe_o);
        const std::uint64_t line = rings[fill.qp].addr / 64 + fill.index % (1U << log_sq);
        ASSERT_EQ(req.addr, line);
        ASSERT_EQ(req.lines, std::min<std::uint64_t>(fill.blocks, 64 - line % 64));
        ++reads;
        for (unsigned i = 0; i < req.lines; ++i)
            lines.push_back({line + i, i + 1U == req.lines, stalls && pick(50) == 0});
    }
    void pushed() {
        tags[line_of(put.qp, put.index)] = {put.qp, put.index, generation};
        blocks[line_of(put.qp, put.index)] = put;
        ++puts;
    }
    void arrived() {
        const Fill& fill = fills.front();
        const std::uint32_t index = fill.index + block;
        tags[line_of(fill.qp, index)] = {fill.qp, index, generation};
        blocks[line_of(fill.qp, index)] = {fill.qp, index, lines.front().err, lines.front().line};
        ++block;
        if (done) {
            if (fill.wake)
                due.push_back(fill);
            fills.pop_front();
            block = 0;
        }
        lines.pop_front();
    }

  public:
    // A few QPs, some of whose blocks have the same places
    unsigned random_qp() { return std::array<unsigned, 6>{0, 16, 31, 15, 8, 23}[pick(6)]; }
    std::uint32_t random_index() { return base + pick(96); }
    std::uint32_t base = 0;

  private:
    struct Tag {
        unsigned qp = 0;
        std::uint32_t index = 0;
        unsigned gen = 0;
    };
    bool probing = false, probe_found = false;
    unsigned generation = 0;  ///< number of clears
    Tag probe;
    std::map<unsigned, Tag> tags;
    bool asking = false, done = false, refused = false, looking = false, found = false;
    Ask asked, look;
    Block seen, put;
    unsigned block = 0;
    std::map<unsigned, Block> blocks;
    std::deque<Fill> unread;
    std::deque<Line> lines;
};

TEST_P(WqeCache, TakesReadsWakesAndFindsAsTheModelDoes) {
    stalls = looks = clears = pushes = true;
    unsigned takes = 0;
    for (unsigned i = 0; i < 60'000 && !HasFatalFailure(); ++i) {
        if (i % 3000 == 0) {  // another ring size, while no fill is on its way
            settle();
            log_sq = 1 + pick(7);
            base = pick(2) == 0 ? 0 : 0xFFFF'FFD0;  // indices are free-running
        }
        answers = i % 700 >= 150;  // without answers, fills use up all the room
        if (pick(3) != 0) {
            Ask a{random_qp(), random_index(), 1 + pick(pick(2) == 0 ? 10 : 1000)};
            a.wake = pick(2) == 0;
            a.force = !a.wake && pick(8) == 0;
            a.spare = !a.force && pick(2) == 0;
            a.only_look = pick(10) == 0;
            ask(a);
        }
        cycle();
        takes += taken;
    }
    settle();
    EXPECT_GT(takes, 3000U);
    EXPECT_GT(puts, 3000U);
    EXPECT_GT(clashes, 1000U);
    EXPECT_GT(lates, 10U);
    EXPECT_GT(joined, 100U);
    EXPECT_GT(shortened, 100U);
    EXPECT_GT(probe_hits, 100U);
}

TEST_P(WqeCache, TheSameBlockAskedForTwiceInARowIsReadOnce) {
    ask({8, 3, 4});
    cycle();
    EXPECT_TRUE(taken);
    ask({8, 3, 4, true});
    cycle();
    EXPECT_TRUE(taken);
    ask({8, 2, 4});  // blocks 3 to 5 are on their way: only block 2 is read
    cycle();
    EXPECT_EQ(fills.back().blocks, 1U);
    settle();
    EXPECT_EQ(reads, 2U);
}

TEST_P(WqeCache, ForcedFillGoesPastOneThatIsRefused) {
    answers = false;
    ask({0, 0, 8, true});
    cycle();
    for (unsigned i = 0; i < 3; ++i) {  // the same group of places as QP 0's fill
        ask({16, 64, 8, true, false, true});
        cycle();
        EXPECT_FALSE(taken);
    }
    ask({16, 64, 8, false, true});
    cycle();
    EXPECT_TRUE(taken);
    answers = true;
    settle();
    EXPECT_EQ(reads, 2U);
}

TEST_P(WqeCache, QpsThatAreDueComeInOrderWhetherTakenAtOnceOrLate) {
    wakes = false;
    for (unsigned qp = 0; qp < 8; ++qp) {  // fills in different places
        ask({qp, 0, 1, true});
        cycle();
        ASSERT_TRUE(taken);
    }
    run(200);
    EXPECT_EQ(due.size(), 8U);
    settle();  // cycle() compares the order with the model
    ask({5, 64, 1, true});
    cycle();
    settle();
}

TEST_P(WqeCache, BlocksThatComeAfterTheCacheWasClearedAreFound) {
    answers = false;
    ask({9, 5, 2});
    run(10);
    clear_now = true;
    cycle();
    clear_now = false;
    answers = true;
    settle();
    looks = true;
    run(2000);
}

TEST_P(WqeCache, RingWithoutTranslationGivesAnErrorAndWakesItsQp) {
    rings[3].levels = 1;
    rings[3].shift = 12;
    dut.fill_valid_i = 1;
    dut.fill_qp_i = 3;
    dut.fill_index_i = 7;
    dut.fill_limit_i = 5;
    dut.fill_wake_i = 1;
    dut.fill_go_i = 1;
    dut.fill_log_sq_i = 6;
    rtl::drive(dut.fill_sq_i, rings[3]);
    dut.eval();
    ASSERT_TRUE(dut.fill_ready_o);
    edge();
    dut.fill_valid_i = 0;
    bool listed = false;
    for (unsigned i = 0; i < 100 && !dut.wake_valid_o; ++i) {
        ASSERT_FALSE(dut.wqe_valid_o);
        dut.line_rsp_valid_i = listed;
        if (listed)
            rtl::drive(dut.line_rsp_i, rtl::RdlRsp{true, true, {}});
        dut.eval();
        listed = dut.line_valid_o;
        edge();
    }
    ASSERT_TRUE(dut.wake_valid_o);
    EXPECT_EQ(dut.wake_qp_o, 3);
    dut.line_rsp_valid_i = 0;
    dut.re_i = 1;
    dut.qp_i = 3;
    dut.index_i = 7;
    edge();
    EXPECT_TRUE(dut.hit_o);
    EXPECT_TRUE(dut.err_o);
}

INSTANTIATE_TEST_SUITE_P(Seeds, WqeCache, testing::Range(1U, 4U));

}  // namespace
