// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_mr_work on a table: what three clients ask at random, commands in between, against the
// rules of the C++ model; and that no region counts a window that is not there.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>

#include "Vdingo_mr_work.h"
#include "bench.h"
#include "dingo_hw.h"

namespace {

using namespace dingo::rtl;
constexpr unsigned kLog = 4;
constexpr unsigned kMrs = 1 << kLog;
constexpr unsigned kQpLog = 4;
constexpr unsigned kMr = 339 + kQpLog;
enum Op : std::uint8_t { kInvalidate, kBind, kRegister, kDestroy, kForget };
constexpr unsigned kRemote =
    DINGO_ACC_REMOTE_WRITE | DINGO_ACC_REMOTE_READ | DINGO_ACC_REMOTE_ATOMIC;
constexpr unsigned kWrites = DINGO_ACC_REMOTE_WRITE | DINGO_ACC_REMOTE_ATOMIC;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 48;

struct Entry {
    bool valid = false, free = false, paused = false;
    unsigned kind = 0, tag = 0, pdn = 0, access = 0;
    std::uint64_t iova = 0, length = 0;
    unsigned qp = 0, more = 0;
    std::uint64_t place = 0;
    unsigned levels = 0, shift = 0;
    std::uint32_t offset = 0;
    std::uint64_t addr = 0;

    [[nodiscard]] bool window() const { return kind == DINGO_MRT_MW1 || kind == DINGO_MRT_MW2; }
    [[nodiscard]] Bits bits() const {
        return {{valid, 1},  {free, 1},  {paused, 1},  {kind, 3},    {tag, 16},  {pdn, 16},
                {access, 6}, {iova, 64}, {length, 64}, {qp, kQpLog}, {more, 16}, {place, 48},
                {levels, 2}, {shift, 5}, {offset, 32}, {addr, 64}};
    }
    static Entry of(const Bits& b) {
        unsigned at = kMr;
        const auto take = [&](unsigned width) { return b.get(at -= width, width); };
        Entry e;
        e.valid = take(1) != 0;
        e.free = take(1) != 0;
        e.paused = take(1) != 0;
        e.kind = take(3);
        e.tag = take(16);
        e.pdn = take(16);
        e.access = take(6);
        e.iova = take(64);
        e.length = take(64);
        e.qp = take(kQpLog);
        e.more = take(16);
        e.place = take(48);
        e.levels = take(2);
        e.shift = take(5);
        e.offset = take(32);
        e.addr = take(64);
        return e;
    }
};

struct Request {
    Op op = kInvalidate;
    unsigned qp = 0, pdn = 0;
    bool privileged = false;
    std::uint32_t key = 0;
    dingo_wqe_bind bind{};
    dingo_wqe_reg reg{};
    [[nodiscard]] Bits bits() const {
        Bits all;
        const auto body = [&](const auto& segment) {
            std::array<std::uint8_t, 48> bytes{};
            std::memcpy(bytes.data(), &segment, bytes.size());
            for (const std::uint8_t byte : bytes)
                all.add(byte, 8);
        };
        op == kRegister ? body(reg) : body(bind);
        all.add(key, 32);
        all.add(privileged, 1);
        all.add(pdn, 16);
        all.add(qp, kQpLog);
        all.add(op, 3);
        return all;
    }
};

struct Answer {
    unsigned verr = DINGO_VERR_NONE;
    bool under_way = false;
};

using Table = std::array<Entry, kMrs>;

Entry* find(Table& table, std::uint32_t key, bool owner = false) {
    const unsigned index = key >> 16;
    if (index >= kMrs || !table[index].valid)
        return nullptr;
    const unsigned mask = owner ? 0xff00 : 0xffff;
    return (table[index].tag & mask) == (key & mask) ? &table[index] : nullptr;
}

void unbind(Table& table, Entry& window) {
    if (!window.free)
        --table[window.more].more;
    window.free = true;
}

/// As memory_window.cpp of the model; on success the table changes.
Answer work(Table& table, const Request& r) {
    if (r.op == kDestroy) {
        Entry& entry = table[r.key >> 16];
        if (entry.window())
            unbind(table, entry);
        entry = {};
        return {};
    }
    if (r.op == kForget) {
        for (Entry& entry : table)
            if (entry.valid && entry.kind == DINGO_MRT_MW2 && !entry.free && entry.qp == r.qp)
                unbind(table, entry);
        return {};
    }
    if (r.op == kInvalidate) {
        Entry* entry = find(table, r.key);
        if (entry == nullptr)
            return {DINGO_VERR_KEY};
        if (entry->pdn != r.pdn)
            return {DINGO_VERR_KEY_PD};
        if (entry->kind != DINGO_MRT_FRWR &&
            (entry->kind != DINGO_MRT_MW2 || (!entry->free && entry->qp != r.qp)))
            return {DINGO_VERR_KEY_ACCESS};
        const Answer answer{DINGO_VERR_NONE, !entry->free};
        if (entry->window())
            unbind(table, *entry);
        entry->free = true;
        return answer;
    }
    if (r.op == kRegister) {
        const dingo_wqe_reg& q = r.reg;
        Entry* entry = find(table, q.key, true);
        if (entry == nullptr || entry->kind != DINGO_MRT_FRWR)
            return {DINGO_VERR_KEY};
        if (entry->pdn != r.pdn)
            return {DINGO_VERR_KEY_PD};
        constexpr unsigned all = DINGO_ACC_LOCAL_WRITE | kRemote | DINGO_ACC_MW_BIND;
        if (!r.privileged || (q.access & ~all) != 0 ||
            ((q.access & kWrites) != 0 && (q.access & DINGO_ACC_LOCAL_WRITE) == 0))
            return {DINGO_VERR_KEY_ACCESS};
        if (!entry->free)
            return {DINGO_VERR_KEY_STATE};
        if (q.length == 0 || q.length > kMostBytes || q.length - 1 > ~q.iova ||
            q.pbl_addr % 8 != 0 || q.offset >= 1u << q.page_shift ||
            ((q.offset + q.length - 1) >> q.page_shift) + 1 > entry->more)
            return {DINGO_VERR_KEY_BOUNDS};
        entry->free = false;
        entry->tag = q.key & 0xffff;
        entry->access = q.access;
        entry->iova = q.iova;
        entry->length = q.length;
        entry->place = 0;
        entry->levels = 3;
        entry->shift = q.page_shift;
        entry->offset = q.offset;
        entry->addr = q.pbl_addr;
        return {};
    }
    const dingo_wqe_bind& q = r.bind;
    Entry* window = find(table, q.mw_key, true);
    if (window == nullptr || !window->window())
        return {DINGO_VERR_KEY};
    if (window->pdn != r.pdn)
        return {DINGO_VERR_KEY_PD};
    if (((q.new_key ^ q.mw_key) & ~0xffu) != 0)
        return {DINGO_VERR_KEY};
    if ((q.access & ~(kRemote | DINGO_ACC_ZERO_BASED)) != 0)
        return {DINGO_VERR_KEY_ACCESS};
    const bool type2 = window->kind == DINGO_MRT_MW2;
    if (type2 && !window->free)
        return {DINGO_VERR_KEY_STATE};
    const Answer answer{DINGO_VERR_NONE, !window->free};
    if (q.length == 0) {
        unbind(table, *window);
        window->tag = q.new_key & 0xffff;
        return answer;
    }
    Entry* region = find(table, q.mr_key);
    if (region == nullptr || region->kind != DINGO_MRT_MR)
        return {DINGO_VERR_KEY};
    if (region->pdn != r.pdn)
        return {DINGO_VERR_KEY_PD};
    if ((region->access & DINGO_ACC_MW_BIND) == 0 ||
        ((q.access & kWrites) != 0 && (region->access & DINGO_ACC_LOCAL_WRITE) == 0))
        return {DINGO_VERR_KEY_ACCESS};
    if (q.addr < region->iova || q.length > region->length ||
        q.addr - region->iova > region->length - q.length)
        return {DINGO_VERR_KEY_BOUNDS};
    unbind(table, *window);
    ++region->more;
    window->free = false;
    window->tag = q.new_key & 0xffff;
    window->access = q.access & kRemote;
    window->iova = (q.access & DINGO_ACC_ZERO_BASED) != 0 ? 0 : q.addr;
    window->length = q.length;
    window->qp = r.qp;
    window->more = q.mr_key >> 16;
    window->place = q.addr - region->iova;
    window->levels = region->levels;
    window->shift = region->shift;
    window->offset = region->offset;
    window->addr = region->addr;
    return answer;
}

class MrWork : public testing::TestWithParam<unsigned> {
  protected:
    MrWork() : dice(GetParam()) {
        dut.rst_ni = 0;
        clock();
        dut.rst_ni = 1;
        for (unsigned i = 0; i < 100 && !dut.ready_o; ++i)
            clock();
    }
    /// A cycle; `command`: it reads or writes the table itself, then nobody else may.
    void clock(bool command = false) {
        dut.hold_i = command;
        dut.clk_i = 0;
        dut.eval();
        if (dut.rst_ni) {
            EXPECT_FALSE(command && (dut.re_o || dut.we_o));
            EXPECT_FALSE(dut.re_o && dut.we_o);
        }
        const bool reads = dut.rst_ni && (dut.re_o || command);
        const Bits read = real[dut.re_o ? dut.index_o : dice.below(kMrs)].bits();
        if (dut.rst_ni && dut.we_o)
            real[dut.index_o] = Entry::of(sample(dut.wdata_o, 0, kMr));
        dut.clk_i = 1;
        dut.eval();
        if (reads)
            drive(dut.rdata_i, read);
        ++cycles;
    }
    /// Asks as client `by` until it is done; `first` goes on in parallel.
    Answer ask(unsigned by, const Request& request) {
        show(by, &request);
        for (unsigned i = 0; i < 200 && !done(by); ++i)
            clock(dice.percent(10));
        EXPECT_TRUE(done(by));
        const Bits bits = sample(dut.answer_o, 0, 9);
        for (unsigned i = dice.below(3); i > 0; --i) {
            clock();
            EXPECT_TRUE(done(by)) << "it stays until it is seen";
        }
        show(by, nullptr);
        clock();
        return {static_cast<unsigned>(bits.get(1, 8)), bits.get(0, 1) != 0};
    }
    void show(unsigned by, const Request* request) {
        (by == 0   ? dut.rsp_valid_i
         : by == 1 ? dut.req_valid_i
                   : dut.cmd_valid_i) = request != nullptr;
        if (request != nullptr)
            drive(by == 0 ? dut.rsp_i : by == 1 ? dut.req_i : dut.cmd_i, request->bits());
    }
    bool done(unsigned by) const {
        return (by == 0 ? dut.rsp_done_o : by == 1 ? dut.req_done_o : dut.cmd_done_o) != 0;
    }
    void expect_same() {
        for (unsigned i = 0; i < kMrs; ++i)
            ASSERT_EQ(real[i].bits(), model[i].bits()) << i;
    }
    void create(unsigned index) {
        Entry e;
        e.valid = true;
        e.kind = dice.below(5);
        e.tag = dice.below(4) << 8 | dice.below(2);
        e.pdn = dice.percent(90) ? 1 : 2;
        if (e.kind == DINGO_MRT_MR || e.kind == DINGO_MRT_PHYS) {
            e.access = dice.percent(70) ? 0x1f : dice.below(32);
            e.iova = dice.percent(30) ? 0 : dice.any() >> 8;
            e.length = 1 + (dice.any() >> (20 + dice.below(40)));
            e.levels = dice.below(3);
            e.shift = 12 + dice.below(19);
            e.offset = dice.below(4096);
            e.addr = dice.any();
            e.paused = e.kind == DINGO_MRT_MR && dice.percent(20);
        } else {
            e.free = true;
            if (e.kind == DINGO_MRT_FRWR)
                e.more = 1 + dice.below(512);
        }
        real[index] = model[index] = e;
    }
    std::uint32_t key(unsigned index) {
        const unsigned tag = model[index].tag ^ (dice.percent(5) ? 1u << dice.below(16) : 0u);
        return (dice.percent(2) ? index + kMrs : index) << 16 | tag;
    }
    /// An entry, most often one of these kinds.
    unsigned some(std::initializer_list<unsigned> kinds) {
        unsigned index = dice.below(kMrs);
        for (unsigned tries = 0; tries < 12; ++tries) {
            for (const unsigned kind : kinds)
                if (model[index].valid && model[index].kind == kind)
                    return index;
            index = dice.below(kMrs);
        }
        return index;
    }
    Request random_request() {
        Request r;
        r.op = static_cast<Op>(dice.below(3));
        r.qp = dice.below(3);
        r.pdn = dice.percent(95) ? 1 : 2;
        r.privileged = dice.percent(90);
        r.key = key(some({DINGO_MRT_MW2, DINGO_MRT_FRWR}));
        const unsigned region = some({DINGO_MRT_MR});
        const Entry& under = model[region];
        r.bind.mw_key = key(some({DINGO_MRT_MW1, DINGO_MRT_MW2}));
        r.bind.new_key = r.bind.mw_key ^ dice.below(256) ^ (dice.percent(3) ? 0x100u : 0u);
        r.bind.mr_key = key(region);
        r.bind.access =
            dice.percent(90) ? dice.below(64) & (kRemote | DINGO_ACC_ZERO_BASED) : dice.below(64);
        r.bind.length = dice.percent(15) || under.length == 0 ? 0 : 1 + dice.any() % under.length;
        const std::uint64_t room = under.length - r.bind.length;
        r.bind.addr = under.iova + (room == 0 ? 0 : dice.any() % (room + 1));
        if (dice.percent(10))
            r.bind.addr = under.iova + room + 1;
        if (dice.percent(5))
            --r.bind.addr;
        r.reg.key = key(some({DINGO_MRT_FRWR})) ^ dice.below(256);
        r.reg.access = dice.percent(80) ? dice.below(32) | 1 : dice.below(64);
        r.reg.page_shift = static_cast<std::uint8_t>(12 + dice.below(19));
        r.reg.offset = dice.percent(90) ? dice.below(1u << r.reg.page_shift)
                                        : static_cast<std::uint32_t>(dice.any());
        const unsigned pages = model[r.reg.key >> 16 & (kMrs - 1)].more;
        const std::uint64_t most = (std::uint64_t{pages} << r.reg.page_shift) - r.reg.offset;
        r.reg.length = dice.percent(30) ? most : dice.percent(20) ? most + 1 : 1 + dice.below(9999);
        r.reg.iova = dice.percent(80) ? dice.any() >> 8 : ~dice.any() % 20000;
        if (dice.percent(5))
            r.reg.iova = ~std::uint64_t{0} - r.reg.length + 1 + dice.below(2);
        r.reg.pbl_addr = (dice.any() & ~std::uint64_t{7}) | (dice.percent(3) ? 4u : 0u);
        return r;
    }

    Vdingo_mr_work dut;
    Dice dice;
    Table real, model;
    std::map<std::pair<unsigned, unsigned>, unsigned> seen;
    unsigned cycles = 0;
};
INSTANTIATE_TEST_SUITE_P(Seeds, MrWork, testing::Range(1u, 5u));

TEST_P(MrWork, DoesWhatTheModelDoes) {
    ASSERT_TRUE(dut.ready_o);
    unsigned forgotten = 0;
    for (unsigned round = 0; round < 20'000; ++round) {
        if (dice.percent(10)) {
            const unsigned index = dice.below(kMrs);
            if (!model[index].valid) {
                create(index);
            } else if (model[index].kind != DINGO_MRT_MR || model[index].more == 0) {
                Request r;
                r.op = kDestroy;
                r.key = index << 16;
                ask(2, r);
                work(model, r);
            }
        } else if (dice.percent(4)) {
            Request r;
            r.op = kForget;
            r.qp = dice.below(3);
            for (const Entry& entry : model)
                forgotten +=
                    entry.valid && entry.kind == DINGO_MRT_MW2 && !entry.free && entry.qp == r.qp;
            ask(2, r);
            work(model, r);
        } else {
            const Request r = random_request();
            const Answer got = ask(dice.below(2), r);
            const Answer want = work(model, r);
            ASSERT_EQ(got.verr, want.verr) << "operation " << unsigned{r.op};
            ASSERT_TRUE(want.verr != DINGO_VERR_NONE || got.under_way == want.under_way);
            ++seen[{r.op, want.verr}];
        }
        expect_same();
        if (HasFatalFailure())
            return;
    }
    EXPECT_GT(forgotten, 30u);
    for (const int verr :
         {DINGO_VERR_NONE, DINGO_VERR_KEY, DINGO_VERR_KEY_PD, DINGO_VERR_KEY_ACCESS})
        for (const Op op : {kInvalidate, kBind, kRegister})
            EXPECT_GT((seen[{op, verr}]), 5u) << unsigned{op} << ' ' << verr;
    for (const unsigned verr : {unsigned{DINGO_VERR_KEY_STATE}, unsigned{DINGO_VERR_KEY_BOUNDS}})
        for (const Op op : {kBind, kRegister})
            EXPECT_GT((seen[{op, verr}]), 5u) << unsigned{op} << ' ' << verr;
}

/// The walk for a QP's windows takes as long as the table is; work requests do not wait for it.
TEST_P(MrWork, WorkRequestsGoOnDuringTheWalk) {
    ASSERT_TRUE(dut.ready_o);
    Entry region;
    region.valid = true;
    region.kind = DINGO_MRT_MR;
    region.pdn = 1;
    region.access = 0x1f;
    region.length = 1 << 20;
    real[0] = model[0] = region;
    for (unsigned i = 1; i < kMrs; ++i) {
        Entry window;
        window.valid = window.free = true;
        window.kind = DINGO_MRT_MW2;
        window.pdn = 1;
        real[i] = model[i] = window;
    }
    const auto bind = [&](unsigned index, unsigned qp, unsigned length) {
        Request r;
        r.op = kBind;
        r.qp = qp;
        r.pdn = 1;
        r.bind.mw_key = r.bind.new_key = index << 16;
        r.bind.length = length;
        r.bind.access = DINGO_ACC_REMOTE_READ;
        return r;
    };
    for (unsigned i = 1; i < kMrs; ++i) {
        const Request r = bind(i, i % 2, 64);
        EXPECT_EQ(ask(1, r).verr, unsigned{DINGO_VERR_NONE});
        work(model, r);
    }
    Request forget;
    forget.op = kForget;
    forget.qp = 1;
    show(2, &forget);
    clock();
    clock();
    clock();
    Request invalidate;
    invalidate.pdn = 1;
    invalidate.key = 2 << 16;
    const unsigned from = cycles;
    EXPECT_TRUE(ask(0, invalidate).under_way);
    EXPECT_LT(cycles - from, 24u);
    EXPECT_FALSE(done(2));
    work(model, invalidate);
    const Request again = bind(2, 0, 128);
    EXPECT_EQ(ask(1, again).verr, unsigned{DINGO_VERR_NONE});
    work(model, again);
    ask(2, forget);
    work(model, forget);
    expect_same();
    EXPECT_EQ(real[0].more, kMrs / 2 - 1);
    const unsigned then = cycles;
    ask(2, forget);  // it has none any more
    EXPECT_LT(cycles - then, 12u);
}

}  // namespace
