// SPDX-License-Identifier: BSD-2-Clause
//
// The card's side of dingo_pcie: an AXI4 master that checks each answer, and AXI4-Lite slaves.
// cycle() advances card, module and core by one clock.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "pcie_core.h"

namespace dingo::rtl {

struct Lite {
    unsigned port;  // 0 registers, 1 doorbells
    unsigned address;
    std::uint64_t data;
    unsigned strobes;
};

class PcieBench {
  public:
    explicit PcieBench(const CoreTiming& timing);

    void cycle();
    /// Runs until nothing is outstanding; a fault after `most` cycles.
    void settle(unsigned most = 50'000);

    void read(unsigned id, std::uint64_t address, unsigned lines) {
        ars_.push_back({id, address, lines});
    }
    /// One burst for bytes [address, address + bytes); only the first `given` are enabled.
    void write(std::uint64_t address, unsigned bytes, unsigned given);
    void write(std::uint64_t address, unsigned bytes) { write(address, bytes, bytes); }
    void interrupt(unsigned vector) { vectors_.push_back(vector); }

    /// An interrupt waits to be taken.
    [[nodiscard]] bool rings() const { return !vectors_.empty(); }
    [[nodiscard]] bool waits() const { return !ars_.empty() || !aws_.empty(); }
    /// Initial value of a byte of memory.
    static std::uint8_t pattern(std::uint64_t address) {
        return static_cast<std::uint8_t>((address * 0x9e3779b97f4a7c15ull) >> 56);
    }
    void fill(std::uint64_t address, unsigned bytes);

    Vdingo_pcie dut;
    std::unique_ptr<PcieCore> core;
    std::mt19937 random;
    std::uint64_t now = 0, first_r = 0, last_r = 0;
    std::string wrong;
    unsigned answered = 0, failed = 0, beats = 0, b_seen = 0, card_stall = 0, overtaken = 0;
    std::vector<Lite> writes;  // writes of the host
    std::map<unsigned, std::uint64_t> registers;
    bool hold_lite_b = false;  // the AXI4-Lite ports give no write response
    std::function<void()> on_b;
    std::map<std::uint64_t, std::uint8_t> expected;  // memory as the card's writes must leave it

  private:
    struct Ar {
        unsigned id;
        std::uint64_t address;
        unsigned lines;
    };
    struct Burst {
        std::uint64_t address, serial;
        unsigned lines, next = 0, asked = 0;
        std::vector<std::array<std::uint8_t, 64>> data;
        std::vector<bool> bad;
    };
    struct W {
        Line data{};
        std::uint64_t strobes = 0;
        bool last = false;
    };
    void fault(const std::string& text) {
        if (wrong.empty()) {
            wrong = text;
        }
    }
    bool moves() { return random() % 100 >= card_stall; }
    void asked(std::uint64_t address, unsigned bytes, bool failed_read);
    void take_answer();
    void sample();
    void drive();

    std::deque<Ar> ars_;
    std::deque<std::uint64_t> aws_;
    std::deque<W> ws_;
    std::array<std::deque<Burst>, 128> bursts_;
    std::deque<std::pair<unsigned, std::uint64_t>>
        order_;  // bursts whose read requests are not all seen yet
    std::uint64_t serial_ = 0, oldest_ = 0;
    unsigned owed_b_ = 0;
    struct {
        bool ar, aw, w, irq;
    } taken_{};  // what was taken in this cycle
    std::deque<unsigned> vectors_;
    std::array<bool, 2> have_aw_{}, have_w_{};
    std::array<Lite, 2> lite_{};
    std::array<unsigned, 2> owed_lite_b_{}, read_due_{};
    std::array<unsigned, 2> read_at_{};
};

}  // namespace dingo::rtl
