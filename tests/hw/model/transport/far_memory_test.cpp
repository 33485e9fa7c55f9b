// SPDX-License-Identifier: BSD-2-Clause
//
// Payload in far memory: nothing is reported before its data are in place, and nothing else waits.
#include <array>
#include <numeric>

#include "far_fixture.h"

namespace dingo::test {
namespace {

TEST_F(Far, WriteIsAcknowledgedWhenItsDataAreThere) {
    connect_far({1});
    fill(0, 0, 100'000);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 100'000));
    run_a_little();
    EXPECT_FALSE(poll(0));
    EXPECT_FALSE(same(0, 0, 100'000));
    ASSERT_GT(far[1].waiting(), 1U);
    far[1].make(far[1].waiting() - 1);
    run_a_little();
    EXPECT_FALSE(poll(0)) << "the last packet is missing";
    finish(1);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, 100'000));
    EXPECT_EQ(stat(1, DINGO_CARD_RNR_NAK_SENT), 0U);
    EXPECT_EQ(stat(0, DINGO_CARD_RETRANSMITS), 0U);
}

TEST_F(Far, WhatWasFetchedNeedNotBeCopiedIntoItsFrame) {
    expect_referred(0, DINGO_WR_WRITE);
}

TEST_F(Far, WhatWasFetchedForAReadNeedNotBeCopiedEither) {
    expect_referred(1, DINGO_WR_READ);
}

// Data that a card has fetched and not released are bounded.
TEST_F(Far, MessageWaitsWhileTheWireHoldsEnough) {
    expect_held_back(0, DINGO_WR_WRITE);
}

TEST_F(Far, ResponseWaitsWhileTheWireHoldsEnough) {
    expect_held_back(1, DINGO_WR_READ);
}

TEST_F(Far, WhatCannotBeLentIsSentThough) {
    connect_far({0});
    TestWire& wire = cards.card(0).wire;
    wire.icrc = false;
    wire.enough = true;
    far[0].refers = true;
    far[0].lent = false;
    fill(0, 0, 100'000);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 100'000));
    finish(0);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, 100'000));
}

// The wire waits for an answer, and would otherwise make its thread poll without end.
TEST_F(Far, TheWireIsAskedWhatItLetGoOfThoughNobodyWaits) {
    connect_far({0});
    run_a_little();
    const std::uint64_t before = cards.card(0).wire.asked_for_let_go;
    run_a_little();
    EXPECT_GT(cards.card(0).wire.asked_for_let_go, before);
}

TEST_F(Far, WhatWasFetchedReachesTheMembersOfAGroupOnThisCard) {
    constexpr std::uint32_t kGroupQkey = 0x11111111;
    constexpr std::uint32_t kGrhBytes = 40;
    region_is_far(0);
    far[0].refers = true;
    far[0].pace = 1;
    cards.card(0).wire.icrc = false;
    mr[0] = driver(0).create_mr(kRegion, kAllAccess);
    near[0] = driver(0).create_mr(kNear, kAllAccess);
    QpOptions options;
    options.kind = DINGO_QPT_UD;
    TestDriver::PathOptions path;
    path.qkey = kGroupQkey;
    link.cq[0] = driver(0).create_cq();
    link.qp[0] = driver(0).create_qp(link.cq[0], link.cq[0], options);
    Cq cq = driver(0).create_cq();
    TestQp member = driver(0).create_qp(cq, cq, options);
    for (TestQp* const one : {&link.qp[0], &member})
        driver(0).bring_up(*one, path);
    const std::array<std::uint8_t, 16> group = {0, 0, 0,    0,    0,   0, 0, 0,
                                                0, 0, 0xff, 0xff, 239, 1, 2, 3};
    const std::array<std::uint8_t, 6> mac = {1, 0, 0x5e, 1, 2, 3};
    ASSERT_EQ(driver(0).multicast(DINGO_OP_ATTACH_MCAST, member.qpn, group).status, DINGO_ST_OK);
    driver(0).post_recv(member, 5, {near[0].sge(0, 4'096)});
    fill(0, 0, 1'000);
    SendWr wr;
    wr.sges = {mr[0].sge(0, 1'000)};
    wr.ud = cards.ud_to(1, DINGO_QPN_MCAST, kGroupQkey);
    std::ranges::copy(group, wr.ud.dgid);
    std::ranges::copy(mac, wr.ud.dmac);
    driver(0).post_send(qp(0), wr);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    run_a_little();
    EXPECT_EQ(far[0].referred, 1U);
    const auto cqe = driver(0).poll_cq(cq);
    ASSERT_TRUE(cqe.has_value());
    EXPECT_EQ(cqe->status, DINGO_WCS_SUCCESS);
    const auto got = cards.host(0).bytes(near[0].bus + kGrhBytes, 1'000);
    EXPECT_TRUE(std::ranges::equal(got, memory(0, 0, 1'000)));
}

TEST_F(Far, PayloadThatIsHeldIsWrittenFromWhereItIs) {
    connect_far({1});
    fill(0, 0, 1'000);
    FrameBytes frame;
    cards.link.hook = [&](Frame& f) {
        frame = f.bytes;
        return false;
    };
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 1'000));
    cards.run_for(1'000'000);
    cards.link.hook = nullptr;
    packet::Packet packet;
    ASSERT_EQ(packet::parse(frame, packet), packet::ParseResult::kRoce);
    const FrameBytes payload(packet.payload.begin(), packet.payload.end());
    std::fill_n(frame.begin() + packet.payload_offset, payload.size(), std::byte{0x5a});
    cards.card(1).engine->receive_without_icrc(frame,
                                               {payload.data(), std::make_shared<HeldMemory>()});
    EXPECT_EQ(far[1].held_writes, 1U);
    finish(1);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, 1'000));
}

// It follows the far data before it, in one piece per page.
TEST_F(Far, APacketForTwoPagesOfNearMemoryArrivesWholeBehindFarData) {
    constexpr std::uint64_t kPage = 4'096, kFrom = kPage - 300;
    constexpr std::uint32_t kBytes = 1'000;
    connect_far({1});
    const auto pages = cards.host(1).alloc_pages(2);
    const Mr paged =
        driver(1).create_mr(driver(1).page_list(pages, 1, 12), 0x10000, 2 * kPage, kAllAccess);
    fill(0, 0, kBytes);
    SendWr wr = rdma(DINGO_WR_WRITE, 0, 0, kBytes);
    wr.raddr = paged.iova + kFrom;
    wr.rkey = paged.key;
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 64));
    driver(0).post_send(qp(0), wr);
    run_a_little();
    EXPECT_EQ(far[1].waiting(), 3U);
    finish(1);
    for (unsigned i = 0; i < 2; ++i)
        EXPECT_STREQ(status_name(wait(0).status), "SUCCESS");
    EXPECT_TRUE(std::ranges::equal(cards.host(1).bytes(pages[0] + kFrom, 300), memory(0, 0, 300)));
    EXPECT_TRUE(std::ranges::equal(cards.host(1).bytes(pages[1], 700), memory(0, 300, 700)));
}

// A region of which only one part is far.
TEST_F(Far, RestOfARegionThatIsFarInPartWaitsForNothing) {
    connect_far({0, 1});
    constexpr std::uint64_t kHalf = kRegion / 2;
    for (unsigned i = 0; i < 2; ++i)
        far[i].far = [this, i](std::uint64_t addr, std::uint64_t len) {
            return addr + len - mr[i].bus > kHalf && addr - mr[i].bus < kRegion;
        };
    fill(0, 0, kRegion);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 50'000));
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, 50'000));
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 100'000, 0, 50'000));
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    driver(0).post_send(qp(0), atomic(DINGO_WR_FETCH_ADD, 0, 7));
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(far[0].waiting() + far[1].waiting() + far[0].fetched_bytes, 0U);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, kHalf - 100, 200));
    run_a_little();
    EXPECT_FALSE(poll(0)) << "it reaches into the far part";
    finish(1);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
}

TEST_F(Far, ResponsesInFrontOfAFarPartDoNotWaitForIt) {
    connect_far({1});
    constexpr std::uint64_t kHalf = kRegion / 2;
    far[1].far = [this](std::uint64_t addr, std::uint64_t len) {
        return addr + len - mr[1].bus > kHalf && addr - mr[1].bus < kRegion;
    };
    unsigned responses = 0;
    cards.link.tap = [&](const Frame& frame) {
        const auto packet = parse_frame(frame);
        responses += packet && packet->op().is_read_response() ? 1 : 0;
    };
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, kHalf - 40'960, 50'000));
    run_a_little();
    EXPECT_EQ(responses, 40U);
    finish(1);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, kHalf - 40'960, 50'000));
}

TEST_F(Far, WindowOfManyMessagesNeedsNoPause) {
    connect_far({1});
    fill(0, 0, kRegion);
    far[1].pace = 3;
    constexpr std::uint32_t kPiece = 128 << 10;
    for (std::uint64_t at = 0; at < kRegion; at += kPiece)
        driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, at, at, kPiece));
    for (std::uint64_t at = 0; at < kRegion; at += kPiece)
        EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, kRegion));
    EXPECT_EQ(stat(1, DINGO_CARD_RNR_NAK_SENT), 0U);
}

TEST_F(Far, ReceiveCompletesWhenItsDataAreThere) {
    connect_far({1});
    fill(0, 0, 10'000);
    driver(1).post_recv(qp(1), 5, {mr[1].sge(0, 10'000)});
    driver(0).post_send(qp(0), send_wr(0, 10'000));
    run_a_little();
    EXPECT_FALSE(poll(1));
    EXPECT_FALSE(poll(0));
    finish(1);
    const dingo_cqe cqe = wait(1);
    EXPECT_EQ(cqe.status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(cqe.byte_len, 10'000U);
    EXPECT_TRUE(same(0, 0, 10'000));
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
}

// Like NCCL: data to a GPU, then a flag in host memory.
TEST_F(Far, FlagInNearMemoryDoesNotPassTheData) {
    connect_far({1});
    fill(0, 0, 5'000);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 5'000));
    driver(0).post_send(qp(0), to_near(8, 0, 8));
    run_a_little();
    EXPECT_EQ(near_word(1, 0), 0U);
    finish(1);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_NE(near_word(1, 0), 0U);
    driver(0).post_send(qp(0), to_near(8, 16, 8));
    far[1].pace = 0;
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS) << "nothing is before it: it goes at once";
}

TEST_F(Far, AtomicOnNearMemoryDoesNotPassTheData) {
    connect_far({1});
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 5'000));
    SendWr add = atomic(DINGO_WR_FETCH_ADD, 0, 7);
    add.raddr = near[1].iova;
    add.rkey = near[1].key;
    driver(0).post_send(qp(0), add);
    run_a_little();
    EXPECT_EQ(near_word(1, 0), 0U);
    finish(1);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(near_word(1, 0), 7U);
}

TEST_F(Far, ReadComesAfterTheWriteBeforeIt) {
    connect_far({1});
    fill(0, 0, 20'000, 3);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 20'000));
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 1 << 20, 0, 20'000));
    run_a_little();
    EXPECT_FALSE(poll(0));
    finish(1);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, 20'000));
    EXPECT_TRUE(same(1 << 20, 0, 20'000));
}

TEST_F(Far, OtherQpsGoOn) {
    connect_far({0, 1});
    TwoCards::ConnectOptions options;
    options.path.timeout = 0;
    TwoCards::Connection other = cards.connect(options);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 100'000));
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 100'000));
    run_a_little();
    SendWr wr = to_near(0, 0, 4'096);
    wr.sges = {near[0].sge(0, 4'096)};
    driver(0).post_send(other.qp[0], wr);
    EXPECT_EQ(cards.wait_cq(0, other.cq[0]).status, DINGO_WCS_SUCCESS);
    EXPECT_FALSE(poll(0));
}

TEST_F(Far, ReadDataAreThereBeforeTheCompletionAndTheFence) {
    connect_far({0});
    fill(1, 0, 30'000, 9);
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 30'000));
    SendWr fenced = rdma(DINGO_WR_WRITE, 0, 1 << 20, 30'000);
    fenced.flags |= DINGO_WQE_CTRL_FLAGS_FENCE_MASK;
    driver(0).post_send(qp(0), fenced);
    run_a_little();
    EXPECT_FALSE(poll(0));
    finish(0);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, 30'000));
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 1 << 20, 30'000));
}

TEST_F(Far, SendQueueIsDrainedWhenItsDataAreThere) {
    connect_far({0});
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 64));
    run_a_little();
    drain();
    run_a_little();
    const auto drained = [this] {
        unsigned count = 0;
        while (const auto entry = event(0))
            count += entry->kind == DINGO_EV_SQ_DRAINED ? 1 : 0;
        return count;
    };
    EXPECT_EQ(driver(0).query_qp(qp(0).qpn).sq_draining, 1);
    EXPECT_EQ(drained(), 0U);
    finish(0);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    run_a_little();
    EXPECT_EQ(driver(0).query_qp(qp(0).qpn).sq_draining, 0);
    EXPECT_EQ(drained(), 1U);
}

TEST_F(Far, SendWaitsForItsDataAndForNoTimer) {
    connect_far({0});
    fill(0, 0, 50'000);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 50'000));
    run_a_little();
    EXPECT_EQ(qp_stat(0, DINGO_QP_TX_BYTES), 0U);
    fill(0, 0, 50'000, 4);  // content of the memory when it is read
    finish(0);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, 50'000));
}

TEST_F(Far, MessagesThatFollowAreFetchedMeanwhileUpToAFence) {
    connect_far({0});
    far[0].prefetches = 100;
    fill(0, 0, 60'000);
    const auto post = [&](std::uint8_t opcode, std::uint64_t at, std::uint32_t bytes, bool fence) {
        SendWr wr = rdma(opcode, at, at, bytes);
        wr.flags |= fence ? DINGO_WQE_CTRL_FLAGS_FENCE_MASK : 0;
        driver(0).post_send(qp(0), wr, false);
    };
    post(DINGO_WR_WRITE, 0, 10'000, false);
    driver(0).post_send(qp(0), small_write(), false);
    post(DINGO_WR_READ, 50'000, 5'000, false);
    post(DINGO_WR_WRITE, 20'000, 64, false);
    post(DINGO_WR_WRITE, 30'000, 64, true);
    post(DINGO_WR_WRITE, 40'000, 64, false);
    driver(0).ring_sq(qp(0));
    run_a_little();
    ASSERT_EQ(far[0].prefetched.size(), 1U) << "what is near and a READ have nothing to fetch";
    EXPECT_EQ(far[0].prefetched[0].second, mr[0].bus + 20'000);
    finish(0);
    for (int i = 0; i < 6; ++i)
        EXPECT_EQ(cards.wait_cq(0, link.cq[0]).status, DINGO_WCS_SUCCESS);
    ASSERT_EQ(far[0].prefetched.size(), 2U) << "behind the fence";
    ASSERT_EQ(far[0].began.size(), 4U);
    EXPECT_EQ(far[0].began[1], far[0].prefetched[0]) << "the same message";
    EXPECT_EQ(far[0].began[3], far[0].prefetched[1]);
}

TEST_F(Far, PrefetchesThatAreRefusedAreAskedForAgain) {
    connect_far({0});
    fill(0, 0, 60'000);
    far[0].prefetches = 1;
    for (std::uint64_t i = 0; i < 4; ++i)
        driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, i * 1'000, i * 1'000, 64), false);
    driver(0).ring_sq(qp(0));
    run_a_little();
    EXPECT_EQ(far[0].prefetched.size(), 1U);
    far[0].prefetches = 100;
    finish(0);
    for (int i = 0; i < 4; ++i)
        EXPECT_EQ(cards.wait_cq(0, link.cq[0]).status, DINGO_WCS_SUCCESS);
    ASSERT_EQ(far[0].prefetched.size(), 3U) << "each once";
    EXPECT_EQ(far[0].began[3], far[0].prefetched[2]);
    EXPECT_TRUE(same(0, 0, 64));
}

TEST_F(Far, AnswerToAReadWaitsForItsDataAndForNoTimer) {
    connect_far({1});
    fill(1, 0, 20'000);
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 20'000));
    run_a_little();
    EXPECT_EQ(qp_stat(1, DINGO_QP_TX_PACKETS), 0U);
    fill(1, 0, 20'000, 4);  // content of the memory when it is read
    finish(1);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, 20'000));
    EXPECT_EQ(far[1].fetched_bytes, 20'000U);
}

TEST_F(Far, AtomicsReturnTheirOwnValuesAndRepeatThem) {
    connect_far({1}, 14);
    far[1].pace = 1;
    Chance lost(5);
    cards.link.hook = [&](Frame&) { return !lost(10); };
    constexpr unsigned kCount = 40;
    for (unsigned i = 0; i < kCount; ++i) {
        SendWr wr = atomic(DINGO_WR_FETCH_ADD, 64, 3);
        wr.sges = {mr[0].sge(8 * i, 8)};
        driver(0).post_send(qp(0), wr);
    }
    for (unsigned i = 0; i < kCount; ++i)
        EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    for (unsigned i = 0; i < kCount; ++i)
        EXPECT_EQ(cards.host(0).load<std::uint64_t>(mr[0].bus + 8 * i), 3 * i);
    EXPECT_EQ(cards.host(1).load<std::uint64_t>(mr[1].bus + 64), 3 * kCount);
    run(atomic(DINGO_WR_CMP_SWAP, 64, 1'000, 3 * kCount));
    run(atomic(DINGO_WR_CMP_SWAP, 64, 2'000, 5));
    EXPECT_EQ(cards.host(1).load<std::uint64_t>(mr[1].bus + 64), 1'000U);
}

TEST_F(Far, ImpatientPeerGetsNoAcknowledgementBeforeTheData) {
    connect_far({1}, 8);  // about one millisecond
    fill(0, 0, 20'000);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 20'000));
    cards.run_for(3'000'000);
    EXPECT_GT(stat(1, DINGO_CARD_DUPLICATE_REQUEST), 0U);
    EXPECT_FALSE(poll(0));
    finish(1);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, 20'000));
}

TEST_F(Far, WriteThatMeetsABusErrorIsARemoteOperationError) {
    connect_far({1});
    cards.host(1).break_range(mr[1].bus + 8'192, 4'096);
    fill(0, 0, 20'000);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 100'000, 20'000));
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 20'000));
    run_a_little();
    finish(1);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_STREQ(status_name(wait(0).status), "REM_OP_ERR");
    run_a_little();
    EXPECT_EQ(state(0), DINGO_QPS_ERR);
    EXPECT_EQ(state(1), DINGO_QPS_ERR);
    const auto told = event(1);
    ASSERT_TRUE(told);
    EXPECT_GT(stat(1, DINGO_CARD_DMA_ERRORS), 0U);
}

TEST_F(Far, SendThatMeetsABusErrorFailsItsReceive) {
    connect_far({1});
    cards.host(1).break_range(mr[1].bus, 4'096);
    driver(1).post_recv(qp(1), 1, {mr[1].sge(0, 4'096)});
    driver(1).post_recv(qp(1), 2, {mr[1].sge(8'192, 4'096)});
    driver(0).post_send(qp(0), send_wr(0, 4'096));
    run_a_little();
    finish(1);
    const dingo_cqe first = wait(1);
    EXPECT_STREQ(status_name(first.status), "LOC_PROT_ERR");
    EXPECT_EQ(first.vendor_err, DINGO_VERR_BUS);
    EXPECT_STREQ(status_name(wait(1).status), "WR_FLUSH_ERR");
    EXPECT_STREQ(status_name(wait(0).status), "REM_OP_ERR");
    EXPECT_EQ(state(1), DINGO_QPS_ERR);
}

TEST_F(Far, OnePacketThatMeetsABusErrorIsNoSuccess) {
    connect_far({1});
    cards.host(1).break_range(mr[1].bus, 4'096);
    driver(1).post_recv(qp(1), 1, {mr[1].sge(0, 64)});
    driver(0).post_send(qp(0), send_wr(0, 64));
    run_a_little();
    finish(1);
    EXPECT_STREQ(status_name(wait(1).status), "LOC_PROT_ERR");
    EXPECT_STREQ(status_name(wait(0).status), "REM_OP_ERR");
}

TEST_F(Far, ReadIntoABusErrorFails) {
    connect_far({0});
    cards.host(0).break_range(mr[0].bus + 4'096, 4'096);
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 20'000));
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 100'000, 0, 20'000));
    run_a_little();
    finish(0);
    const dingo_cqe first = wait(0);
    EXPECT_STREQ(status_name(first.status), "LOC_PROT_ERR");
    EXPECT_EQ(first.vendor_err, DINGO_VERR_BUS);
    EXPECT_STREQ(status_name(wait(0).status), "WR_FLUSH_ERR");
    EXPECT_EQ(state(0), DINGO_QPS_ERR);
}

// The completion is sufficient: no event, nothing to the peer, and what follows the READ did not
// fail.
TEST_F(Far, ReadIntoABusErrorIsToldOnce) {
    for (const bool outstanding : {false, true}) {
        SCOPED_TRACE(outstanding);
        connect_far({0});
        cards.host(0).break_range(mr[0].bus, 4'096);
        cards.link.hook = [](Frame& frame) {
            const auto packet = parse_frame(frame);
            return !packet || packet->bth.opcode != packet::Opcode::kRcAck;
        };
        driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 64));
        if (outstanding)
            driver(0).post_send(qp(0), small_write());
        run_a_little();
        finish(0);
        EXPECT_STREQ(status_name(wait(0).status), "LOC_PROT_ERR");
        if (outstanding) {
            EXPECT_STREQ(status_name(wait(0).status), "WR_FLUSH_ERR");
        }
        run_a_little();
        EXPECT_EQ(state(0), DINGO_QPS_ERR);
        while (const auto next = event(0))
            EXPECT_NE(next->kind, DINGO_EV_QP_FATAL);
        EXPECT_EQ(stat(0, DINGO_CARD_RESP_REMOTE_OP_ERRORS), 0U);
        far[0].pace = 0;
    }
}

TEST_F(Far, ReadAndSendOfABusErrorFail) {
    connect_far({0, 1});
    far[0].pace = far[1].pace = 1;
    cards.host(1).break_range(mr[1].bus, 4'096);
    cards.host(0).break_range(mr[0].bus, 4'096);
    expect_error(rdma(DINGO_WR_READ, 8'192, 0, 4'096), DINGO_WCS_REM_OP_ERR, DINGO_VERR_NAK_OP);
    EXPECT_EQ(state(1), DINGO_QPS_ERR);
    TwoCards::Connection other = cards.connect();
    driver(0).post_send(other.qp[0], rdma(DINGO_WR_WRITE, 0, 8'192, 4'096));
    EXPECT_STREQ(status_name(cards.wait_cq(0, other.cq[0]).status), "LOC_PROT_ERR");
}

TEST_F(Far, NoRoomIsAPause) {
    connect_far({1});
    fill(0, 0, 10'000);
    far[1].full = true;
    far[1].pace = 1;
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 10'000));
    run_a_little();
    EXPECT_FALSE(poll(0));
    far[1].full = false;
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, 10'000));
}

TEST_F(Far, QpThatGoesTellsNothingAndLeavesNothing) {
    connect_far({0, 1});
    driver(1).post_recv(qp(1), 1, {mr[1].sge(0, 4'096)});
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 4'096));
    far[0].pace = 1;
    run_a_little();
    ASSERT_GT(far[1].streams(), 0U);
    driver(1).destroy(DINGO_OP_DESTROY_QP, qp(1).qpn);
    driver(0).destroy(DINGO_OP_DESTROY_QP, qp(0).qpn);
    EXPECT_EQ(far[0].streams() + far[1].streams(), 0U);
    finish(1);
    run_a_little();
    EXPECT_FALSE(poll(0));
    EXPECT_FALSE(poll(1));
}

// A program that posts datagrams and exits.
TEST_F(Far, LastDatagramsOfAQpLeaveBeforeIt) {
    for (const bool comes : {true, false}) {
        TwoCards two;
        FakeFarMemory memory(two.host(0));
        memory.far = [](std::uint64_t, std::uint64_t len) { return len == kRegion; };
        memory.waits = comes;
        TestDriver& sender = two.driver(0);
        QpOptions options;
        options.kind = DINGO_QPT_UD;
        TestDriver::PathOptions path;
        path.qkey = 7;
        std::array<Cq, 2> cq;
        std::array<TestQp, 2> ud;
        for (unsigned i = 0; i < 2; ++i) {
            cq[i] = two.driver(i).create_cq();
            ud[i] = two.driver(i).create_qp(cq[i], cq[i], options);
            two.driver(i).bring_up(ud[i], path);
        }
        const Mr from = sender.create_mr(kRegion, kAllAccess);
        memory.far = [&from](std::uint64_t addr, std::uint64_t) {
            return addr - from.bus < kRegion;
        };
        const Mr to = two.driver(1).create_mr(kNear, kAllAccess);
        for (unsigned i = 0; i < 4; ++i) {
            two.driver(1).post_recv(ud[1], i, {to.sge(i * 1'000, 1'000)});
            SendWr wr;
            wr.ud = two.ud_to(1, ud[1].qpn, 7);
            wr.sges = {from.sge(i * 100, 100)};
            sender.post_send(ud[0], wr);
        }
        sender.destroy(DINGO_OP_DESTROY_QP, ud[0].qpn);
        two.run_for(1'000'000);
        unsigned arrived = 0;
        while (two.driver(1).poll_cq(cq[1]))
            ++arrived;
        EXPECT_EQ(arrived, comes ? 4U : 0U);
    }
}

TEST_F(Far, ResetForgetsWhatWaits) {
    connect_far({1});
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 4'096));
    run_a_little();
    cards.card(1).engine->reset();
    EXPECT_EQ(far[1].streams(), 0U);
    finish(1);
    cards.run_for(1'000'000);
}

// A NAK for a packet acknowledges those before it, but not the packet itself.
TEST_F(Far, DataBehindAGapThatAreLostAreNoSuccess) {
    connect_far({1});
    cards.host(1).break_range(mr[1].bus + 8'192, 4'096);
    std::optional<Frame> late;
    unsigned writes = 0;
    cards.link.hook = [&](Frame& frame) {
        const auto packet = parse_frame(frame);
        if (!packet || !packet->op().is_write() || ++writes != 2)
            return true;
        late = frame;
        return false;
    };
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 64));
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 8'192, 64));
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 16'384, 64));
    run_a_little();
    ASSERT_TRUE(late);
    cards.link.inject(*late, cards.now());
    run_a_little();
    far[1].make(1);
    run_a_little();
    finish(1);
    EXPECT_STREQ(status_name(wait(0).status), "SUCCESS");
    EXPECT_STREQ(status_name(wait(0).status), "REM_OP_ERR");
}

TEST_F(Far, NakThatWaitsIsNotLostToADuplicate) {
    connect_far({1});
    std::optional<Frame> first;
    unsigned writes = 0;
    cards.link.hook = [&](Frame& frame) {
        const auto packet = parse_frame(frame);
        if (!packet || !packet->op().is_write())
            return true;
        if (++writes == 1)
            first = frame;
        return writes != 2;
    };
    for (unsigned i = 0; i < 3; ++i)
        driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, i * 8'192, 64));
    run_a_little();
    ASSERT_TRUE(first);
    cards.link.inject(*first, cards.now());
    run_a_little();
    EXPECT_GT(stat(1, DINGO_CARD_DUPLICATE_REQUEST), 0U);
    finish(1);
    run_a_little();
    for (unsigned i = 0; i < 3; ++i) {
        const auto cqe = poll(0);
        ASSERT_TRUE(cqe) << i;
        EXPECT_STREQ(status_name(cqe->status), "SUCCESS");
    }
}

TEST_F(Far, ReadWithoutACompletionThatFailsStopsTheQp) {
    connect_far({0});
    cards.host(0).break_range(mr[0].bus, 4'096);
    SendWr read = rdma(DINGO_WR_READ, 0, 0, 64);
    read.flags &= static_cast<std::uint8_t>(~DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK);
    driver(0).post_send(qp(0), read);
    run_a_little();
    finish(0);
    run_a_little();
    EXPECT_EQ(state(0), DINGO_QPS_ERR);
    bool told = false;
    while (const auto next = event(0))
        told = told || next->kind == DINGO_EV_QP_FATAL;
    EXPECT_TRUE(told);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 8'192, 0, 64));
    EXPECT_STREQ(status_name(wait(0).status), "WR_FLUSH_ERR");
}

TEST_F(Far, ReadWithoutACompletionThatFailsIsToldByTheRequestBehindIt) {
    connect_far({0});
    cards.host(0).break_range(mr[0].bus, 4'096);
    cards.link.hook = [](Frame& frame) {
        const auto packet = parse_frame(frame);
        return frame.from == 0 || !packet || packet->op().is_read_response();
    };
    SendWr read = rdma(DINGO_WR_READ, 0, 0, 64);
    read.flags &= static_cast<std::uint8_t>(~DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK);
    driver(0).post_send(qp(0), read);
    driver(0).post_send(qp(0), small_write());
    run_a_little();
    EXPECT_FALSE(poll(0)) << "the WRITE has no acknowledgement";
    finish(0);
    EXPECT_STREQ(status_name(wait(0).status), "LOC_PROT_ERR");
    EXPECT_EQ(state(0), DINGO_QPS_ERR);
    while (const auto next = event(0))
        EXPECT_NE(next->kind, DINGO_EV_QP_FATAL) << "the completion says it";
}

// A datagram that fails leaves its PSN to the next one.
TEST_F(Far, DatagramBehindOneThatFailedSendsWhatMemoryHolds) {
    far[0].far = [](std::uint64_t, std::uint64_t len) { return len == kRegion; };
    far[0].pace = 1;
    constexpr std::uint32_t kKey = 0x11111111;
    for (unsigned i = 0; i < 2; ++i) {
        link.cq[i] = driver(i).create_cq();
        QpOptions options;
        options.kind = DINGO_QPT_UD;
        link.qp[i] = driver(i).create_qp(link.cq[i], link.cq[i], options);
        TestDriver::PathOptions path;
        path.qkey = kKey;
        driver(i).bring_up(qp(i), path);
        mr[i] = driver(i).create_mr(kRegion, kAllAccess);
    }
    driver(1).post_recv(qp(1), 1, {mr[1].sge(0, 4'096)});
    fill(0, 0, 64, 1);
    SendWr wr;
    wr.ud = cards.ud_to(1, qp(1).qpn, kKey, 0);
    dingo_sge bad = mr[0].sge(0, 64);
    bad.lkey ^= 0xff;
    wr.sges = {mr[0].sge(0, 64), bad};
    driver(0).post_send(qp(0), wr);
    EXPECT_STREQ(status_name(wait(0).status), "LOC_PROT_ERR");
    ASSERT_EQ(state(0), DINGO_QPS_SQE);
    driver(0).to_state(qp(0), DINGO_QPS_RTS);
    fill(0, 0, 64, 2);
    wr.sges = {mr[0].sge(0, 64)};
    EXPECT_EQ(run(wr).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(wait(1).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 40, 64));
}

// A client with many waiting QPs does not delay others each time an access completes.
TEST_F(Far, ManyThatWaitAreNotAllLookedAtInOneRun) {
    connect_far({1});
    constexpr unsigned kQps = 300;
    TwoCards::ConnectOptions options;
    options.path.timeout = 0;
    std::vector<TwoCards::Connection> many;
    for (unsigned i = 0; i < kQps; ++i) {
        many.push_back(cards.connect(options));
        driver(0).post_send(many[i].qp[0], rdma(DINGO_WR_WRITE, 0, i * 64, 64));
    }
    run_a_little();
    ASSERT_GE(far[1].waiting(), kQps);
    far[1].make(1);
    far[1].looks = 0;
    EXPECT_TRUE(cards.card(1).engine->run(cards.now(), 64)) << "there is more to do";
    EXPECT_GT(far[1].looks, 0U);
    EXPECT_LE(far[1].looks, kQps / 2);
    finish(1);
    for (unsigned i = 0; i < kQps; ++i)
        EXPECT_EQ(cards.wait_cq(0, many[i].cq[0]).status, DINGO_WCS_SUCCESS) << i;
}

// READs, WRITEs, SENDs and atomics between two far regions under loss: same memory as without loss.
TEST_F(Far, MixUnderLossArrivesIntact) {
    connect_far({0, 1}, 14);
    far[0].pace = far[1].pace = 2;
    Chance chance(77);
    cards.link.hook = [&](Frame& frame) {
        if (chance(1))
            cards.link.inject(frame, cards.now());
        return !chance(2);
    };
    fill(0, 0, 1 << 20, 1);
    fill(1, 2 << 20, 1 << 20, 2);
    constexpr std::uint64_t kSlot = 16 << 10;
    constexpr unsigned kRounds = 60;
    std::vector<std::uint32_t> sizes(kRounds);
    for (unsigned i = 0; i < kRounds; ++i) {
        sizes[i] = static_cast<std::uint32_t>(1 + chance.next() % kSlot);
        const std::uint64_t at = i * kSlot;
        driver(1).post_recv(qp(1), i, {mr[1].sge(3 << 20, kSlot)});
        driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, at, at, sizes[i]));
        driver(0).post_send(qp(0), rdma(DINGO_WR_READ, (2 << 20) + at, (2 << 20) + at, sizes[i]));
        SendWr add = atomic(DINGO_WR_FETCH_ADD, (4 << 20) - 64, 1);
        add.sges = {mr[0].sge((3 << 20) + 8 * i, 8)};
        driver(0).post_send(qp(0), add);
        driver(0).post_send(qp(0), send_wr(at, sizes[i]));
        for (unsigned k = 0; k < 4; ++k)
            ASSERT_EQ(wait(0).status, DINGO_WCS_SUCCESS) << i;
        ASSERT_EQ(wait(1).byte_len, sizes[i]);
        ASSERT_TRUE(same(at, 3 << 20, sizes[i])) << i;
        ASSERT_TRUE(same(at, at, sizes[i])) << i;
        ASSERT_TRUE(same((2 << 20) + at, (2 << 20) + at, sizes[i])) << i;
        ASSERT_EQ(cards.host(0).load<std::uint64_t>(mr[0].bus + (3 << 20) + 8 * i), i);
    }
}

}  // namespace
}  // namespace dingo::test
