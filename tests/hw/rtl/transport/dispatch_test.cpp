// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_dispatch: which engine gets a packet, when, and the counter of each reason to drop it.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include "../support/packed.h"
#include "Vdingo_dispatch.h"
#include "dingo_hw.h"
#include "rtl_types.h"

namespace {

constexpr rtl::Bits<128> kOurs{1, 2, 3, 4};
constexpr rtl::Bits<128> kOther{1, 2, 3, 9};
constexpr rtl::Bits<128> kPeer{5, 6, 7, 8};
constexpr unsigned kRc = 3, kUd = 4, kUc = 6;

/// Parameter: percent of the cycles in which each receiver is ready.
class Dispatch : public testing::TestWithParam<unsigned> {
  protected:
    enum To : std::uint8_t { kNowhere, kRequester, kResponder };

    Dispatch() {
        for (unsigned i : {kRc, kUd, kUc}) {
            qps[i].state = DINGO_QPS_RTS;
            qps[i].cfg.valid = true;
            qps[i].cfg.tag = 0x5a;
            qps[i].cfg.kind = i == kRc ? DINGO_QPT_RC : i == kUc ? DINGO_QPT_UC : DINGO_QPT_UD;
            qps[i].cfg.dgid = kPeer;
            qps[i].cfg.sgid = 2;
        }
        gids[2] = {true, false, 0, 0xffff, kOurs};
        gids[5] = {true, false, 0, 7, kOther};
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
    bool ready() { return random() % 100 < GetParam(); }
    std::size_t whole() const {
        return static_cast<std::size_t>(
            std::count_if(open.begin(), open.end(), [](const Open& o) { return !o.bare; }));
    }
    /// Gives the END of the oldest packet, when it is due.
    bool next_end() {
        const bool ends = !open.empty() && open.front().wait == 0;
        dut.end_i = ends;
        dut.end_bare_i = ends && open.front().bare;
        if (!ends && !open.empty())
            --open.front().wait;
        return ends;
    }

    /// Gives a header; returns the engine that gets it, when the next header may come. The END of a
    /// packet follows later, so several packets of one engine may be open.
    To give(const rtl::Rxh& h) {
        std::array<std::uint32_t, 16 * rtl::kGidW / 32> words{};
        rtl::Packer<16 * rtl::kGidW / 32> packer{words, 16 * rtl::kGidW};
        for (unsigned i = 16; i-- > 0;)
            gids[i].fields(packer);
        for (std::size_t i = 0; i < words.size(); ++i)
            dut.gids_i[i] = words[i];
        rtl::drive(dut.rxh_i, h);
        dut.rxh_valid_i = 1;
        To to = kNowhere;
        unsigned ends = 0;
        bool went = false;  // the header was taken; its counts follow
        for (int i = 0; i < 1000; ++i) {
            dut.clk_i = 0;
            rtl::drive(dut.qp_rdata_i, rdata);
            dut.req_ready_i = ready();
            dut.rsp_ready_i = ready();
            dut.scat_ready_i = ready();
            dut.stat_ready_i = ready();
            dut.qstat_ready_i = ready();
            const bool bare = h.opcode == 0x11 && h.len == 0;
            const bool ended = next_end();
            dut.eval();
            const To asks = dut.req_valid_o ? kRequester : dut.rsp_valid_o ? kResponder : kNowhere;
            EXPECT_TRUE(whole() == 0 ||
                        (asks == kNowhere ? !dut.scat_valid_o : bare || asks == owner))
                << "somebody else before the END of the one before";
            if (ended)
                open.pop_front();
            most_open = std::max(most_open, open.size());
            if (dut.qp_re_o)
                rdata = qps[dut.qp_raddr_o];
            dut.req_ready_i = dut.req_ready_i && open.size() < 3;
            dut.rsp_ready_i = dut.rsp_ready_i && open.size() < 3;
            dut.eval();
            if (dut.req_valid_o && dut.req_ready_i)
                to = kRequester;
            if (dut.rsp_valid_o && dut.rsp_ready_i)
                to = kResponder;
            if ((dut.req_valid_o && dut.req_ready_i) || (dut.rsp_valid_o && dut.rsp_ready_i)) {
                const auto p = rtl::sample<rtl::Rxp>(dut.rxp_o);
                EXPECT_EQ(p.qp, h.dqpn & 31);
                EXPECT_EQ(p.h.psn, h.psn);
                EXPECT_EQ(p.h.len, h.len);
                EXPECT_EQ(p.ctx.cfg.tag, 0x5a);
                EXPECT_EQ(p.ctx.state, qps[p.qp].state);
                open.push_back(
                    {end_wait != 0 ? end_wait : static_cast<unsigned>(random() % 20), bare});
                if (!bare)
                    owner = to;
                ++ends;
            }
            if (dut.scat_valid_o && dut.scat_ready_i) {
                const auto order = rtl::sample<rtl::Scat>(dut.scat_o);
                EXPECT_EQ(order.op, rtl::kScatEnd);
                EXPECT_TRUE(order.no_item);
                EXPECT_EQ(order.has_payload, h.len != 0);
                EXPECT_EQ(order.bare, bare) << "dingo_req_settle does not count it";
                ++ends;
            }
            if (dut.stat_valid_o && dut.stat_ready_i) {
                const auto s = rtl::sample<rtl::Stat>(dut.stat_o);
                stats[s.idx] += s.by;
            }
            if (dut.qstat_valid_o && dut.qstat_ready_i) {
                const auto s = rtl::sample<rtl::Qstat>(dut.qstat_o);
                EXPECT_EQ(s.qp, h.dqpn & 31);
                qp_stats[s.idx] += s.by;
            }
            if (dut.rxh_ready_o) {
                EXPECT_EQ(dut.rxh_bare_o, bare);
            }
            went = went || dut.rxh_ready_o;
            dut.clk_i = 1;
            dut.eval();
            dut.rxh_valid_i = !went;
            if (went && ends != 0 && !dut.stat_valid_o && !dut.qstat_valid_o) {
                EXPECT_EQ(ends, 1u);
                return to;
            }
        }
        ADD_FAILURE() << "the packet never went";
        return to;
    }
    /// Expects a drop that counts `counter` and, as for each packet, packets and bytes.
    void expect_drop(const rtl::Rxh& h, unsigned counter) {
        stats.clear();
        qp_stats.clear();
        EXPECT_EQ(give(h), kNowhere);
        EXPECT_EQ(stats[counter], 1u) << counter;
        EXPECT_EQ(stats[DINGO_CARD_RDMA_RX_PACKETS], 1u);
        EXPECT_EQ(stats[DINGO_CARD_RDMA_RX_BYTES], h.frame_bytes);
        EXPECT_EQ(stats.size(), 3u);
        EXPECT_TRUE(qp_stats.empty());
    }
    static rtl::Rxh rc(std::uint8_t opcode) {
        rtl::Rxh h;
        h.opcode = opcode;
        h.pkey = 0xffff;
        h.dqpn = 0x5a0000 | kRc;
        h.sgid = kPeer;
        h.dgid = kOurs;
        h.psn = 0x123456;
        h.len = 17;
        h.frame_bytes = 99;
        return h;
    }
    static rtl::Rxh ud() {
        rtl::Rxh h = rc(0x64);
        h.dqpn = 0x5a0000 | kUd;
        return h;
    }
    static rtl::Rxh uc(std::uint8_t opcode) {
        rtl::Rxh h = rc(opcode);
        h.dqpn = 0x5a0000 | kUc;
        return h;
    }
    Vdingo_dispatch dut;
    std::mt19937 random{1};
    std::vector<rtl::Qp> qps{32};
    std::vector<rtl::Gid> gids{16};
    rtl::Qp rdata;
    std::map<unsigned, std::uint64_t> stats, qp_stats;
    struct Open {
        unsigned wait;
        bool bare;  ///< an ACK without payload
    };
    std::deque<Open> open;  ///< packets that were given; `wait`: cycles until the END
    unsigned end_wait = 0;  ///< `wait` of the next packets; 0: random
    std::size_t most_open = 0;
    To owner = kNowhere;  ///< engine of the open packets that are not bare
};
INSTANTIATE_TEST_SUITE_P(Stalls, Dispatch, testing::Values(100U, 50U, 15U));

TEST_P(Dispatch, ResponsesGoToTheRequesterOthersToTheResponder) {
    for (unsigned op = 0; op <= 0x17; ++op) {
        if (op == 0x15)
            continue;
        EXPECT_EQ(give(rc(static_cast<std::uint8_t>(op))),
                  op >= 0x0d && op <= 0x12 ? kRequester : kResponder)
            << op;
    }
    EXPECT_EQ(give(ud()), kResponder);
    for (unsigned op = 0x20; op <= 0x2b; ++op)
        EXPECT_EQ(give(uc(static_cast<std::uint8_t>(op))), kResponder) << op;
    EXPECT_EQ(stats[DINGO_CARD_RDMA_RX_PACKETS], 36u);
    EXPECT_EQ(stats[DINGO_CARD_RDMA_RX_BYTES], 36u * 99);
    EXPECT_EQ(qp_stats[DINGO_QP_RX_PACKETS], 36u);
    EXPECT_EQ(qp_stats[DINGO_QP_RX_BYTES], 36u * 99);
}

TEST_P(Dispatch, PacketsOfOneEngineFollowEachOtherAndNobodyElseOrdersInBetween) {
    for (unsigned i = 0; i < 300; ++i) {
        const bool request = i / 10 % 2 != 0;
        if (random() % 8 == 0)
            expect_drop(rc(0x24), DINGO_CARD_RX_DROP_OPCODE);
        else
            EXPECT_EQ(give(rc(request ? 4 : 0x0e)), request ? kResponder : kRequester);
    }
    EXPECT_GT(most_open, 1U);
    // idle_o stays down until the last END
    for (unsigned i = 0; i < 100 && !open.empty(); ++i) {
        if (next_end())
            open.pop_front();
        EXPECT_FALSE(dut.idle_o);
        clock();
    }
    dut.end_i = 0;
    clock();
    EXPECT_TRUE(open.empty());
}

TEST_P(Dispatch, AnAckNeitherWaitsNorIsWaitedFor) {
    end_wait = 900;
    rtl::Rxh ack = rc(0x11);
    ack.len = 0;
    EXPECT_EQ(give(rc(4)), kResponder);
    EXPECT_EQ(give(ack), kRequester);
    EXPECT_EQ(open.size(), 2U);
    EXPECT_EQ(give(rc(4)), kResponder);
    EXPECT_EQ(open.size(), 3U);
    end_wait = 0;
    open.front().wait = open[1].wait = open[2].wait = 5;
    EXPECT_EQ(give(rc(0x0e)), kRequester);  // has payload: waits for the responder's ENDs
    EXPECT_EQ(open.size(), 1U);
    for (unsigned i = 0; i < 100 && !dut.idle_o; ++i) {
        if (next_end())
            open.pop_front();
        clock();
    }
    ASSERT_TRUE(dut.idle_o);
    dut.end_i = 0;
    open.clear();
    end_wait = 900;
    EXPECT_EQ(give(ack), kRequester);
    EXPECT_EQ(give(rc(4)), kResponder);
    EXPECT_EQ(open.size(), 2U);
    end_wait = 0;
    ack.len = 4;  // with payload it is not bare: it waits
    open.front().wait = open.back().wait = 5;
    EXPECT_EQ(give(ack), kRequester);
    EXPECT_EQ(open.size(), 1U);
}

TEST_P(Dispatch, DropsAreCountedByTheFirstReason) {
    expect_drop(rc(0x81), DINGO_CARD_RP_CNP_IGNORED);
    rtl::Rxh h = rc(4);
    h.dqpn = 0x5b0000 | kRc;  // wrong tag
    expect_drop(h, DINGO_CARD_RX_DROP_BAD_QPN);
    h.dqpn = 0x5a0000 | kRc | 32;  // index outside the table
    expect_drop(h, DINGO_CARD_RX_DROP_BAD_QPN);
    h.dqpn = 0xffffff;
    expect_drop(h, DINGO_CARD_RX_DROP_BAD_QPN);
    qps[9].cfg.tag = 0x5a;  // not valid
    h.dqpn = 0x5a0009;
    expect_drop(h, DINGO_CARD_RX_DROP_BAD_QPN);
    expect_drop(rc(0x64), DINGO_CARD_RX_DROP_OPCODE);
    expect_drop(rc(0x24), DINGO_CARD_RX_DROP_OPCODE);
    expect_drop(rc(0x15), DINGO_CARD_RX_DROP_OPCODE);
    for (const unsigned op : {0x04, 0x0c, 0x11, 0x2c, 0x31, 0x64})
        expect_drop(uc(static_cast<std::uint8_t>(op)), DINGO_CARD_RX_DROP_OPCODE);
    h = ud();
    h.opcode = 4;
    expect_drop(h, DINGO_CARD_RX_DROP_OPCODE);
    h = rc(4);
    h.pkey = 0x7ffe;
    expect_drop(h, DINGO_CARD_BAD_PKEY);
    h.pkey = 0x7fff;  // limited member of the default partition
    EXPECT_EQ(give(h), kResponder);
}

TEST_P(Dispatch, StateDecidesWhatIsTaken) {
    const std::map<unsigned, std::pair<bool, bool>> takes = {
        // requests, responses
        {DINGO_QPS_RESET, {false, false}}, {DINGO_QPS_INIT, {false, false}},
        {DINGO_QPS_RTR, {true, false}},    {DINGO_QPS_RTS, {true, true}},
        {DINGO_QPS_SQD, {true, true}},     {DINGO_QPS_SQE, {true, false}},
        {DINGO_QPS_ERR, {false, false}},
    };
    for (const auto& [state, taken] : takes) {
        qps[kRc].state = static_cast<std::uint8_t>(state);
        if (taken.first)
            EXPECT_EQ(give(rc(4)), kResponder) << state;
        else
            expect_drop(rc(4), DINGO_CARD_RX_DROP_QP_STATE);
        rtl::Rxh ack = rc(0x11);
        for (const unsigned len : {17U, 0U}) {
            ack.len = len;
            if (taken.second)
                EXPECT_EQ(give(ack), kRequester) << state;
            else
                expect_drop(ack, DINGO_CARD_RX_DROP_QP_STATE);
        }
    }
}

TEST_P(Dispatch, ConnectedQueuePairTakesItsOwnAddressesOnly) {
    rtl::Rxh h = rc(4);
    h.sgid[3] ^= 1;
    expect_drop(h, DINGO_CARD_RX_DROP_ADDRESS);
    h = rc(4);
    h.dgid = kOther;
    expect_drop(h, DINGO_CARD_RX_DROP_ADDRESS);
    h = rc(4);
    h.has_vlan = true;
    h.vlan = 0xe000;  // VID 0: only a priority
    EXPECT_EQ(give(h), kResponder);
    h.vlan = 7;
    expect_drop(h, DINGO_CARD_RX_DROP_ADDRESS);
    qps[kRc].cfg.sgid = 5;
    h.dgid = kOther;
    EXPECT_EQ(give(h), kResponder);
    gids[5].valid = false;
    expect_drop(h, DINGO_CARD_RX_DROP_ADDRESS);
}

TEST_P(Dispatch, DatagramsTakeAnyLocalAddressAndMulticast) {
    rtl::Rxh h = ud();
    h.sgid = kOther;
    EXPECT_EQ(give(h), kResponder);
    h.dgid = kOther;
    expect_drop(h, DINGO_CARD_RX_DROP_ADDRESS);
    h.has_vlan = true;
    h.vlan = 0x2007;
    EXPECT_EQ(give(h), kResponder);
    h.dgid = {0x000002ff, 0, 0, 0};  // ff02::
    EXPECT_EQ(give(h), kResponder);
    h.dgid = {0, 0, 0xffff0000, 0x010000e1};  // 225.0.0.1
    EXPECT_EQ(give(h), kResponder);
    h.dgid = {0, 0, 0xffff0000, 0x0100000a};  // 10.0.0.1
    expect_drop(h, DINGO_CARD_RX_DROP_ADDRESS);
}

TEST_P(Dispatch, CongestionMarksAreCounted) {
    rtl::Rxh h = rc(4);
    h.ce = true;
    give(h);
    EXPECT_EQ(stats[DINGO_CARD_NP_ECN_MARKED_ROCE_PACKETS], 1u);
}

TEST_P(Dispatch, TakesNothingWhileHalted) {
    dut.halt_i = 1;
    rtl::drive(dut.rxh_i, rc(4));
    dut.rxh_valid_i = 1;
    for (int i = 0; i < 20; ++i) {
        clock();
        EXPECT_TRUE(dut.idle_o);
        EXPECT_FALSE(dut.rxh_ready_o);
        EXPECT_FALSE(dut.rsp_valid_o);
    }
    dut.halt_i = 0;
    EXPECT_EQ(give(rc(4)), kResponder);
}

}  // namespace
