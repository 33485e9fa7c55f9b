// SPDX-License-Identifier: BSD-2-Clause
//
// A wire that needs no ICRC: docs/reference/wire.md, "No ICRC within one host".
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "dingo/packet/icrc.h"
#include "dingo/packet/parse.h"
#include "two_cards.h"

namespace dingo::test {
namespace {

class NoIcrc : public testing::Test {
  protected:
    NoIcrc() : link_(cards_.connect()) {
        for (unsigned i = 0; i < 2; ++i) {
            mr_[i] = cards_.driver(i).create_mr(
                kBytes, DINGO_ACC_LOCAL_WRITE | DINGO_ACC_REMOTE_WRITE | DINGO_ACC_REMOTE_READ);
            cards_.card(i).wire.icrc = false;
            data_[i].resize(kBytes);
            for (std::uint32_t at = 0; at < kBytes; ++at) {
                data_[i][at] = static_cast<std::byte>(at * 7 + i);
            }
            EXPECT_TRUE(cards_.host(i).dma_write(mr_[i].bus, data_[i]));
        }
    }
    /// Posts a WRITE or READ of `bytes`, a length that needs pad bytes.
    void post(std::uint8_t opcode, std::uint32_t bytes) {
        SendWr wr;
        wr.opcode = opcode;
        wr.raddr = mr_[1].iova;
        wr.rkey = mr_[1].key;
        wr.sges = {mr_[0].sge(0, bytes)};
        cards_.driver(0).post_send(link_.qp[0], wr);
    }
    /// Posts and waits for the completion.
    void move(std::uint8_t opcode, std::uint32_t bytes) {
        post(opcode, bytes);
        EXPECT_EQ(cards_.wait_cq(0, link_.cq[0]).status, DINGO_WCS_SUCCESS);
    }
    std::vector<std::byte> memory(unsigned i, std::uint32_t bytes) {
        std::vector<std::byte> out(bytes);
        EXPECT_TRUE(cards_.host(i).dma_read(mr_[i].bus, out));
        return out;
    }

    static constexpr std::uint32_t kBytes = 100'000;
    TwoCards cards_;
    TwoCards::Connection link_;
    Mr mr_[2];
    std::vector<std::byte> data_[2];
};

TEST_F(NoIcrc, IsLeftOutOfEveryFrameAndTheDataArrives) {
    for (const std::uint32_t bytes : {1U, 511U, 4097U, kBytes - 1}) {
        for (unsigned i = 0; i < 2; ++i) {
            EXPECT_TRUE(cards_.host(i).dma_write(mr_[i].bus, data_[i]));
        }
        move(DINGO_WR_WRITE, bytes);
        EXPECT_TRUE(std::ranges::equal(memory(1, bytes), std::span(data_[0]).first(bytes)));
        EXPECT_TRUE(cards_.host(1).dma_write(mr_[1].bus, data_[1]));
        move(DINGO_WR_READ, bytes);
        EXPECT_TRUE(std::ranges::equal(memory(0, bytes), std::span(data_[1]).first(bytes)));
    }
    for (unsigned i = 0; i < 2; ++i) {
        EXPECT_GT(cards_.card(i).wire.frames, 0U);
        EXPECT_EQ(cards_.card(i).wire.frames_without_icrc, cards_.card(i).wire.frames);
        // Payloads of WRITEs and of READ responses stay in memory.
        EXPECT_GT(cards_.card(i).wire.frames_referring, 0U);
        EXPECT_GT(cards_.card(i).wire.trains_sent, 0U);
        EXPECT_EQ(cards_.driver(i).card_stat(DINGO_CARD_RX_ICRC_ENCAPSULATED), 0U);
    }
}

TEST_F(NoIcrc, IsMissedUnlessTheWireSaysThatThereIsNone) {
    std::vector<std::byte> frame;
    cards_.link.hook = [&](Frame& sent) {
        if (sent.from == 0 && frame.empty()) {
            frame = sent.bytes;
            std::fill(frame.end() - packet::kIcrcBytes, frame.end(), std::byte{0});
            return false;
        }
        return true;
    };
    cards_.host(1).bytes(mr_[1].bus, 64)[0] = std::byte{0xaa};
    post(DINGO_WR_WRITE, 64);
    ASSERT_TRUE(cards_.run_until([&] { return !frame.empty(); }));

    cards_.card(1).engine->receive(frame);
    EXPECT_EQ(cards_.driver(1).card_stat(DINGO_CARD_RX_ICRC_ENCAPSULATED), 1U);
    EXPECT_EQ(memory(1, 1)[0], std::byte{0xaa});
    EXPECT_TRUE(cards_.card(1).engine->receive_without_icrc(frame, {}));
    EXPECT_EQ(cards_.driver(1).card_stat(DINGO_CARD_RX_ICRC_ENCAPSULATED), 1U);
    EXPECT_EQ(memory(1, 64), std::vector(data_[0].begin(), data_[0].begin() + 64));
}

TEST_F(NoIcrc, PayloadsDoNotStayWhereTheHostMayTakeMemoryAwayAtAnyTime) {
    cards_.host(0).last = false;
    move(DINGO_WR_WRITE, kBytes - 1);
    EXPECT_TRUE(std::ranges::equal(memory(1, kBytes - 1), std::span(data_[0]).first(kBytes - 1)));
    EXPECT_EQ(cards_.card(0).wire.frames_referring, 0U);
}

TEST_F(NoIcrc, UnreliablePayloadsDoNotStay) {
    TwoCards::ConnectOptions options;
    options.qp.kind = DINGO_QPT_UC;
    link_ = cards_.connect(options);
    move(DINGO_WR_WRITE, kBytes - 1);
    cards_.run_for(1'000'000);
    EXPECT_TRUE(std::ranges::equal(memory(1, kBytes - 1), std::span(data_[0]).first(kBytes - 1)));
    EXPECT_EQ(cards_.card(0).wire.frames_referring, 0U);
}

TEST_F(NoIcrc, PayloadsAreTakenBeforeMemoryGoesOrMayChange) {
    TestWire& wire = cards_.card(0).wire;
    std::uint64_t before = wire.gathers;
    const auto taken = [&] { return std::exchange(before, wire.gathers) != wire.gathers; };
    EXPECT_EQ(cards_.driver(0).destroy(DINGO_OP_DESTROY_MR, mr_[0].key).status, DINGO_ST_OK);
    EXPECT_TRUE(taken()) << "a command";
    cards_.driver(0).create_cq();
    cards_.driver(0).query_qp(link_.qp[0].qpn);
    EXPECT_FALSE(taken()) << "commands that take no memory";
    post(DINGO_WR_WRITE, 64);
    EXPECT_NE(cards_.wait_cq(0, link_.cq[0]).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(taken()) << "the queue pair fails by itself";
    TestDriver& driver = cards_.driver(0);
    driver.write32(DINGO_REG_AQ_CTRL, 0);
    driver.write64(DINGO_REG_ASQ_BASE, 0x7000);
    driver.write32(DINGO_REG_AQ_CTRL, DINGO_AQ_CTRL_ENABLE_MASK | 4);
    driver.write32(DINGO_REG_ASQ_DB, 1);
    cards_.run_for(1'000'000);
    EXPECT_EQ(driver.read32(DINGO_REG_FATAL), DINGO_FATAL_ADMIN_BUS + 0U);
    EXPECT_TRUE(taken()) << "the card fails: the host asks it for nothing any more";
    cards_.card(0).engine->reset();
    EXPECT_TRUE(taken()) << "a reset";
    cards_.card(0).engine.reset();
    EXPECT_TRUE(taken()) << "the end of the engine";
}

}  // namespace
}  // namespace dingo::test
