// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_mr_table: verdicts of both lookup ports, one a cycle, against the rules of the C++ model;
// entries change meanwhile.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>

#include "Vdingo_mr_table.h"
#include "bench.h"
#include "dingo_hw.h"

namespace {

using namespace dingo::rtl;
constexpr unsigned kLog = 4;
constexpr unsigned kMrs = 1 << kLog;
constexpr unsigned kLatency = 3;
constexpr unsigned kQpLog = 4;
constexpr unsigned kMr = 339 + kQpLog;
constexpr unsigned kReq = 151 + kQpLog;
constexpr unsigned kRsp = 177;

struct Region {
    bool valid = false;
    bool free = false;
    bool paused = false;
    unsigned kind = DINGO_MRT_MR;
    unsigned qp = 0;
    unsigned more = 0;
    std::uint64_t place = 0;
    unsigned tag = 0;
    unsigned pdn = 0;
    unsigned access = 0;
    std::uint64_t iova = 0;
    std::uint64_t length = 0;
    unsigned levels = 0;
    unsigned shift = 0;
    std::uint32_t offset = 0;
    std::uint64_t addr = 0;

    [[nodiscard]] Bits mem() const { return {{levels, 2}, {shift, 5}, {offset, 32}, {addr, 64}}; }
    [[nodiscard]] Bits bits() const {
        Bits all = mem();
        all.add(place, 48);
        all.add(more, 16);
        all.add(qp, kQpLog);
        all.add(length, 64);
        all.add(iova, 64);
        all.add(access, 6);
        all.add(pdn, 16);
        all.add(tag, 16);
        all.add(kind, 3);
        all.add(paused, 1);
        all.add(free, 1);
        all.add(valid, 1);
        return all;
    }
};

struct Request {
    std::uint32_t key;
    std::uint64_t va;
    std::uint32_t len;
    unsigned access;
    unsigned pdn;
    bool privileged;
    unsigned qp;
    [[nodiscard]] Bits bits() const {
        return {{key, 32}, {va, 64},        {len, 32},   {access, 6},
                {pdn, 16}, {privileged, 1}, {qp, kQpLog}};
    }
};

struct Answer {
    bool wanted = false;
    unsigned verr = 0;
    std::uint64_t off = 0;
    Bits mem;
    unsigned mark = 0;  ///< the entry whose `paused` counts: of a window, its region's
    bool paused = false;
};

/// As MemoryTable::check() of the model.
Answer judge(const std::array<Region, kMrs>& regions, const Request& r) {
    Answer answer;
    answer.wanted = true;
    const unsigned index = r.key >> 16;
    if (index >= kMrs || !regions[index].valid || regions[index].tag != (r.key & 0xffff)) {
        answer.verr = DINGO_VERR_KEY;
        return answer;
    }
    const Region& region = regions[index];
    constexpr unsigned remote =
        DINGO_ACC_REMOTE_WRITE | DINGO_ACC_REMOTE_READ | DINGO_ACC_REMOTE_ATOMIC;
    const bool type2 = region.kind == DINGO_MRT_MW2;
    const bool window = type2 || region.kind == DINGO_MRT_MW1;
    if (region.pdn != r.pdn) {
        answer.verr = DINGO_VERR_KEY_PD;
    } else if (region.free) {
        answer.verr = DINGO_VERR_KEY_STATE;
    } else if ((region.access & r.access) != r.access ||
               (region.kind == DINGO_MRT_PHYS && !r.privileged) ||
               (window && (r.access & remote) == 0) || (type2 && region.qp != r.qp)) {
        answer.verr = DINGO_VERR_KEY_ACCESS;
    } else if (r.va < region.iova || r.len > region.length ||
               r.va - region.iova > region.length - r.len) {
        answer.verr = DINGO_VERR_KEY_BOUNDS;
    }
    answer.off = r.va - region.iova + region.place;
    answer.mem = region.mem();
    answer.mark = window ? region.more % kMrs : index;
    return answer;
}

Region random_region(Dice& dice) {
    Region r;
    r.valid = dice.percent(85);
    r.free = dice.percent(10);
    r.paused = dice.percent(30);
    r.kind = dice.below(5);
    r.qp = dice.below(2);
    r.more = dice.below(65536);
    r.place = dice.any() >> 16;
    r.tag = dice.below(2);
    r.pdn = dice.below(2);
    r.access = static_cast<unsigned>(dice.any() | dice.any()) & 0x3f;
    r.length = dice.percent(10) ? ~0ull : 1 + (dice.any() >> (dice.below(60) + 4));
    r.iova = dice.percent(30) ? ~0ull - r.length + 1 : dice.any() >> dice.below(32);
    r.levels = dice.below(4);
    r.shift = 12 + dice.below(19);
    r.offset = static_cast<std::uint32_t>(dice.any());
    r.addr = dice.any();
    return r;
}

Request random_request(Dice& dice, const std::array<Region, kMrs>& regions) {
    const unsigned index = dice.percent(95) ? dice.below(kMrs) : dice.below(65536);
    const Region& r = regions[index % kMrs];
    Request q{};
    q.key = index << 16 | (dice.percent(90) ? r.tag : dice.below(65536));
    q.pdn = dice.percent(90) ? r.pdn : dice.below(65536);
    q.access = dice.percent(90) ? r.access & static_cast<unsigned>(dice.any()) : dice.below(64);
    q.privileged = dice.percent(60);
    q.qp = dice.percent(80) ? r.qp : dice.below(1 << kQpLog);
    q.len = dice.percent(50) ? 1 + dice.below(8192) : static_cast<std::uint32_t>(dice.any() | 1);
    // within 2 bytes of either end of the region, where address sums can wrap
    const std::uint64_t near = dice.percent(50) ? r.iova : r.iova + r.length - q.len;
    q.va = near + dice.below(5) - 2;
    if (dice.percent(30) && r.length != 0) {
        q.va = r.iova + dice.any() % r.length;
    }
    return q;
}

TEST(RtlMrTable, VerdictsAreTheModels) {
    Vdingo_mr_table dut;
    Dice dice(1);
    std::array<Region, kMrs> regions;
    const auto clock = [&] {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    };
    std::map<unsigned, int> seen;
    int paused = 0;
    for (int round = 0; round < 2; ++round) {
        dut.rst_ni = 0;
        dut.we_i = dut.re_i = 0;
        dut.req_valid_i = 0;
        for (unsigned i = 0; i < kLatency; ++i) {
            clock();
        }
        dut.rst_ni = 1;
        for (unsigned wait = 0; !dut.ready_o; ++wait) {
            ASSERT_LE(wait, kMrs + 2);
            clock();
        }
        regions.fill(Region{});
        std::array<bool, kMrs> wrote{};  // since reset
        std::array<std::deque<Answer>, 2> expected;
        for (auto& port : expected) {
            port.assign(kLatency, Answer{});
        }
        for (int cycle = 0; cycle < 20'000; ++cycle) {
            Region written = random_region(dice);
            dut.we_i = dice.percent(10);
            dut.re_i = dice.percent(30);
            dut.index_i = dice.below(kMrs);
            if (!wrote[written.more % kMrs])  // a window refers to a region that was written
                written.more = dut.index_i;
            drive(dut.wdata_i, written.bits());
            Bits requests;
            unsigned valid = 0;
            for (unsigned p = 0; p < 2; ++p) {
                const Request request = random_request(dice, regions);
                requests.add(request.bits());
                Answer answer;
                if (dice.percent(70)) {
                    valid |= 1u << p;
                    answer = judge(regions, request);
                }
                expected[p].push_back(answer);
            }
            ASSERT_EQ(requests.size(), 2 * kReq);
            dut.req_valid_i = valid;
            drive(dut.req_i, requests);
            const Bits old = regions[dut.index_i].bits();
            clock();
            if (dut.re_i) {
                const Bits got = sample(dut.rdata_o, 0, kMr);
                ASSERT_EQ(got.get(kMr - 1, 1), regions[dut.index_i].valid);
                if (wrote[dut.index_i]) {
                    ASSERT_EQ(got, old);
                }
            }
            if (dut.we_i) {
                regions[dut.index_i] = written;
                wrote[dut.index_i] = true;
            }
            for (auto& port : expected) {  // `paused` is read a cycle after the rest of the entry
                Answer& asked = port.back();
                asked.paused =
                    asked.wanted && asked.verr == DINGO_VERR_NONE && regions[asked.mark].paused;
            }
            for (unsigned p = 0; p < 2; ++p) {
                expected[p].pop_front();
                const Answer& want = expected[p].front();
                ASSERT_EQ(dut.rsp_valid_o >> p & 1, want.wanted);
                if (!want.wanted) {
                    continue;
                }
                const Bits rsp = sample(dut.rsp_o, p * kRsp, kRsp);
                ++seen[want.verr];
                paused += want.paused;
                ASSERT_EQ(rsp.get(kRsp - 1, 1), want.verr == DINGO_VERR_NONE && !want.paused);
                ASSERT_EQ(rsp.get(kRsp - 2, 1), want.paused);
                ASSERT_EQ(rsp.get(kRsp - 10, 8), want.verr);
                if (want.verr == DINGO_VERR_NONE) {
                    ASSERT_EQ(rsp.get(103, 64), want.off);
                    ASSERT_EQ(sample(dut.rsp_o, p * kRsp, 103), want.mem);
                }
            }
        }
    }
    for (const unsigned verr : {unsigned{DINGO_VERR_NONE}, unsigned{DINGO_VERR_KEY},
                                unsigned{DINGO_VERR_KEY_PD}, unsigned{DINGO_VERR_KEY_STATE},
                                unsigned{DINGO_VERR_KEY_ACCESS}, unsigned{DINGO_VERR_KEY_BOUNDS}}) {
        EXPECT_GT(seen[verr], 200) << "verdict " << verr << " is not tested";
    }
    EXPECT_GT(paused, 200);
}

}  // namespace
