// SPDX-License-Identifier: BSD-2-Clause
//
// Bench of dingo_mac with RoCE and other frames, and a peer that sends PFC frames.
#pragma once

#include <algorithm>

#include "mac_bench.h"

namespace dingo::rtl {

class MacPfc : public Mac {
  protected:
    MacPfc() { mac_at_cable_rate = true; }

    /// Keeps RoCE and other frames waiting for `ns` nanoseconds.
    void keep_sending(double ns) {
        for (const double end = now + ns; now < end;) {
            for (const bool roce : {true, false}) {
                auto waiting = std::count_if(out_.begin(), out_.end(),
                                             [&](const Sent& s) { return s.roce == roce; });
                for (; waiting < 8; ++waiting)
                    card_sends(numbered(roce ? 1'000 : 300), roce);
            }
            run(200);
        }
    }
    [[nodiscard]] static bool is_roce(const Received& r) { return r.frame.size() == 1'000; }
    [[nodiscard]] static bool is_pfc(const Received& r) {
        return r.frame.size() >= 18 && be16_at(r.frame, 12) == 0x8808;
    }
    /// The longest time between RoCE frames at the MAC after `from`.
    double roce_gap(double from) {
        double gap = 0, last = from;
        for (const Received& r : mac_got) {
            if (r.at > from && is_roce(r)) {
                gap = std::max(gap, r.at - last);
                last = r.at;
            }
        }
        return gap;
    }
    unsigned others(double from, double to) {
        unsigned n = 0;
        for (const Received& r : mac_got)
            n += r.at > from && r.at < to && !is_roce(r);
        return n;
    }
    std::vector<Received> pfc_frames() {
        std::vector<Received> found;
        for (const Received& r : mac_got)
            if (is_pfc(r))
                found.push_back(r);
        return found;
    }
    /// Gives `n` RoCE frames to the card's side.
    void send_roce(unsigned n, int pcp = -1) {
        for (unsigned i = 0; i < n; ++i) {
            Frame frame = numbered(1'000);
            card_sends(pcp < 0 ? frame : tagged(frame, static_cast<unsigned>(pcp)), true);
        }
    }
    unsigned roce() {
        return static_cast<unsigned>(std::count_if(mac_got.begin(), mac_got.end(), is_roce));
    }
    /// Expects that `frame` of the peer pauses nothing.
    void expect_no_pause(const Frame& frame, bool bad_fcs = false) {
        card_obeys = true;
        keep_sending(3'000);
        const double from = now;
        peer_sends(frame, bad_fcs);
        keep_sending(3'000);
        EXPECT_LT(roce_gap(from), 500);
        EXPECT_EQ(status().rx_pauses, 0u);
    }
    struct Heard {
        double at, pause;
    };
    std::deque<Heard> heard_;  // pauses, for a peer that obeys
};

}  // namespace dingo::rtl
