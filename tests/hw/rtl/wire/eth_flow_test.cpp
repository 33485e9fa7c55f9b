// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_eth_flow: Toeplitz hash, fields and sums of random headers of every length, against the
// reference of eth_flow.h; which frames have a flow; how many cycles it takes.
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
    /// Gives the frame to the module and checks the results; returns the cycles until done_o.
    unsigned check(const Frame& frame) {
        for (unsigned w = 0; w < 688 / 32 + 1; ++w) {
            dut.head_i[w] = static_cast<std::uint32_t>(random());
        }
        dut.head_i[21] &= 0xffff;
        std::memcpy(&dut.head_i[0], frame.data(), std::min<std::size_t>(frame.size(), 86));
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
            EXPECT_EQ(dut.tagged_o != 0, want.tagged);
            EXPECT_EQ(dut.v4_o != 0, want.v4);
        }
        if (want.ports) {
            EXPECT_EQ(dut.tcp_o != 0, want.tcp);
            EXPECT_EQ(dut.l4_o, want.l4);
            EXPECT_EQ(dut.end_o, want.end);
            EXPECT_EQ(dut.pseudo_o, want.pseudo);
            if (want.v4) {
                EXPECT_EQ(dut.base_o, want.base);
            }
        }
        EXPECT_EQ(want.ip && dut.summed_o, want.summed);
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

TEST_F(EthFlow, KnowsWhatHasChecksumsAndWhoseIpv4HeaderIsRight) {
    unsigned right = 0, wrong = 0;
    for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
        const IpFrame kind = IpFrame::any(random);
        Frame frame = kind.make(random);
        switch (random() % 8) {
            case 0:
                frame[kind.l3() + random() % 40] ^= static_cast<std::byte>(1u << random() % 8);
                break;
            case 1:
                frame.resize(frame.size() + random() % 9);
                break;
            case 2:
                frame.resize(frame.size() -
                             random() % std::min<std::size_t>(frame.size() - 14, 40));
                break;
            case 3:
                put_be16(frame, kind.checksum(), 0);
                break;
            case 4:  // the IP length is shorter
                put_be16(frame, kind.l3() + (kind.v4 ? 2 : 4), random() % 100);
                if (kind.v4) {
                    put_be16(frame, kind.l3() + 10, 0);
                    put_be16(frame, kind.l3() + 10, ~internet_sum(frame, kind.l3(), kind.l4()));
                }
                break;
            default:
                break;
        }
        check(frame);
        ++(flow_of(frame, key).summed ? right : wrong);
    }
    EXPECT_GT(right, 5000u);
    EXPECT_GT(wrong, 3000u);
}

TEST_F(EthFlow, TakesAsManyCyclesAsThePageSays) {
    Frame frame(90, std::byte{0});
    EXPECT_EQ(check(frame), 2u) << "no IP";
    frame[12] = std::byte{8};
    frame[14] = std::byte{0x45};
    EXPECT_EQ(check(frame), 9u) << "IPv4, a header of five words";
    frame[23] = std::byte{17};
    frame[14] = std::byte{0x4f};
    EXPECT_EQ(check(frame), 19u) << "with the most options";
    frame[12] = std::byte{0x86};
    frame[13] = std::byte{0xdd};
    EXPECT_EQ(check(frame), 12u) << "IPv6, addresses";
    frame[20] = std::byte{6};
    EXPECT_EQ(check(frame), 13u);
}

}  // namespace
}  // namespace dingo::rtl
