// SPDX-License-Identifier: BSD-2-Clause
//
// The host behind the card's AXI4 master: bursts become DMA of a HostPort.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "Vdingo_card.h"
#include "dingo/engine.h"
#include "stalls.h"

namespace dingo::rtl {

class AxiMemory {
  public:
    AxiMemory(Vdingo_card& card, HostPort& host) : card_(card), host_(host) {}

    /// Drives the slave's side of all channels; before the clock rises.
    void drive();
    /// Looks at what both sides agreed on in this cycle; inputs settled, before the clock rises.
    void sample();
    /// Answers take so long and data moves no faster (dingo/rtl.h); default: at once.
    void set_timing(unsigned read_cycles, double bytes_per_cycle) {
        read_cycles_ = read_cycles;
        bytes_per_cycle_ = bytes_per_cycle;
    }
    /// What the host has written to the card so far, and how much of it the card has taken. On PCIe
    /// the answer to a read does not pass the writes that were issued before it.
    void set_posted(std::uint64_t issued, std::uint64_t taken) {
        issued_ = issued;
        taken_ = taken;
    }
    /// Every channel waits in `percent` of the cycles; bursts of different IDs overtake each other.
    void set_stalls(unsigned percent, std::uint64_t seed);
    /// No answer is owed to the card.
    [[nodiscard]] bool idle() const {
        return reads_.empty() && !writing_ && addresses_.empty() && answers_.empty();
    }

  private:
    static constexpr std::size_t kBeat = 64;

    struct Read {
        std::uint8_t id;
        bool error;
        std::uint64_t due = 0;        // cycle in which the first beat may come
        bool answered = false;        // the host has sent the answer
        std::uint64_t behind = 0;     // and issued so many writes before it
        std::size_t next = 0;         // byte of the next beat
        std::vector<std::byte> data;  // whole beats
    };
    struct Write {
        std::uint64_t address;
        std::vector<std::byte> data;
        std::size_t begin = SIZE_MAX;  // first and behind the last enabled byte
        std::size_t end = 0;
    };

    [[nodiscard]] bool arrived();
    void overtake();
    void take_read();
    void take_write_beat();
    void finish_write();

    // A bucket of bytes: filled every cycle, emptied by beats, never more than a page ahead.
    struct Budget {
        double bytes = 0;
        void refill(double rate) { bytes = std::min(bytes + rate, 512.0); }
        [[nodiscard]] bool has() const { return bytes > 0; }
    };

    unsigned read_cycles_ = 0;
    double bytes_per_cycle_ = 1e9;
    std::uint64_t cycle_ = 0;
    std::uint64_t issued_ = 0;
    std::uint64_t taken_ = 0;
    Budget read_budget_;
    Budget write_budget_;
    Vdingo_card& card_;
    HostPort& host_;
    std::deque<Read> reads_;
    std::deque<Write> addresses_;  // write bursts whose data has not come
    bool writing_ = false;
    std::deque<std::uint8_t> answers_;  // B responses
    bool stalls_ = false;
    Stall ar_, r_, aw_, w_, b_;
    std::minstd_rand random_;
};

}  // namespace dingo::rtl
