// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_marked_ram: words, and which of them were written since reset, against an array.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>

#include "Vdingo_marked_ram.h"

namespace {

constexpr unsigned kWords = 512;
constexpr unsigned kMostClearing = 64;  // cycles from reset to ready_o

class MarkedRam : public testing::Test {
  protected:
    void clock() {
        dut.clk_i = 0;
        dut.eval();
        dut.clk_i = 1;
        dut.eval();
    }
    void reset() {
        dut.we_i = dut.re_i = 0;
        dut.rst_ni = 0;
        clock();
        dut.rst_ni = 1;
        words = {};
    }
    unsigned until_ready() {
        unsigned cycles = 0;
        for (; !dut.ready_o && cycles < 2 * kMostClearing; ++cycles)
            clock();
        return cycles;
    }
    void read(unsigned at, std::optional<unsigned> expected) {
        dut.re_i = 1;
        dut.raddr_i = at;
        clock();
        dut.re_i = 0;
        ASSERT_EQ(dut.written_o != 0, expected.has_value()) << "word " << at;
        if (expected) {
            ASSERT_EQ(dut.rdata_o, *expected) << "word " << at;
        }
    }
    Vdingo_marked_ram dut;
    std::array<std::optional<unsigned>, kWords> words;
};

TEST_F(MarkedRam, NothingIsWrittenAfterEachReset) {
    for (int round = 0; round < 3; ++round) {
        reset();
        ASSERT_LE(until_ready(), kMostClearing);
        ASSERT_TRUE(dut.ready_o);
        for (unsigned at = 0; at < kWords; ++at)
            ASSERT_NO_FATAL_FAILURE(read(at, std::nullopt));
        for (unsigned at = 0; at < kWords; ++at) {
            dut.we_i = 1;
            dut.waddr_i = at;
            dut.wdata_i = at & 0xff;
            clock();
        }
        dut.we_i = 0;
        for (unsigned at = 0; at < kWords; ++at)
            ASSERT_NO_FATAL_FAILURE(read(at, at & 0xff));
    }
}

// One in four writes is to the word that is read in the same cycle: the read gives the old word.
TEST_F(MarkedRam, AWriteMarksItsWordOnlyAndAReadBesideItIsBeforeIt) {
    reset();
    until_ready();
    std::mt19937 random(1);
    for (int i = 0; i < 20'000; ++i) {
        const unsigned at = random() % kWords;
        const bool write = random() % 8 == 0;
        dut.we_i = write;
        dut.waddr_i = random() % 4 == 0 ? at : random() % kWords;
        dut.wdata_i = random() & 0xff;
        const auto before = words[at];
        if (write)
            words[dut.waddr_i] = dut.wdata_i;
        ASSERT_NO_FATAL_FAILURE(read(at, before));
        dut.we_i = 0;
        if (random() % 4000 == 0) {
            reset();
            until_ready();
        }
    }
}

TEST_F(MarkedRam, TheAnswerStaysUntilTheNextRead) {
    reset();
    until_ready();
    read(7, std::nullopt);
    dut.we_i = 1;
    dut.waddr_i = 7;
    clock();
    dut.we_i = 0;
    EXPECT_FALSE(dut.written_o);
    read(7, dut.wdata_i);
    clock();
    EXPECT_TRUE(dut.written_o);
}

}  // namespace
