// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_rsp_reads: a repeated READ finds its slot, also when older READs had the same PSNs.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "Vdingo_rsp_reads.h"

namespace {

struct Read {
    std::uint32_t psn;
    std::uint64_t va;
    std::uint32_t rkey;
    std::uint32_t length;
};

class RspReads : public testing::Test {
  protected:
    RspReads() {
        dut.qp_i = 3;
        dut.path_mtu_i = 3;  // 1024
        dut.atomic_i = 0;
        dut.oldest_i = 0;
        dut.rst_ni = 0;
        clock();
        dut.rst_ni = 1;
    }
    void clock() {
        dut.clk_i = 0;
        dut.eval();
        dut.clk_i = 1;
        dut.eval();
        dut.new_i = dut.find_i = dut.get_i = dut.step_i = 0;
    }
    void drive(const Read& read) {
        dut.psn_i = read.psn;
        dut.va_i = read.va;
        dut.rkey_i = read.rkey;
        dut.length_i = read.length;
    }
    void add(unsigned slot, const Read& read) {
        drive(read);
        dut.slot_i = static_cast<std::uint8_t>(slot);
        dut.new_i = 1;
        used_ |= 1U << slot;
        clock();
        clock();
    }
    /// Returns the slot; -1: none.
    int find(const Read& read) {
        drive(read);
        dut.used_i = static_cast<std::uint16_t>(used_);
        dut.find_i = 1;
        for (unsigned i = 0; i < 200; ++i) {
            clock();
            if (dut.done_o)
                return dut.hit_o ? dut.slot_o : -1;
        }
        ADD_FAILURE() << "no answer";
        return -1;
    }

    Vdingo_rsp_reads dut;
    unsigned used_ = 0;
};

TEST_F(RspReads, RepetitionIsFoundBehindAnOldReadOfTheSamePsns) {
    const Read old{100, 0x10'0000, 0x77, 4096};
    const Read late{102, 0x20'0000, 0x88, 8192};  // PSNs wrapped: 2^24 + 2 packets later
    add(2, old);
    add(5, late);
    EXPECT_EQ(find(old), 2);
    EXPECT_EQ(find(late), 5);
    const Read part{103, 0x20'0000 + 1024, 0x88, 2048};  // PSNs of both, addresses of `late`
    EXPECT_EQ(find(part), 5);
}

TEST_F(RspReads, WhatNoReadHadIsNotFound) {
    for (unsigned slot = 0; slot < 16; ++slot)
        add(slot, {50, 0x1000 * (slot + 1), slot, 1024});
    EXPECT_EQ(find({50, 0x1000 * 16, 15, 1024}), 15);
    EXPECT_EQ(find({50, 0x1000 * 16, 14, 1024}), -1);  // another key
    EXPECT_EQ(find({50, 0x1000 * 16, 15, 1025}), -1);  // beyond its end
    EXPECT_EQ(find({51, 0x1000 * 16, 15, 1024}), -1);  // other PSNs
}

/// Atomics are found by PSN alone; of two with the same PSN the newer one counts.
TEST_F(RspReads, TheNewestAtomicOfAPsnIsFound) {
    dut.atomic_i = 1;
    for (unsigned slot = 0; slot < 16; ++slot)
        add(slot, {slot % 8, slot, 0, 8});
    EXPECT_EQ(find({3, 0, 0, 8}), 11);
    dut.oldest_i = 10;  // by age: slots 10 to 15, then 0 to 9
    EXPECT_EQ(find({1, 0, 0, 8}), 9);
    EXPECT_EQ(find({3, 0, 0, 8}), 3);
    dut.atomic_i = 0;
    EXPECT_EQ(find({3, 3, 0, 8}), -1);
}

}  // namespace
