// SPDX-License-Identifier: BSD-2-Clause
//
// Bench of dingo_mac between a card and a MAC, each with its clock. Time is in ns; the cable
// carries 12.5 bytes per ns each way.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <vector>

#include "../wire/wire_bench.h"
#include "Vdingo_mac.h"

namespace dingo::rtl {

inline constexpr double kMacPeriod = 1000 / 322.265625;
inline constexpr double kCorePeriod = 4;
inline constexpr double kOverhead = 24;   // bytes: FCS, preamble, inter-frame gap
inline constexpr double kRate = 12.5;     // bytes per ns
inline constexpr double kQuantum = 5.12;  // ns
inline constexpr unsigned kPriority = 3;
inline constexpr std::uint64_t kOurMac = 0x02'00'00'00'00'01;

struct Clocks {
    double core, tx, rx;
};

class Mac : public testing::Test {
  protected:
    struct Received {
        Frame frame;
        double at;  // time of its last beat
    };
    struct Sent {
        Frame frame;
        bool roce = false;
        bool spoilt = false;  // ends with tuser
    };
    struct Travelling {
        double begin;
        Sent sent;
    };

    Mac();
    /// Sets the classes that have PFC; untagged RoCE frames are of kPriority.
    void configure(unsigned classes);
    /// The frame with its EtherType replaced by a VLAN tag.
    static Frame tagged(Frame frame, unsigned pcp);
    void clocks(const Clocks& periods) { periods_ = periods; }
    void run(double ns);
    /// Runs until no beat has moved for 3 us.
    void settle();

    Frame numbered(std::size_t bytes);
    /// The peer sends frames back to back from now on; `make` gives each of them.
    void peer(unsigned frames, const std::function<Sent()>& make);
    void peer_sends(Frame frame, bool bad_fcs = false) {
        peer(1, [&] { return Sent{frame, false, bad_fcs}; });
    }
    void card_sends(Frame frame, bool roce, bool void_frame = false) {
        out_.push_back({std::move(frame), roce, void_frame});
    }
    /// PFC frame: times[i] is for priority i, in force where the vector has bit i.
    static Frame pfc(std::uint8_t vector, const std::array<std::uint16_t, 8>& times);
    static Frame pause(std::uint16_t quanta) {
        return pfc(1u << kPriority, {9, 9, 9, quanta, 9, 9, 9, 9});
    }

    /// Checks that the frames that came are some of those given, in order; returns how many are
    /// missing.
    static std::size_t missing(const std::vector<Sent>& given, const std::vector<Received>& came);

    struct Status {
        std::uint32_t tx_void, tx_lost, rx_bad, rx_no_room, rx_lost, rx_control, rx_pauses,
            tx_pauses;
        bool tx_paused, rx_high;
    };
    Status status();

    Vdingo_mac dut;
    Random random{23};
    double now = 0;
    // percent of cycles
    unsigned card_gives = 100, card_takes = 100, mac_takes = 100;
    bool mac_at_cable_rate = false;          // the MAC takes beats at the cable's rate
    bool card_obeys = false;                 // the card begins no RoCE frame while roce_stop_o
    std::vector<Sent> peer_gave, card_gave;  // without tuser
    std::vector<Received> card_got, mac_got;
    std::uint64_t no_room = 0, bad = 0;  // sums of rx_no_room_o, rx_bad_o
    unsigned gaps = 0;                   // cycles without a beat inside a frame to the MAC
    unsigned mac_cut = 0, card_cut = 0;  // frames that ended with tuser
    bool expect_whole = true;            // no frame may end with tuser
    bool nonsense = false;               // beats may have any content

    double cable_free = 0;  // when the peer's last frame ends
    std::deque<Travelling> line;
    std::deque<Sent> out_;
    std::size_t in_at = 0, out_at = 0;  // beats of the current frame that have moved
    Frame mac_part, card_part;

  private:
    void core_cycle();
    void tx_cycle();
    void rx_cycle();
    template <typename Clock>
    void tick(Clock& clock) {
        dut.eval();
        clock = 1;
        dut.eval();
        clock = 0;
        dut.eval();
    }

    Clocks periods_{kCorePeriod, kMacPeriod, kMacPeriod};
    double core_at_ = 1, tx_at_ = 0.3, rx_at_ = 0, moved_ = 0, owed_ = 0;
    std::uint32_t number_ = 0;
    bool shown_ = false;  // the card's beat is valid until it is taken
};

}  // namespace dingo::rtl
