// SPDX-License-Identifier: BSD-2-Clause
//
// Shared by the benches of dingo_gather and dingo_scatter: the Verilated pair connected to
// dingo_host, host memory with regions of all kinds, and segments.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "../support/axi_slave.h"
#include "Vpayload_bench.h"
#include "regions.h"

namespace dingo::rtl {

struct Segment {
    const Region* region = nullptr;
    std::uint64_t off = 0;
    std::uint32_t len = 0;
    bool last = false;
};

/// Writes seg_t from bit 0 on.
inline void put_segment(std::uint32_t* words, const Segment& s) {
    put_xmem(words, 0, s.region->mem);
    put_bits(words, 103, 64, s.off);
    put_bits(words, 167, 32, s.len);
    put_bits(words, 199, 1, s.last);
}

class Payload : public testing::TestWithParam<AxiTiming> {
  protected:
    void SetUp() override {
        slave = std::make_unique<AxiSlave>(memory.slave(axi_pins(dut), GetParam()));
        dut.rst_ni = 0;
        cycle([] {});
        dut.rst_ni = 1;
    }

    /// One clock; `look` reads the settled outputs before the rising edge.
    template <class Look>
    void cycle(Look look) {
        dut.clk_i = 0;
        dut.eval();
        if (dut.rst_ni) {
            slave->sample();
            look();
        }
        dut.clk_i = 1;
        dut.eval();
        slave->drive();
        ++now;
    }

    /// Regions of every level and several page sizes, three of them with pages that cannot be
    /// accessed.
    void make_regions() {
        regions.push_back(maker.make(0, 0, 100'000));
        regions.push_back(maker.make(1, 12, 200'000));
        regions.push_back(maker.make(1, 16, 300'000));
        regions.push_back(maker.make(2, 12, 3'000'000));
        regions.push_back(maker.make(1, 12, 100'000, 7));
        regions.push_back(maker.make(2, 13, 100'000, 5));
        refused = maker.take(8192, 4096);
        regions.push_back(maker.make(0, 0, 50'000));
        refused = (regions.back().mem.addr + 20'000) / 4096 * 4096;
        slave->fail(refused, 4096);
    }

    Segment segment(std::uint32_t most) {
        // Mostly from regions without bad pages, which are the last three.
        const unsigned n = static_cast<unsigned>(regions.size());
        Segment s{.region = &regions[chance(70) ? pick(n - 3) : pick(n)]};
        s.len = 1 + pick(most);
        s.off = random() % (s.region->bytes - s.len);
        if (chance(20)) {
            s.off = s.off / 4096 * 4096;
        }
        return s;
    }

    /// Accesses to this address get a bus error.
    [[nodiscard]] bool is_refused(std::uint64_t bus) const { return bus - refused < 4096; }

    unsigned pick(std::uint32_t n) { return static_cast<unsigned>(random() % n); }
    bool chance(unsigned percent) { return pick(100) < percent; }

    Vpayload_bench dut;
    HostMemory memory{0x7'0000'0000, 8 << 20, 3};
    RegionMaker maker{memory, 4};
    std::vector<Region> regions;
    std::uint64_t refused = 0;
    std::unique_ptr<AxiSlave> slave;
    std::mt19937 random{17};
    std::uint64_t now = 0;
};

}  // namespace dingo::rtl
