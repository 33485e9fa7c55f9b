// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_eth_tx and dingo_eth_rx with one ring each: frames of many descriptors; each refusal with
// its counter and completion; rings that cannot be read; CQs that fail; halts for commands.
#include "eth_bench.h"

namespace dingo::rtl {
namespace {

class EthernetRings : public EthernetBench {};

TEST_P(EthernetRings, TransmitsWhatTheDescriptorsSay) {
    for (const unsigned log_size : {6u, 7u, 9u}) {
        create(kTx, log_size);
        std::uint32_t rung = 0;
        for (int round = 0; round < 60; ++round) {
            set_port(round % 3 == 0 ? 600 : 1500, false, false, round % 10 != 9);
            do {
                put_tx_frame();
            } while (producer[kTx][number] - rung < (1u << log_size) - 64 && chance(80));
            while (rung != producer[kTx][number]) {  // a doorbell may cover a part of a frame
                const std::uint32_t left = producer[kTx][number] - rung;
                rung += chance(70) ? left : 1 + random() % left;
                ASSERT_TRUE(ring(kTx, rung));
                if (chance(50)) {
                    settle();
                }
            }
            settle();
        }
        EXPECT_EQ(done[kTx], expected_done[kTx]);
        EXPECT_EQ(out.size(), expected_out.size());
        for (std::size_t i = 0; i < std::min(out.size(), expected_out.size()); ++i) {
            ASSERT_EQ(out[i].second, expected_out[i].second) << i;
            ASSERT_EQ(out[i].first.size(), expected_out[i].first.size());
            ASSERT_TRUE(out[i].second || out[i].first == expected_out[i].first) << i;
        }
        EXPECT_EQ(card, expected_card);
        EXPECT_GT(card[DINGO_CARD_ETH_TX_ERRORS], 20u);
        done[kTx].clear();
        expected_done[kTx].clear();
        out.clear();
        expected_out.clear();
    }
}

TEST_P(EthernetRings, ReceivesWhatTheFilterLetsThrough) {
    for (const unsigned log_size : {0u, 1u, 3u, 6u, 9u}) {
        create(kRx, log_size);
        posted[number].clear();
        for (int round = 0; round < 40; ++round) {
            const unsigned size = round % 5 == 0 ? 9216 : round % 5 == 1 ? 256 : 1500;
            set_port(size, round % 4 == 1, round % 4 == 2);
            while (posted[number].size() < 1u << log_size && chance(90)) {
                switch (random() % 12) {
                    case 0:
                        put_rx(take(100), 100);
                        break;
                    case 1:
                        put_rx(memory.base() - 5000, 2000);  // a bus error
                        break;
                    case 2:
                        put_rx(take(10), chance(50) ? 0 : DINGO_MAX_FRAME + 1);
                        break;
                    case 3:
                        put_rx(take(10), 2000, 1u << random() % 8);
                        break;
                    case 4:
                        put_rx(take(10), 2000, 0, 1u << random() % 24);
                        break;
                    default:
                        put_rx(take(size + 18), size + 18);
                        break;
                }
            }
            ASSERT_TRUE(ring(kRx, producer[kRx][number]));
            for (int i = 0; i < 6; ++i) {
                Frame frame = random_bytes(random, chance(20)   ? size + 8 + random() % 14
                                                   : chance(10) ? 1 + random() % 16
                                                                : 14 + random() % size);
                const packet::Mac macs[] = {packet::Mac::from_u64(0xffffffffffff),
                                            addresses.macs[random() % 16],
                                            packet::Mac::from_u64(0x3333'0000'0001),
                                            packet::Mac::from_u64(0x0299'0000'0001)};
                if (frame.size() >= 14) {
                    std::memcpy(frame.data(), macs[random() % 4].bytes.data(), 6);
                    if (chance(30)) {
                        frame[12] = std::byte{0x81};
                        frame[13] = std::byte{0};
                    }
                }
                receive(frame);
            }
            settle();
            for (const Stored& s : stored) {
                ASSERT_EQ(std::memcmp(memory.at(s.addr), s.bytes.data(), s.bytes.size()), 0);
            }
            stored.clear();
        }
        EXPECT_EQ(done[kRx], expected_done[kRx]);
        EXPECT_EQ(card, expected_card);
        consumer[kRx][number] = 0;
        done[kRx].clear();
        expected_done[kRx].clear();
    }
    EXPECT_GT(card[DINGO_CARD_ETH_RX_PACKETS], 60u);
    EXPECT_GT(card[DINGO_CARD_ETH_RX_NO_BUFFER], 20u);
}

TEST_P(EthernetRings, DoorbellsThatCannotBeAreRefused) {
    EXPECT_FALSE(ring(kTx, 1)) << "no ring";
    create(kTx, 3);
    create(kRx, 3);
    EXPECT_FALSE(ring(kTx, 9));
    EXPECT_FALSE(ring(kRx, 9));
    EXPECT_TRUE(ring(kRx, 4));
    EXPECT_FALSE(ring(kRx, 3)) << "backwards";
    EXPECT_TRUE(ring(kRx, 8));
    EXPECT_TRUE(ring(kRx, 8));
    destroy(kRx);
    EXPECT_FALSE(ring(kRx, 0)) << "destroyed";
}

TEST_P(EthernetRings, ARingThatCannotBeReadStops) {
    for (const Ring r : {kTx, kRx}) {
        create(r, 4, false);
        ASSERT_TRUE(ring(r, 8));
    }
    const Frame frame(60, std::byte{0xff});  // broadcast
    input.push_back(frame);
    settle();
    input.push_back(frame);
    settle();
    ASSERT_TRUE(ring(kTx, 9));
    settle();
    EXPECT_EQ(card[DINGO_CARD_ETH_TX_ERRORS], 1u);
    EXPECT_EQ(card[DINGO_CARD_ETH_RX_NO_BUFFER], 2u);
    EXPECT_TRUE(done[kTx].empty() && done[kRx].empty());
    EXPECT_TRUE(out.empty());
}

TEST_P(EthernetRings, ARingWhoseCqFailedStops) {
    create(kTx, 4);
    create(kRx, 4);
    for (int i = 0; i < 4; ++i) {
        put(kTx, take(100), 100, 1);
        put(kRx, take(2000), 2000);
    }
    ASSERT_TRUE(ring(kTx, 1));
    ASSERT_TRUE(ring(kRx, 4));
    const Frame frame(60, std::byte{0xff});
    input.push_back(frame);
    settle();
    fail_cq(3);
    ASSERT_TRUE(ring(kTx, 4));
    input.push_back(frame);
    settle();
    EXPECT_EQ(done[kTx].size(), 1u);
    EXPECT_EQ(done[kRx].size(), 1u);
    EXPECT_EQ(out.size(), 1u);
    EXPECT_EQ(card[DINGO_CARD_ETH_RX_NO_BUFFER], 1u);
    create(kTx, 4);
    put(kTx, take(100), 100, 1);
    ASSERT_TRUE(ring(kTx, 1));
    settle();
    EXPECT_EQ(out.size(), 2u);
}

TEST_P(EthernetRings, StandingStillTouchesNoMemoryAndHoldsNobodyUp) {
    create(kTx, 6);
    create(kRx, 6);
    for (int i = 0; i < 40; ++i) {
        put(kTx, take(1000), 1000, 1);
        put(kRx, take(1600), 1600);
    }
    ASSERT_TRUE(ring(kTx, 40));
    ASSERT_TRUE(ring(kRx, 40));
    for (int i = 0; i < 30; ++i) {
        cycle();
    }
    dut.halt_i = 1;
    for (int limit = 2000; dut.idle_o != 3 && limit > 0; --limit) {
        cycle();
    }
    ASSERT_EQ(dut.idle_o, 3);
    const std::size_t sent = out.size();
    EXPECT_LT(sent, 40u);
    for (int i = 0; i < 40; ++i) {
        input.push_back(Frame(1400, std::byte{0xff}));
    }
    for (int i = 0; i < 3000; ++i) {
        ASSERT_EQ(dut.idle_o & 1, 1);
        ASSERT_TRUE(slave->idle());
        cycle();
    }
    EXPECT_TRUE(input.empty()) << "frames behind these are held up";
    EXPECT_EQ(out.size(), sent);
    dut.halt_i = 0;
    settle();
    EXPECT_EQ(out.size(), 40u);
    EXPECT_GT(card[DINGO_CARD_ETH_RX_NO_BUFFER], 0u);
    EXPECT_GE(card[DINGO_CARD_ETH_RX_PACKETS], 3u);
    EXPECT_EQ(card[DINGO_CARD_ETH_RX_PACKETS] + card[DINGO_CARD_ETH_RX_NO_BUFFER], 40u);
}

INSTANTIATE_TEST_SUITE_P(Memory, EthernetRings, kTimings);

}  // namespace
}  // namespace dingo::rtl
