// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_scat_mux: every order comes out once, the orders of a packet stay together, and the
// requester's ENDs of ACKs come out only between packets.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "../support/packed.h"
#include "Vdingo_scat_mux.h"
#include "rtl_types.h"

namespace {

class ScatMux : public testing::TestWithParam<unsigned> {
  protected:
    ScatMux() {
        dut.d_valid_i = dut.req_valid_i = dut.rsp_valid_i = 0;
        dut.rst_ni = 0;
        clock();
        dut.rst_ni = 1;
    }
    void clock() {
        dut.clk_i = 0;
        dut.eval();
        dut.clk_i = 1;
        dut.eval();
    }
    bool chance() { return random() % 100 < GetParam(); }
    static rtl::Scat order(bool end, bool bare, std::uint32_t number) {
        rtl::Scat o;
        o.op = end ? rtl::kScatEnd : rtl::kScatSeg;
        o.bare = bare;
        o.has_payload = end && !bare;
        o.to_rsp = !bare;
        o.item[0] = number;
        return o;
    }
    Vdingo_scat_mux dut;
    std::mt19937 random{7};
};
INSTANTIATE_TEST_SUITE_P(Stalls, ScatMux, testing::Values(100U, 60U, 20U));

TEST_P(ScatMux, EndsOfAcksStandBetweenWholePackets) {
    std::deque<rtl::Scat> rsp, req;
    for (std::uint32_t n = 0; n < 3000; ++n) {
        rsp.push_back(order(n % 3 == 2, false, n));
        if (n % 4 == 0)
            req.push_back(order(true, true, n));
    }
    std::uint32_t next_rsp = 0, next_req = 0;
    bool inside = false;
    for (unsigned cycle = 0; cycle < 100'000 && (!rsp.empty() || !req.empty()); ++cycle) {
        if (!rsp.empty() && (dut.rsp_valid_i || chance())) {
            dut.rsp_valid_i = 1;
            rtl::drive(dut.rsp_i, rsp.front());
        }
        if (!req.empty() && (dut.req_valid_i || chance())) {
            dut.req_valid_i = 1;
            rtl::drive(dut.req_i, req.front());
        }
        dut.ready_i = chance();
        dut.clk_i = 0;
        dut.eval();
        const bool from_rsp = dut.rsp_valid_i && dut.rsp_ready_o;
        const bool from_req = dut.req_valid_i && dut.req_ready_o;
        ASSERT_FALSE(from_rsp && from_req);
        ASSERT_EQ(dut.valid_o && dut.ready_i, from_rsp || from_req);
        const auto out = rtl::sample<rtl::Scat>(dut.scat_o);
        const bool ends = (from_rsp || from_req) && out.op == rtl::kScatEnd;
        ASSERT_EQ(dut.end_o != 0, ends);
        if (from_req) {
            EXPECT_FALSE(inside) << "in the middle of a packet";
            EXPECT_TRUE(dut.end_bare_o);
            EXPECT_EQ(out.item[0], 4 * next_req++);
            req.pop_front();
        } else if (from_rsp) {
            EXPECT_FALSE(ends && dut.end_bare_o);
            EXPECT_EQ(out.item[0], next_rsp++);
            inside = !ends;
            rsp.pop_front();
        }
        dut.clk_i = 1;
        dut.eval();
        if (from_rsp)
            dut.rsp_valid_i = 0;
        if (from_req)
            dut.req_valid_i = 0;
    }
    EXPECT_TRUE(rsp.empty());
    EXPECT_TRUE(req.empty());
}

}  // namespace
