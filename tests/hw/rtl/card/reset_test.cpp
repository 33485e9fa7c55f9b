// SPDX-License-Identifier: BSD-2-Clause
//
// CTRL.RESET while frames leave: each frame on the wire is whole. Also the cycles that a reset
// takes and that it destroys all objects.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "dingo/rtl.h"
#include "two_cards.h"

namespace {

using namespace dingo;
using namespace dingo::test;

constexpr unsigned kResets = 40;

/// A card with stalls on its ports; sent_ records the frames that it sends.
class RtlReset : public testing::Test {
  protected:
    RtlReset()
        : engine_(rtl::make_rtl(EngineConfig{}, host_, wire_)), driver_(*engine_, host_, now_) {
        wire_.sink = [this](std::span<const std::byte> frame) {
            sent_.emplace_back(frame.begin(), frame.end());
        };
        rtl::set_stalls(*engine_, 10, 3);
    }

    void start() {
        driver_.start();
        driver_.enable_port();
        cq_ = driver_.create_cq();
    }

    Nanoseconds now_ = 1'000;
    TestHost host_;
    TestWire wire_;
    std::unique_ptr<Engine> engine_;
    TestDriver driver_;
    Cq cq_;
    std::vector<std::vector<std::byte>> sent_;
};

// The frames before one reset have one byte value, so a mix of frames of two rounds shows. The
// reset comes at a different time in each round: in some rounds all frames leave, in others few.
TEST_F(RtlReset, NoHalfFrameLeaves) {
    constexpr std::uint32_t kBytes = 9000;
    unsigned whole = 0;
    for (unsigned i = 0; i < kResets; ++i) {
        start();
        auto ring = driver_.create_eth(DINGO_ETH_TX, 0, cq_);
        const std::uint64_t frame = host_.alloc(kBytes);
        std::ranges::fill(host_.bytes(frame, kBytes), static_cast<std::byte>(2 + 2 * i));
        for (unsigned n = 0; n < 4; ++n)
            driver_.post_eth(ring, frame, kBytes, DINGO_ETH_DESC_FLAGS_EOP_MASK);
        for (unsigned n = 0; n < 3 + i % 16; ++n)
            engine_->run(now_, 1);  // 64 cycles
        driver_.write32(DINGO_REG_CTRL, DINGO_CTRL_RESET_MASK);
        while (engine_->run(now_, 64)) {
        }
        for (const auto& bytes : sent_) {
            ++whole;
            ASSERT_EQ(bytes.size(), kBytes) << i;
            EXPECT_EQ(std::ranges::count(bytes, bytes[0]), kBytes) << "of two frames, reset " << i;
        }
        sent_.clear();
    }
    EXPECT_GT(whole, kResets / 2);
    EXPECT_LT(whole, 4 * kResets);
}

// A reset clears no table row by row: many tests reset a simulated card for each case.
TEST_F(RtlReset, TakesTwoHundredCyclesAndForgetsEveryObject) {
    constexpr std::uint64_t kMost = 200;
    const auto cycles = [this] { return engine_->simulated_clock()->cycles; };
    rtl::set_stalls(*engine_, 0, 0);
    EXPECT_LE(cycles(), kMost) << "from power on";
    start();
    const Mr mr = driver_.create_mr(4096, DINGO_ACC_REMOTE_READ);
    const TestQp qp = driver_.create_qp(cq_, cq_, {});
    const std::uint64_t before = cycles();
    driver_.reset();
    EXPECT_LE(cycles() - before, kMost);
    driver_.start_admin(6);
    const auto status = [this](std::uint16_t opcode, std::uint32_t id) {
        return driver_.destroy(opcode, id).status;
    };
    EXPECT_NE(status(DINGO_OP_DESTROY_QP, qp.qpn), DINGO_ST_OK);
    EXPECT_NE(status(DINGO_OP_DESTROY_MR, mr.key), DINGO_ST_OK);
    EXPECT_NE(status(DINGO_OP_DESTROY_CQ, cq_.cqn), DINGO_ST_OK);
}

}  // namespace
