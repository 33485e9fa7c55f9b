// SPDX-License-Identifier: BSD-2-Clause
//
// Bench for the compute slots of both directions: kernels of QPs, beats of payload and what the
// model's kernels make of them.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <vector>

#include "../support/packed.h"
#include "compute/kernels.h"

namespace dingo::rtl {

constexpr unsigned kQps = 32;
constexpr unsigned kBeatBytes = 64;

struct Beat {
    bool err = false, last = false;
    std::uint8_t bytes = 0;
    std::array<std::uint32_t, 16> data{};
    template <class V>
    void fields(V& v) {
        v(err, 1), v(last, 1), v(bytes, 7), v(data, 512);
    }
};

/// Probability in percent that the inputs, or the outputs, stall in a cycle.
struct Stalls {
    unsigned in, out;
};

template <class Dut>
class SlotBench : public testing::TestWithParam<Stalls> {
  protected:
    using Config = model::compute::Config;

    SlotBench() : random(this->GetParam().in * 101 + this->GetParam().out) {
        dut.rst_ni = 0;
        clock();
        clock();
        dut.rst_ni = 1;
        for (unsigned qp = 0; qp < kQps; ++qp)
            configure(qp, 0, 0);
    }
    void clock() {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
        ++cycles;
    }
    bool chance(unsigned stall) { return random() % 100 >= stall; }

    void configure(unsigned qp, std::uint32_t kernel, std::uint32_t param) {
        configs[qp] = model::compute::configure(kernel, param);
        dut.cfg_valid_i = 1;
        dut.cfg_qp_i = qp;
        dut.cfg_kernel_i = kernel;
        dut.cfg_param_i = param;
        dut.eval();
        for (unsigned wait = 0; !dut.cfg_ready_o; ++wait) {
            ASSERT_LT(wait, 40u);
            clock();
        }
        clock();
        dut.cfg_valid_i = 0;
    }

    /// Beats of `bytes` random bytes; half of the words are shifted right to be small.
    std::vector<Beat> beats_of(unsigned bytes, bool err) {
        std::vector<Beat> beats((bytes + kBeatBytes - 1) / kBeatBytes);
        for (std::size_t i = 0; i < beats.size(); ++i) {
            beats[i].last = i + 1 == beats.size();
            beats[i].err = err && beats[i].last;
            beats[i].bytes = static_cast<std::uint8_t>(beats[i].last ? bytes - kBeatBytes * i
                                                                     : std::size_t{kBeatBytes});
            for (std::uint32_t& word : beats[i].data)
                word = random() % 2 == 0 ? random() : random() >> random() % 32;
        }
        return beats;
    }

    /// Adds to `wanted` what the model's kernel makes of the beats of a packet.
    void want(const Config& config, std::uint32_t offset, std::vector<Beat> beats) {
        for (Beat& beat : beats) {
            model::compute::transform(
                config, offset, std::as_writable_bytes(std::span(beat.data)).first(beat.bytes));
            offset += kBeatBytes;
        }
        wanted.insert(wanted.end(), beats.begin(), beats.end());
    }

    /// The beat that comes out is the next one of `wanted`.
    void check_beat() {
        ASSERT_FALSE(wanted.empty());
        const Beat got = ::rtl::sample<Beat>(dut.payload_o);
        const Beat& next = wanted.front();
        ASSERT_EQ(got.last, next.last);
        ASSERT_EQ(got.err, next.err);
        ASSERT_EQ(got.bytes, next.bytes);
        const auto bytes = std::as_bytes(std::span(got.data)).first(next.bytes);
        ASSERT_TRUE(
            std::ranges::equal(bytes, std::as_bytes(std::span(next.data)).first(next.bytes)))
            << wanted.size() << " beats to come";
        wanted.pop_front();
    }

    Dut dut;
    std::mt19937 random;
    std::uint64_t cycles = 0;
    std::array<Config, kQps> configs;
    std::deque<Beat> wanted;
};

}  // namespace dingo::rtl
