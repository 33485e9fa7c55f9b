// SPDX-License-Identifier: BSD-2-Clause
//
// Paused regions at the requester: WQEs wait for the resume and then use the new place, READ data
// for a paused region is asked for again without using a retry, and other QPs do not wait.
#include "requester_fixture.h"

namespace dingo::rtl {
namespace {

constexpr std::uint32_t kOtherKey = 0x30042;
constexpr std::uint64_t kMoved = 0xA0000;

class RequesterPause : public Requester {
  protected:
    RequesterPause() {
        b.regions[kOtherKey] = {0x7000'0000, 0x40000, 0x10000, DINGO_ACC_LOCAL_WRITE};
    }
    void pause(std::uint32_t key = kKey) { b.regions[key].paused = true; }
    void resume(std::uint32_t key = kKey) {
        b.regions[key].paused = false;
        b.regions[key].addr = kMoved;
        b.resume();
        b.settle();
    }
    std::vector<std::uint8_t> moved(std::uint64_t offset, std::uint64_t length) const {
        const auto from = b.memory.begin() + static_cast<std::ptrdiff_t>(kMoved + offset);
        return {from, from + static_cast<std::ptrdiff_t>(length)};
    }
    void send_by(std::uint16_t qp, std::uint32_t key, std::uint32_t length = 10) {
        b.begin(DINGO_WR_SEND);
        b.sges({sge(0, length, key)});
        b.post(qp);
        b.ring(qp);
    }
    void create_other(std::uint16_t qp) {
        TestQp other = config;
        other.sq = other.ring = 0x60000 + 0x1000 * qp;
        b.create(qp, other);
    }
    void expect_all(std::size_t packets, std::uint64_t length) {
        ASSERT_EQ(b.packets.size(), packets);
        std::uint64_t at = 0;
        for (const TestPacket& p : b.packets)
            at += p.len;
        EXPECT_EQ(at, length);
        b.ack(kQp, psn(static_cast<std::uint32_t>(packets) - 1));
        b.settle();
        ASSERT_EQ(b.cqes.size(), 1U);
        expect_cqe(0, 0, DINGO_WR_SEND);
    }
};

TEST_F(RequesterPause, WorkWaitsAndGoesOnInTheNewPlace) {
    start();
    pause();
    send(10);
    go();
    EXPECT_TRUE(b.packets.empty());
    EXPECT_FALSE(b.dut.work_o) << "it must not ask again and again";
    b.ring(kQp);  // a turn of the QP meanwhile changes nothing
    b.settle();
    EXPECT_TRUE(b.packets.empty());
    resume();
    ASSERT_EQ(b.packets.size(), 1U);
    EXPECT_EQ(b.packets[0].payload, moved(0, 10));
    expect_all(1, 10);
}

TEST_F(RequesterPause, MessageOfManyPacketsStopsHalfway) {
    constexpr unsigned kPackets = 40;
    start();
    b.on_packet = [&](const TestPacket&) {
        if (b.packets.size() == 5)
            pause();
    };
    send(256 * kPackets);
    go();
    const std::size_t before = b.packets.size();
    EXPECT_LT(before, 25U);
    resume();
    ASSERT_EQ(b.packets.size(), kPackets);
    for (unsigned i = 0; i < kPackets; ++i) {
        EXPECT_EQ(b.packets[i].psn, psn(i));
        EXPECT_EQ(b.packets[i].payload, i < before ? bytes(256 * i, 256) : moved(256 * i, 256));
    }
    expect_all(kPackets, 256 * kPackets);
}

TEST_F(RequesterPause, OneOfSeveralEntriesIsEnough) {
    start();
    pause();
    b.begin(DINGO_WR_SEND);
    b.sges({sge(0, 400, kOtherKey), sge(400, 400), sge(800, 8, kOtherKey)});
    b.post(kQp);
    go();
    EXPECT_TRUE(b.packets.empty());
    resume();
    expect_all(4, 808);
    EXPECT_EQ(b.packets[2].payload, moved(512, 256));
}

TEST_F(RequesterPause, RefusalBeforeItCountsMore) {
    start();
    pause();
    b.begin(DINGO_WR_SEND);
    b.sges({sge(0, 10, 0x99999), sge(400, 400)});
    b.post(kQp);
    go();
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_SEND, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_KEY);
}

TEST_F(RequesterPause, OthersSendMeanwhileAndInlineDataNeedsNoRegion) {
    start();
    create_other(10);
    create_other(11);
    pause();
    send_by(kQp, kKey);
    send_by(10, kKey);
    b.settle();
    EXPECT_TRUE(b.packets.empty());
    send_by(11, kOtherKey);
    b.settle();
    ASSERT_EQ(b.packets.size(), 1U);
    EXPECT_EQ(b.packets[0].qp, 11);
    b.begin(DINGO_WR_SEND);
    b.inline_data({1, 2, 3});
    b.post(11);
    b.ring(11);
    b.settle();
    EXPECT_EQ(b.packets.size(), 2U);
    resume();
    EXPECT_EQ(b.packets.size(), 4U);
}

TEST_F(RequesterPause, EachGoesOnWithItsOwnRegion) {
    start();
    create_other(10);
    pause();
    pause(kOtherKey);
    send_by(kQp, kKey);
    send_by(10, kOtherKey);
    b.settle();
    b.resume();  // as for a third region
    b.settle();
    EXPECT_TRUE(b.packets.empty());
    EXPECT_FALSE(b.dut.work_o);
    resume(kOtherKey);
    ASSERT_EQ(b.packets.size(), 1U);
    EXPECT_EQ(b.packets[0].qp, 10);
    resume();
    ASSERT_EQ(b.packets.size(), 2U);
    EXPECT_EQ(b.packets[1].qp, kQp);
}

TEST_F(RequesterPause, ReadIsNotAskedForBeforeItsDataHaveAPlace) {
    start();
    pause();
    read(0, 600);
    go();
    EXPECT_TRUE(b.packets.empty());
    resume();
    ASSERT_EQ(b.packets.size(), 1U);
    EXPECT_EQ(b.packets[0].dma_len, 600U);
}

TEST_F(RequesterPause, ReadDataForAPausedRegionAreAskedForAgainWithoutARetry) {
    config.retry = 0;
    start();
    read(0, 1000);
    go();
    ASSERT_EQ(b.packets.size(), 1U);
    const std::vector<std::uint8_t> data(256, 7);
    b.respond({kQp, 0x0D, psn(0), 0x1F, data});
    b.settle();
    pause();
    for (const std::uint32_t n : {1U, 2U})
        b.respond({kQp, 0x0E, psn(n), 0x1F, data});
    b.settle();
    b.respond({kQp, 0x0F, psn(3), 0x1F, std::vector<std::uint8_t>(232, 7)});
    b.settle();
    for (unsigned i = 0; i < 10; ++i)
        b.next_deadline();
    EXPECT_EQ(b.packets.size(), 1U) << "asked for before there is a place";
    EXPECT_GE(b.card[DINGO_CARD_RX_DROP_RESPONSE], 1U);
    EXPECT_TRUE(b.cqes.empty());
    EXPECT_EQ(bytes(0, 256), data);
    const auto old = bytes(256, 744);
    resume();
    ASSERT_EQ(b.packets.size(), 2U);
    EXPECT_EQ(b.packets[1].psn, psn(1));
    EXPECT_EQ(b.packets[1].va, 0xABC000U + 256);
    EXPECT_EQ(b.packets[1].dma_len, 744U);
    b.respond({kQp, 0x0D, psn(1), 0x1F, data});
    b.respond({kQp, 0x0E, psn(2), 0x1F, data});
    b.respond({kQp, 0x0F, psn(3), 0x1F, std::vector<std::uint8_t>(232, 7)});
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_READ, 0, 0, 1000);
    EXPECT_EQ(moved(256, 744), std::vector<std::uint8_t>(744, 7));
    EXPECT_EQ(bytes(256, 744), old) << "written through a paused region";
    EXPECT_EQ(b.counters[DINGO_QP_TIMEOUTS], 0U);
}

TEST_F(RequesterPause, WhatIsBehindAReadWithoutPlaceIsDoneOnce) {
    start();
    read(0, 100);
    b.begin(DINGO_WR_WRITE);
    b.rdma(0xDEF000, 0x56);
    b.sges({sge(0, 10, kOtherKey)});
    b.post(kQp);
    go();
    ASSERT_EQ(b.packets.size(), 2U);
    pause();
    b.respond({kQp, 0x10, psn(0), 0x1F, std::vector<std::uint8_t>(100, 5)});
    b.ack(kQp, psn(1));
    b.settle();
    EXPECT_TRUE(b.cqes.empty());
    resume();
    ASSERT_EQ(b.packets.size(), 4U);
    EXPECT_EQ(b.packets[2].psn, psn(0));
    EXPECT_EQ(b.packets[3].psn, psn(1));
    b.respond({kQp, 0x10, psn(0), 0x1F, std::vector<std::uint8_t>(100, 5)});
    b.ack(kQp, psn(1));
    b.settle();
    ASSERT_EQ(b.cqes.size(), 2U);
    expect_cqe(0, 0, DINGO_WR_READ, 0, 0, 100);
    expect_cqe(1, 1, DINGO_WR_WRITE);
}

TEST_F(RequesterPause, ResultOfAnAtomicIsAskedForAgain) {
    start();
    b.begin(DINGO_WR_FETCH_ADD);
    b.rdma(0xABC000, 0x55);
    b.sges({sge(64, 8)}, 48);
    b.post(kQp);
    go();
    ASSERT_EQ(b.packets.size(), 1U);
    pause();
    TestResponse result{kQp, 0x12, psn(0), 0x1F, {}};
    result.word = 0x1122334455667788;
    b.respond(result);
    b.settle();
    EXPECT_EQ(b.packets.size(), 1U);
    resume();
    ASSERT_EQ(b.packets.size(), 2U);
    EXPECT_EQ(b.packets[1].opcode, b.packets[0].opcode);
    b.respond(result);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_FETCH_ADD, 0, 0, 8);
    EXPECT_EQ(moved(64, 1)[0], 0x88);
}

TEST_F(RequesterPause, RegionThatGoesFailsWhatWaited) {
    start();
    pause();
    send(10);
    go();
    b.regions.erase(kKey);
    b.resume();
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_SEND, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_KEY);
    EXPECT_EQ(b.qps[kQp].state, DINGO_QPS_ERR);
}

TEST_F(RequesterPause, WhatWaitsIsFlushed) {
    start();
    pause();
    send(10);
    send(10);
    go();
    b.modify(kQp, DINGO_QPS_ERR);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 2U);
    expect_cqe(0, 0, DINGO_WR_SEND, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    expect_cqe(1, 1, DINGO_WR_SEND, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    resume();
    EXPECT_TRUE(b.packets.empty());
}

TEST_F(RequesterPause, HalfAMessageIsFlushed) {
    start();
    b.on_packet = [&](const TestPacket&) { pause(); };
    send(256 * 40);
    go();
    const std::size_t before = b.packets.size();
    b.dut.fail_valid_i = 1;
    b.dut.fail_qp_i = kQp;
    b.qps[kQp].state = DINGO_QPS_ERR;
    b.tick();
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_SEND, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    resume();
    EXPECT_EQ(b.packets.size(), before);
}

TEST_F(RequesterPause, QueuePairThatIsMadeAnewWhileItWaitedIsAsAnyOther) {
    start();
    pause();
    send(10);
    go();
    b.halt();
    b.qps[kQp].posted = 0;
    start();
    b.dut.halt_tx_i = 0;
    resume();
    EXPECT_TRUE(b.packets.empty());
    send(20);
    go();
    ASSERT_EQ(b.packets.size(), 1U);
    EXPECT_EQ(b.packets[0].len, 20U);
}

TEST_F(RequesterPause, RepetitionOfWhatWasSentWaitsToo) {
    start();
    send(10);
    go();
    ASSERT_EQ(b.packets.size(), 1U);
    pause();
    b.next_deadline();  // no ACK came: the packet would be repeated
    EXPECT_EQ(b.packets.size(), 1U);
    for (unsigned i = 0; i < 10; ++i)
        b.next_deadline();
    EXPECT_TRUE(b.cqes.empty()) << "the peer owes no answer to what was not sent";
    resume();
    ASSERT_EQ(b.packets.size(), 2U);
    EXPECT_EQ(b.packets[1].payload, moved(0, 10));
}

TEST_F(RequesterPause, DatagramsAndUcWait) {
    std::size_t done = 0;
    for (const std::uint8_t kind : {DINGO_QPT_UC, DINGO_QPT_UD}) {
        config.kind = kind;
        config.timeout = 0;
        start();
        b.regions[kKey].paused = true;
        b.begin(DINGO_WR_SEND);
        b.sges({sge(0, 10)}, kind == DINGO_QPT_UD ? 64 : 32);
        b.post(kQp);
        go();
        EXPECT_EQ(b.packets.size(), done);
        resume();
        ++done;
        EXPECT_EQ(b.packets.size(), done);
        EXPECT_EQ(b.cqes.size(), done);
    }
}

}  // namespace
}  // namespace dingo::rtl
