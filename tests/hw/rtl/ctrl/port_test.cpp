// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_port: the GID, MAC and port tables give what commands wrote; events report the changes of
// the link.
#include <gtest/gtest.h>

#include <array>

#include "Vdingo_port.h"
#include "bench.h"
#include "dingo_hw.h"

namespace {

using namespace dingo::rtl;
constexpr unsigned kGids = 4;
constexpr unsigned kMacs = 16;
constexpr unsigned kGidWidth = 194;
constexpr std::uint64_t kFactory = 0x021122334455;  // first octet most significant

struct Bench {
    Vdingo_port dut;
    bool busy = false;  // an event was offered and not taken
    std::uint64_t shown = 0;
    std::vector<std::uint64_t> events;

    Bench() {
        drive(dut.strap_i, Bits{{0, 32},
                                {0, 1},
                                {kFactory, 48},
                                {0, 32},
                                {0, 32},
                                {0, 32},
                                {0, 32},
                                {0, 32},
                                {0, 32}});
        dut.rst_ni = 0;
        clock();
        clock();
        dut.rst_ni = 1;
        dut.clk_i = 0;
        dut.eval();
    }
    void clock() {
        dut.clk_i = 0;
        dut.eval();
        if (dut.rst_ni) {
            const std::uint64_t kind = sample(dut.ev_o, 64, 8).get(0, 8);
            if (busy) {
                ASSERT_TRUE(dut.ev_valid_o) << "an event was taken back";
                ASSERT_EQ(kind, shown) << "an event changed while it waited";
            }
            busy = dut.ev_valid_o && !dut.ev_ready_i;
            shown = kind;
            if (dut.ev_valid_o && dut.ev_ready_i) {
                ASSERT_EQ(sample(dut.ev_o, 32, 32).get(0, 32), 1u);
                events.push_back(kind);
            }
        }
        dut.clk_i = 1;
        dut.eval();
    }
};

TEST(RtlPort, StartsDisabledWithTheFactoryAddress) {
    Bench bench;
    EXPECT_EQ(bench.dut.link_o, 0);
    EXPECT_EQ(bench.dut.gid_valid_o, 0u);
    EXPECT_EQ(bench.dut.mac_valid_o, 1u);
    // inside the card the first octet on the wire is the lowest byte
    EXPECT_EQ(sample(bench.dut.macs_o, 0, 48).get(0, 48), 0x554433221102u);
    EXPECT_EQ(sample(bench.dut.port_o, 0, 16).get(0, 16), 1500u);
}

TEST(RtlPort, TablesHoldWhatWasWritten) {
    Bench bench;
    Dice dice(1);
    std::array<Bits, kGids> gids;
    std::array<std::uint64_t, kMacs> macs{};
    macs[0] = 0x554433221102u;
    unsigned mac_valid = 1;
    gids.fill(Bits{{0, 64}, {0, 64}, {0, 64}, {0, 2}});
    auto& dut = bench.dut;
    for (int step = 0; step < 3000; ++step) {
        Bits gid{{dice.below(2), 1}, {dice.below(2), 1}, {dice.any(), 48},
                 {dice.any(), 16},   {dice.any(), 64},   {dice.any(), 64}};
        ASSERT_EQ(gid.size(), kGidWidth);
        dut.gid_we_i = dice.percent(40);
        dut.gid_index_i = dice.below(kGids);
        drive(dut.gid_i, gid);
        dut.mac_we_i = dice.percent(40);
        dut.mac_index_i = dice.below(kMacs);
        dut.mac_valid_i = dice.below(2);
        dut.mac_i = dice.any() & 0xffffffffffff;
        bench.clock();
        if (dut.gid_we_i) {
            gids[dut.gid_index_i] = gid;
        }
        if (dut.mac_we_i) {
            macs[dut.mac_index_i] = dut.mac_i;
            mac_valid = (mac_valid & ~(1u << dut.mac_index_i)) | unsigned{dut.mac_valid_i}
                                                                     << dut.mac_index_i;
        }
        ASSERT_EQ(dut.mac_valid_o, mac_valid);
        for (unsigned i = 0; i < kGids; ++i) {
            ASSERT_EQ(sample(dut.gids_o, i * kGidWidth, kGidWidth), gids[i]);
            ASSERT_EQ(dut.gid_valid_o >> i & 1, gids[i].get(kGidWidth - 1, 1));
        }
        const unsigned m = dice.below(kMacs);
        ASSERT_EQ(sample(dut.macs_o, m * 48, 48).get(0, 48), macs[m]);
    }
}

// The link may change twice while an event waits; then both events are left out.
TEST(RtlPort, EventsAlternateAndEndWithTheStateOfTheLink) {
    Bench bench;
    Dice dice(2);
    auto& dut = bench.dut;
    bool enabled = false;
    unsigned changes = 0;
    for (int step = 0; step < 20'000; ++step) {
        const bool was = dut.wire_up_i && enabled;
        if (dice.percent(10)) {
            dut.wire_up_i = dice.below(2);
        }
        dut.port_we_i = dice.percent(10);
        const bool enable = dice.percent(70);
        drive(dut.port_i, Bits{{enable, 1}, {0, 2}, {1500, 16}});
        dut.ev_ready_i = dice.percent(40);
        bench.clock();
        ASSERT_FALSE(HasFatalFailure());
        if (dut.port_we_i) {
            enabled = enable;
        }
        dut.eval();
        ASSERT_EQ(dut.link_o != 0, dut.wire_up_i && enabled);
        changes += was != (dut.wire_up_i && enabled);
    }
    dut.port_we_i = 0;
    dut.ev_ready_i = 1;
    for (int i = 0; i < 8; ++i) {
        bench.clock();
    }
    ASSERT_GT(bench.events.size(), 500u);
    ASSERT_LE(bench.events.size(), changes);
    for (std::size_t i = 0; i < bench.events.size(); ++i) {
        ASSERT_EQ(bench.events[i], i % 2 == 0 ? DINGO_EV_PORT_UP : DINGO_EV_PORT_DOWN);
    }
    EXPECT_EQ(bench.events.size() % 2 == 1, dut.link_o != 0);
}

}  // namespace
