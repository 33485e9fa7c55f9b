// SPDX-License-Identifier: BSD-2-Clause
//
// Two QPs of one card: their frames turn round inside it.
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "two_cards.h"

namespace dingo::test {
namespace {

class Loopback : public testing::Test {
  protected:
    Loopback() : cq_(driver().create_cq()) {
        for (unsigned i = 0; i < 2; ++i) {
            qp_[i] = driver().create_qp(cq_, cq_);
        }
        for (unsigned i = 0; i < 2; ++i) {
            auto path = cards_.path_to(0, qp_[1 - i].qpn);
            driver().to_init(qp_[i], path);
            driver().to_rtr(qp_[i], path);
            driver().to_rts(qp_[i], path);
        }
    }
    TestDriver& driver() { return cards_.driver(0); }

    TwoCards cards_;
    Cq cq_;
    std::array<TestQp, 2> qp_;
};

TEST_F(Loopback, AWriteToOurselvesArrivesAndTheCableSeesNothing) {
    constexpr std::uint32_t kBytes = 100'000;
    constexpr std::uint32_t kAll =
        DINGO_ACC_LOCAL_WRITE | DINGO_ACC_REMOTE_WRITE | DINGO_ACC_REMOTE_READ;
    const Mr from = driver().create_mr(kBytes, kAll);
    const Mr to = driver().create_mr(kBytes, kAll);
    std::vector<std::byte> data(kBytes);
    for (std::uint32_t i = 0; i < kBytes; ++i) {
        data[i] = static_cast<std::byte>(i * 7);
    }
    ASSERT_TRUE(cards_.host(0).dma_write(from.bus, data));
    const auto received = cards_.driver(1).card_stat(DINGO_CARD_RDMA_RX_PACKETS);

    SendWr wr;
    wr.opcode = DINGO_WR_WRITE;
    wr.raddr = to.iova;
    wr.rkey = to.key;
    wr.sges = {from.sge(0, kBytes)};
    driver().post_send(qp_[0], wr);
    EXPECT_EQ(cards_.wait_cq(0, cq_).status, DINGO_WCS_SUCCESS);

    std::vector<std::byte> arrived(kBytes);
    ASSERT_TRUE(cards_.host(0).dma_read(to.bus, arrived));
    EXPECT_EQ(arrived, data);
    EXPECT_EQ(cards_.driver(1).card_stat(DINGO_CARD_RDMA_RX_PACKETS), received);
    EXPECT_GE(driver().card_stat(DINGO_CARD_RDMA_RX_PACKETS), 98U);
}

TEST_F(Loopback, BothDirectionsAtOnceWithMoreFramesThanItHoldsFinish) {
    constexpr std::uint32_t kBytes = 600'000;  // 586 packets each way, loopback holds 256
    constexpr std::uint32_t kAll =
        DINGO_ACC_LOCAL_WRITE | DINGO_ACC_REMOTE_WRITE | DINGO_ACC_REMOTE_READ;
    const Mr memory = driver().create_mr(4 * kBytes, kAll);
    for (unsigned i = 0; i < 2; ++i) {
        SendWr wr;
        wr.opcode = i == 0 ? DINGO_WR_WRITE : DINGO_WR_READ;
        wr.raddr = memory.iova + 2 * i * kBytes;
        wr.rkey = memory.key;
        wr.sges = {memory.sge((2 * i + 1) * kBytes, kBytes)};
        driver().post_send(qp_[i], wr);
    }
    EXPECT_EQ(cards_.wait_cq(0, cq_).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(cards_.wait_cq(0, cq_).status, DINGO_WCS_SUCCESS);
}

}  // namespace
}  // namespace dingo::test
