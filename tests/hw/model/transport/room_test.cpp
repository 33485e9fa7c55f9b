// SPDX-License-Identifier: BSD-2-Clause
//
// A wire without room for one address: QPs that send there wait, in turns, and no others do.
#include <algorithm>
#include <map>

#include "fixture.h"

namespace dingo::test {
namespace {

/// QPs of card 0 to card 1, and one to a third card, which does not respond.
class Room : public Connected {
  protected:
    static constexpr std::uint64_t kElsewhere = 0x02'44'49'00'00'77;

    std::vector<TestQp> here;
    std::vector<TestQp> peers;
    TestQp elsewhere;
    std::map<std::uint32_t, unsigned> sent;  ///< by destination QPN
    unsigned sent_elsewhere = 0;

    void start(unsigned count) {
        for (unsigned i = 0; i < 2; ++i) {
            link.cq[i] = driver(i).create_cq(12);
            mr[i] = driver(i).create_mr(kRegion, kAllAccess);
        }
        QpOptions small;
        small.log_rq = 1;
        small.log_stride = 5;
        for (unsigned k = 0; k < count; ++k) {
            here.push_back(driver(0).create_qp(link.cq[0], link.cq[0], small));
            peers.push_back(driver(1).create_qp(link.cq[1], link.cq[1], small));
            driver(0).bring_up(here[k], cards.path_to(1, peers[k].qpn));
            driver(1).bring_up(peers[k], cards.path_to(0, here[k].qpn));
        }
        elsewhere = driver(0).create_qp(link.cq[0], link.cq[0], small);
        TestDriver::PathOptions path = cards.path_to(1, 0x77);
        path.timeout = 0;
        for (unsigned i = 0; i < path.dmac.size(); ++i)
            path.dmac[i] = static_cast<std::uint8_t>(kElsewhere >> (40 - 8 * i));
        driver(0).bring_up(elsewhere, path);
        cards.link.tap = [this](const Frame& frame) {
            const auto packet = parse_frame(frame);
            if (frame.from != 0 || !packet)
                return;
            if (is_for(frame, kElsewhere))
                ++sent_elsewhere;
            else
                ++sent[packet->bth.dest_qp];
        };
        cards.link.hook = [](Frame& frame) { return !is_for(frame, kElsewhere); };
    }
    static bool is_for(const Frame& frame, std::uint64_t mac) {
        std::uint64_t to = 0;
        for (unsigned i = 0; i < 6; ++i)
            to = to << 8 | std::to_integer<std::uint64_t>(frame.bytes[i]);
        return to == mac;
    }
    TestWire& wire() { return cards.card(0).wire; }
    std::uint64_t peer_mac() {
        const auto mac = cards.path_to(1, 0).dmac;
        std::uint64_t out = 0;
        for (const std::uint8_t byte : mac)
            out = out << 8 | byte;
        return out;
    }
    void fill_up() { wire().full.insert(peer_mac()); }
    void make_room() { wire().full.clear(); }
};

TEST_F(Room, WhoSendsElsewhereGoesOn) {
    start(8);
    fill_up();
    for (TestQp& qp : here)
        driver(0).post_send(qp, rdma(DINGO_WR_WRITE, 0, 0, 64'000));
    driver(0).post_send(elsewhere, rdma(DINGO_WR_WRITE, 0, 0, 64'000));
    cards.run_for(100'000);
    EXPECT_GE(sent_elsewhere, 16U);
    EXPECT_TRUE(sent.empty());
    make_room();
    for (unsigned k = 0; k < here.size(); ++k)
        EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
}

TEST_F(Room, AnswersElsewhereGoOn) {
    start(1);
    fill_up();
    driver(0).post_send(here[0], rdma(DINGO_WR_WRITE, 0, 0, 8));
    cards.run_for(100'000);
    make_room();
    wire().full.insert(kElsewhere);
    driver(0).post_send(elsewhere, rdma(DINGO_WR_WRITE, 0, 0, 8));
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    // Card 1 writes to card 0, which then owes an acknowledgement.
    SendWr wr;
    wr.opcode = DINGO_WR_WRITE;
    wr.raddr = mr[0].iova;
    wr.rkey = mr[0].key;
    wr.sges = {mr[1].sge(0, 8)};
    driver(1).post_send(peers[0], wr);
    EXPECT_EQ(wait(1).status, DINGO_WCS_SUCCESS);
}

TEST_F(Room, OneOfThoseWhoWaitLooksAtATime) {
    start(64);
    fill_up();
    for (TestQp& qp : here)
        driver(0).post_send(qp, rdma(DINGO_WR_WRITE, 0, 0, 64'000));
    cards.run_for(1'000'000);
    wire().refusals = 0;
    constexpr Nanoseconds kTime = 1'000'000;
    constexpr Nanoseconds kRetry = 5'000;
    cards.run_for(kTime);
    EXPECT_GT(wire().refusals, 10U);
    EXPECT_LE(wire().refusals, kTime / kRetry + 2);
}

TEST_F(Room, RoomIsSharedEvenly) {
    constexpr unsigned kCount = 4;
    constexpr unsigned kRounds = 64;
    constexpr unsigned kRoom = 16;
    start(kCount);
    fill_up();
    for (TestQp& qp : here)
        driver(0).post_send(qp, rdma(DINGO_WR_WRITE, 0, 0, 4'000'000));
    unsigned total = 0;
    const auto counted = cards.link.tap;
    cards.link.tap = [&](const Frame& frame) {
        counted(frame);
        if (frame.from == 0 && ++total % kRoom == 0)
            fill_up();
    };
    for (unsigned round = 0; round < kRounds; ++round) {
        cards.run_for(100'000 + round % 7 * 5'000);
        make_room();
        cards.run_until([&] { return !wire().full.empty(); });
    }
    ASSERT_EQ(sent.size(), kCount);
    for (const auto& [qpn, count] : sent)
        EXPECT_EQ(count, kRounds * kRoom / kCount) << "QP " << qpn;
}

TEST_F(Room, WhoComesLaterQueuesBehindThoseWhoWait) {
    start(2);
    fill_up();
    driver(0).post_send(here[0], rdma(DINGO_WR_WRITE, 0, 0, 64'000));
    cards.run_for(100'000);
    make_room();
    driver(0).post_send(here[1], rdma(DINGO_WR_WRITE, 0, 0, 8));
    std::optional<std::uint32_t> first;
    const auto counted = cards.link.tap;
    cards.link.tap = [&](const Frame& frame) {
        counted(frame);
        if (const auto packet = parse_frame(frame); frame.from == 0 && packet && !first)
            first = packet->bth.dest_qp;
    };
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(first, peers[0].qpn);
}

TEST_F(Room, WhoWaitsIsFlushedAndDestroyedAtOnce) {
    start(3);
    fill_up();
    for (TestQp& qp : here)
        driver(0).post_send(qp, rdma(DINGO_WR_WRITE, 0, 0, 64'000));
    cards.run_for(100'000);
    driver(0).to_state(here[0], DINGO_QPS_ERR);
    EXPECT_EQ(wait(0, 1'000'000).status, DINGO_WCS_WR_FLUSH_ERR);
    for (unsigned k = 0; k < 2; ++k)
        driver(0).destroy(DINGO_OP_DESTROY_QP, here[k].qpn);
    make_room();
    const dingo_cqe last = wait(0);
    EXPECT_EQ(last.status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(cqe_qpn(last), here[2].qpn);
}

TEST_F(Room, AFullLoopbackHoldsUpNobodyElse) {
    start(1);
    QpOptions small;
    small.log_rq = 1;
    small.log_stride = 5;
    TestQp from = driver(0).create_qp(link.cq[0], link.cq[0], small);
    TestQp to = driver(0).create_qp(link.cq[0], link.cq[0], small);
    driver(0).bring_up(from, cards.path_to(0, to.qpn));
    driver(0).bring_up(to, cards.path_to(0, from.qpn));
    SendWr wr = rdma(DINGO_WR_WRITE, 0, 0, 1'000'000);
    wr.raddr = mr[0].iova + 2'000'000;
    wr.rkey = mr[0].key;
    driver(0).post_send(from, wr, false);
    driver(0).post_send(here[0], rdma(DINGO_WR_WRITE, 0, 0, 8), false);
    driver(0).ring_sq(from);
    driver(0).ring_sq(here[0]);
    cards.budget[0] = 256;
    cards.step();
    EXPECT_EQ(sent[peers[0].qpn], 1U) << "in the first run already";
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
}

}  // namespace
}  // namespace dingo::test
