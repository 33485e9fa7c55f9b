// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_mac: a clock with runt pulses before its reset may leave any number in the registers of its
// side. After the reset all frames cross whole again.
#include "Vdingo_mac___024root.h"
#include "mac_bench.h"

namespace dingo::rtl {
namespace {

// NOLINTBEGIN(bugprone-macro-parentheses): parts of names
#define FIFO_REGISTERS(fifo, tell, width)                                   \
    do {                                                                    \
        auto& r = *dut.rootp;                                               \
        const auto any = [&] { return random() & ((1u << (width)) - 1); };  \
        if (tell##_writes) {                                                \
            r.dingo_mac__DOT__##fifo##__DOT__wr_q = any();                  \
            r.dingo_mac__DOT__##fifo##__DOT__start_q = any();               \
            r.dingo_mac__DOT__##fifo##__DOT__i_frames__DOT__here_q = any(); \
        } else {                                                            \
            r.dingo_mac__DOT__##fifo##__DOT__seen_q = any();                \
            r.dingo_mac__DOT__##fifo##__DOT__i_beats__DOT__here_q = any();  \
        }                                                                   \
    } while (false)
// NOLINTEND(bugprone-macro-parentheses)

class MacLimp : public Mac {
  protected:
    MacLimp() { anything(true); }

    void anything(bool may) {
        expect_whole = !may;
        nonsense = may;
    }

    void all_cross_again() {
        run(300);
        out_.clear();
        out_at = 0;
        settle();
        mac_part = card_part = {};
        mac_got.clear();  // some of these are not frames that were given
        card_got.clear();
        anything(false);
        for (unsigned i = 0; i < 40; ++i)
            card_sends(numbered(60 + random() % 2'000), i % 2 == 0);
        peer(20, [this] { return Sent{numbered(60 + random() % 2'000)}; });
        settle();
        EXPECT_EQ(mac_got.size(), 40u);
        EXPECT_EQ(card_got.size(), 20u);
        anything(true);
    }
    void traffic() {
        for (unsigned i = 0; i < 20; ++i)
            card_sends(numbered(60 + random() % 2'000), i % 2 == 0);
        peer(10, [this] { return Sent{numbered(60 + random() % 2'000)}; });
        run(500 + random() % 500);
    }
};

TEST_F(MacLimp, TheMacsTransmitClock) {
    for (unsigned i = 0; i < 30; ++i) {
        traffic();
        dut.mac_tx_up_i = 0;
        const bool mac_writes = false;
        FIFO_REGISTERS(i_tx__DOT__i_roce, mac, 11);
        FIFO_REGISTERS(i_tx__DOT__i_ethernet, mac, 9);
        run(4 + random() % 100);
        dut.mac_tx_up_i = 1;
        all_cross_again();
    }
}

TEST_F(MacLimp, TheMacsReceiveClock) {
    for (unsigned i = 0; i < 30; ++i) {
        traffic();
        dut.mac_rx_up_i = 0;
        line.clear();
        in_at = 0;
        const bool mac_writes = true;
        FIFO_REGISTERS(i_rx__DOT__i_fifo, mac, 12);
        run(4 + random() % 100);
        dut.mac_rx_up_i = 1;
        all_cross_again();
    }
}

TEST_F(MacLimp, TheCardsClock) {
    for (unsigned i = 0; i < 30; ++i) {
        traffic();
        dut.rst_ni = 0;
        out_.clear();
        out_at = 0;
        card_part = {};
        const bool to_mac_writes = true, from_mac_writes = false;
        FIFO_REGISTERS(i_tx__DOT__i_roce, to_mac, 11);
        FIFO_REGISTERS(i_tx__DOT__i_ethernet, to_mac, 9);
        FIFO_REGISTERS(i_rx__DOT__i_fifo, from_mac, 12);
        run(5 + random() % 100);
        dut.rst_ni = 1;
        all_cross_again();
    }
}

}  // namespace
}  // namespace dingo::rtl
