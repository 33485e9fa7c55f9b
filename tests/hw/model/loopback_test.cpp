// SPDX-License-Identifier: BSD-2-Clause
//
// Two QPs of one card: their frames are looped back.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
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
            driver().bring_up(qp_[i], path);
        }
    }
    TestDriver& driver() { return cards_.driver(0); }

    TwoCards cards_;
    Cq cq_;
    std::array<TestQp, 2> qp_;
};

TEST_F(Loopback, AWriteToOurselvesArrivesAndTheWireSeesNothing) {
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
    constexpr std::uint32_t kBytes = 4'000'000;  // 122 trains each way; loopback holds 64
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

class LoopbackPayload : public Loopback {
  protected:
    static constexpr std::uint32_t kBytes = 70'000;  // the last packet is short
    static constexpr std::uint32_t kAll =
        DINGO_ACC_LOCAL_WRITE | DINGO_ACC_REMOTE_WRITE | DINGO_ACC_REMOTE_READ;

    LoopbackPayload() { std::ranges::copy(data_, host().at(from_.bus, kBytes)); }
    TestHost& host() { return cards_.host(0); }
    static std::vector<std::byte> pattern() {
        std::vector<std::byte> data(kBytes);
        for (std::uint32_t i = 0; i < kBytes; ++i) {
            data[i] = static_cast<std::byte>(i * 7 + (i >> 8));
        }
        return data;
    }
    void connect(std::uint8_t kind, std::uint8_t path_mtu = 3) {
        QpOptions options;
        options.kind = kind;
        for (unsigned i = 0; i < 2; ++i) {
            qp_[i] = driver().create_qp(cq_, cq_, options);
        }
        for (unsigned i = 0; i < 2; ++i) {
            auto path = cards_.path_to(0, qp_[1 - i].qpn);
            path.path_mtu = path_mtu;
            driver().bring_up(qp_[i], path);
        }
    }
    bool arrived(std::uint64_t offset = 0, std::uint32_t bytes = kBytes) {
        return std::ranges::equal(host().bytes(to_.bus + offset, bytes),
                                  std::span(data_).first(bytes));
    }
    SendWr transfer(std::uint8_t opcode) const {
        SendWr wr;
        wr.opcode = opcode;
        const bool read = opcode == DINGO_WR_READ;
        const Mr& remote = read ? from_ : to_;
        wr.raddr = remote.iova;
        wr.rkey = remote.key;
        wr.sges = {(read ? to_ : from_).sge(0, kBytes)};
        return wr;
    }

    const std::vector<std::byte> data_ = pattern();
    const Mr from_ = driver().create_mr(kBytes, kAll);
    const Mr to_ = driver().create_mr(kBytes, kAll);
};

TEST_F(LoopbackPayload, IsCopiedOnceFromPlaceToPlace) {
    for (const std::uint8_t opcode : {DINGO_WR_WRITE, DINGO_WR_READ}) {
        std::ranges::fill(host().bytes(to_.bus, kBytes), std::byte{0});
        std::uint64_t straight = 0;
        host().on_write = [&](std::uint64_t addr, std::span<const std::byte> data) {
            if (addr >= to_.bus && addr - to_.bus < kBytes) {
                straight +=
                    data.data() == host().at(from_.bus + (addr - to_.bus)) ? data.size() : 0;
            }
        };
        driver().post_send(qp_[0], transfer(opcode));
        EXPECT_EQ(cards_.wait_cq(0, cq_).status, DINGO_WCS_SUCCESS);
        host().on_write = nullptr;
        EXPECT_TRUE(arrived());
        EXPECT_EQ(straight, kBytes);
    }
}

TEST_F(LoopbackPayload, ArrivesWhereHostMemoryHasNoPointers) {
    host().pointers = false;
    for (const std::uint8_t opcode : {DINGO_WR_WRITE, DINGO_WR_READ}) {
        std::ranges::fill(host().bytes(to_.bus, kBytes), std::byte{0});
        driver().post_send(qp_[0], transfer(opcode));
        EXPECT_EQ(cards_.wait_cq(0, cq_).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(arrived());
    }
}

TEST_F(LoopbackPayload, IsTakenAlongWhenTheCallIntoTheEngineEnds) {
    connect(DINGO_QPT_RC, 5);
    driver().post_send(qp_[0], transfer(DINGO_WR_WRITE));
    // a turn sends two trains; one of them is received
    cards_.card(0).engine->run(cards_.now(), 1);
    EXPECT_TRUE(arrived(0, 32 * 1024));
    EXPECT_FALSE(arrived(0, 64 * 1024));
    std::ranges::fill(host().bytes(from_.bus, 64 * 1024), std::byte{0xEE});
    EXPECT_EQ(cards_.wait_cq(0, cq_).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(arrived());
}

TEST_F(LoopbackPayload, OfASendThatCompletesAtOnceMayChangeAtOnce) {
    for (const std::uint8_t kind : {DINGO_QPT_UD, DINGO_QPT_UC}) {
        SCOPED_TRACE(int{kind});
        constexpr std::uint32_t kMessage = 1000;
        const std::uint32_t header = kind == DINGO_QPT_UD ? 40 : 0;
        connect(kind);
        std::ranges::copy(data_, host().at(from_.bus, kBytes));
        driver().post_recv(qp_[1], 1, {to_.sge(0, 4096)});
        bool completed = false;
        host().on_write = [&](std::uint64_t addr, std::span<const std::byte> /*data*/) {
            if (!completed && addr - cq_.ring < std::uint64_t{DINGO_CQE_SIZE} << cq_.log_size) {
                completed = true;  // the program sees its completion and reuses the buffer
                std::ranges::fill(host().bytes(from_.bus, kMessage), std::byte{0xEE});
            }
        };
        SendWr wr;
        wr.sges = {from_.sge(0, kMessage)};
        wr.ud = cards_.ud_to(0, qp_[1].qpn, 0x11111111);
        driver().post_send(qp_[0], wr);
        for (int i = 0; i < 2; ++i) {
            EXPECT_EQ(cards_.wait_cq(0, cq_).status, DINGO_WCS_SUCCESS);
        }
        host().on_write = nullptr;
        EXPECT_TRUE(completed);
        EXPECT_TRUE(arrived(header, kMessage));
    }
}

TEST_F(LoopbackPayload, MayOverlapWhereItGoes) {
    constexpr std::uint32_t kMessage = 1024;  // one packet
    for (const std::uint32_t to : {0U, 200U}) {
        std::ranges::copy(data_, host().at(from_.bus, kBytes));
        SendWr wr;
        wr.opcode = DINGO_WR_WRITE;
        wr.raddr = from_.iova + to;
        wr.rkey = from_.key;
        wr.sges = {from_.sge(200 - to, kMessage)};
        driver().post_send(qp_[0], wr);
        EXPECT_EQ(cards_.wait_cq(0, cq_).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(std::ranges::equal(host().bytes(from_.bus + to, kMessage),
                                       std::span(data_).subspan(200 - to, kMessage)));
    }
}

}  // namespace
}  // namespace dingo::test
