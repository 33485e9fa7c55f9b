// SPDX-License-Identifier: BSD-2-Clause
//
// roce_stop_i stays up, as while a peer pauses the RoCE class without end: commands that need the
// card at rest complete, and frames of the Ethernet function leave.
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "dingo/rtl.h"
#include "driver.h"
#include "two_cards.h"

namespace {

using namespace dingo;
using namespace dingo::test;

constexpr unsigned kPatience = 4'096;  // cycles that a command waits for RoCE frames to leave
constexpr unsigned kEthernetBytes = 300;

class RtlPause : public testing::Test {
  protected:
    RtlPause()
        : engine_(rtl::make_rtl(EngineConfig{}, host_, wire_)), driver_(*engine_, host_, now_) {
        wire_.sink = [this](std::span<const std::byte> frame) {
            (frame.size() == kEthernetBytes ? ethernet_ : roce_) += 1;
        };
        driver_.start();
        driver_.enable_port();
        driver_.set_ipv4(0, 0x0a000001);
        cq_ = driver_.create_cq();
        qp_ = driver_.create_qp(cq_, cq_);
        TestDriver::PathOptions path;
        path.dgid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2};
        path.dmac = {2, 0, 0, 0, 0, 9};
        path.dest_qpn = 77;
        path.path_mtu = 5;
        driver_.bring_up(qp_, path);
        ring_ = driver_.create_eth(DINGO_ETH_TX, 0, cq_);
        memory_ = driver_.create_mr(65'536, 0);
        while (engine_->run(now_, 64)) {
        }
        rtl::set_timing(*engine_, {});
    }
    void run(unsigned cycles) {
        for (unsigned i = 0; i < cycles; ++i)
            engine_->run(now_ += rtl::kCycle, 1);
    }
    /// 128 packets: more than the card's frame buffers hold.
    void send_roce() {
        SendWr wr;
        wr.opcode = DINGO_WR_WRITE;
        wr.sges = {memory_.sge(0, 65'536)};
        for (unsigned i = 0; i < 8; ++i)
            driver_.post_send(qp_, wr, false);
        driver_.ring_sq(qp_);
    }
    void send_ethernet() {
        driver_.post_eth(ring_, host_.alloc(kEthernetBytes), kEthernetBytes,
                         DINGO_ETH_DESC_FLAGS_EOP_MASK);
    }
    /// Cycles until a command that needs the card at rest completes; nullopt: not within `most`.
    std::optional<unsigned> query(unsigned most) {
        dingo_cmd_query_qp command{};
        command.hdr.opcode = DINGO_OP_QUERY_QP;
        command.hdr.cmd_id = 0x7777;
        command.qpn = qp_.qpn;
        command.out_addr = host_.alloc(sizeof(dingo_qp_info));
        driver_.submit_raw(std::as_bytes(std::span(&command, 1)));
        driver_.ring_admin();
        for (unsigned i = 0; i < most; ++i) {
            if (const auto completion = driver_.poll_admin()) {
                EXPECT_EQ(completion->status, DINGO_ST_OK);
                return i;
            }
            run(1);
        }
        return std::nullopt;
    }

    Nanoseconds now_ = 1'000;
    TestHost host_;
    TestWire wire_;
    std::unique_ptr<Engine> engine_;
    TestDriver driver_;
    Cq cq_;
    TestQp qp_;
    EthRing ring_;
    Mr memory_;
    unsigned roce_ = 0, ethernet_ = 0;
};

TEST_F(RtlPause, ACommandDoesNotWaitForFramesThatNeverLeave) {
    send_roce();
    rtl::set_roce_stop(*engine_, true);
    run(3'000);
    const unsigned before = roce_;
    for (unsigned i = 1; i <= 2; ++i) {
        const auto cycles = query(3 * kPatience);
        ASSERT_TRUE(cycles);
        EXPECT_GT(*cycles, kPatience);  // the command waited the full time for the frames
        send_ethernet();
        run(2'000);
        EXPECT_EQ(ethernet_, i);
    }
    EXPECT_EQ(roce_, before);
    rtl::set_roce_stop(*engine_, false);
    run(5'000);
    EXPECT_GT(roce_, before);
}

TEST_F(RtlPause, ACommandLosesNoFrameOfAPauseThatEnds) {
    send_roce();
    rtl::set_roce_stop(*engine_, true);
    run(3'000);
    const std::uint64_t before = roce_;
    EXPECT_FALSE(query(kPatience / 2));
    rtl::set_roce_stop(*engine_, false);
    for (unsigned i = 0; i < 4'000 && !driver_.poll_admin(); ++i)
        run(1);
    run(10'000);
    // 8 requests of 16 packets, none lost and none repeated
    EXPECT_EQ(roce_, 128U) << before << " before";
}

}  // namespace
