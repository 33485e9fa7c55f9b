// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_eth_flow: the Toeplitz hash of random headers, of every length, beside one that goes bit by
// bit; and what counts as a flow.
#include <gtest/gtest.h>

#include "Vdingo_eth_flow.h"
#include "eth_flow.h"
#include "wire_bench.h"

namespace dingo::rtl {
namespace {

class EthFlow : public testing::Test {
  protected:
    void SetUp() override {
        dut.rst_ni = 0;
        cycle();
        dut.rst_ni = 1;
    }
    void cycle() {
        dut.clk_i = 0;
        dut.eval();
        dut.clk_i = 1;
        dut.eval();
        dut.start_i = 0;
    }
    void set_key(const RssKey& bytes) {
        key = bytes;
        std::memcpy(&dut.key_i[0], key.data(), key.size());
    }
    /// Cycles until the answer is there, which must be that of the frame.
    unsigned check(const Frame& frame) {
        for (unsigned w = 0; w < 656 / 32 + 1; ++w) {
            dut.head_i[w] = static_cast<std::uint32_t>(random());
        }
        dut.head_i[20] &= 0xffff;
        std::memcpy(&dut.head_i[0], frame.data(), std::min<std::size_t>(frame.size(), 82));
        dut.len_i = static_cast<std::uint16_t>(frame.size());
        dut.start_i = 1;
        unsigned cycles = 0;
        do {
            cycle();
        } while (++cycles < 30 && !dut.done_o);
        const Flow want = flow_of(frame, key);
        EXPECT_EQ(dut.ip_o != 0, want.ip);
        EXPECT_EQ(dut.hash_o, want.hash);
        if (want.ip) {
            EXPECT_EQ(dut.ports_o != 0, want.ports);
        }
        cycle();
        EXPECT_EQ(dut.hash_o, want.hash) << "it stays";
        return cycles;
    }

    Vdingo_eth_flow dut;
    Random random{5};
    RssKey key{};
};

TEST_F(EthFlow, HashesRandomHeadersAsBitByBit) {
    unsigned with_ports = 0, options = 0;
    for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
        if (i % 100 == 0) {
            RssKey bytes;
            for (auto& b : bytes) {
                b = static_cast<std::uint8_t>(random());
            }
            set_key(bytes);
        }
        const Frame frame = random_flow(random);
        check(frame);
        with_ports += flow_of(frame, key).ports;
        options += frame.size() > 14 && frame[12] == std::byte{8} &&
                   (frame[14] & std::byte{15}) > std::byte{5};
    }
    EXPECT_GT(with_ports, 3000u);
    EXPECT_GT(options, 500u);
}

TEST_F(EthFlow, TakesAsManyCyclesAsThePageSays) {
    Frame frame(90, std::byte{0});
    EXPECT_EQ(check(frame), 2u) << "no IP";
    frame[12] = std::byte{8};
    frame[14] = std::byte{0x45};
    EXPECT_EQ(check(frame), 5u) << "IPv4, addresses";
    frame[23] = std::byte{17};
    EXPECT_EQ(check(frame), 6u);
    frame[12] = std::byte{0x86};
    frame[13] = std::byte{0xdd};
    EXPECT_EQ(check(frame), 11u) << "IPv6, addresses";
    frame[20] = std::byte{6};
    EXPECT_EQ(check(frame), 12u);
}

}  // namespace
}  // namespace dingo::rtl
