// SPDX-License-Identifier: BSD-2-Clause
//
// Many QPs on one card: fair shares, no waiting for a QP that cannot continue, bounded memory.
#include <algorithm>
#include <map>

#include "fixture.h"
#include "transport/cost.h"

namespace dingo::test {
namespace {

class ManyQps : public Connected {
  protected:
    std::vector<TestQp> senders;
    std::vector<TestQp> receivers;

    void start(unsigned count, TestDriver::PathOptions base = {}, unsigned log_cq = 14) {
        for (unsigned i = 0; i < 2; ++i) {
            link.cq[i] = driver(i).create_cq(log_cq);
            mr[i] = driver(i).create_mr(kRegion, kAllAccess);
        }
        QpOptions small;
        small.log_rq = 1;
        small.log_stride = 5;
        for (unsigned k = 0; k < count; ++k) {
            senders.push_back(driver(0).create_qp(link.cq[0], link.cq[0], small));
            receivers.push_back(driver(1).create_qp(link.cq[1], link.cq[1], small));
            up(0, senders[k], receivers[k].qpn, base);
            up(1, receivers[k], senders[k].qpn, base);
        }
    }
    void up(unsigned i, const TestQp& local, std::uint32_t peer, TestDriver::PathOptions path) {
        const auto address = cards.path_to(1 - i, peer);
        path.dest_qpn = peer;
        path.dgid = address.dgid;
        path.dmac = address.dmac;
        driver(i).bring_up(local, path);
    }
};

TEST_F(ManyQps, LongMessagesShareTheWireEvenly) {
    constexpr unsigned kCount = 16;
    start(kCount);
    std::map<std::uint32_t, unsigned> sent;
    unsigned total = 0;
    bool even = true;
    cards.link.tap = [&](const Frame& frame) {
        const auto packet = parse_frame(frame);
        if (frame.from != 0 || !packet)
            return;
        ++sent[packet->bth.dest_qp];
        if (++total % 1600 == 0) {
            const auto [least, most] =
                std::ranges::minmax_element(sent, {}, [](const auto& e) { return e.second; });
            even = even && sent.size() == kCount && most->second - least->second <= 64;
        }
    };
    for (TestQp& sender : senders)
        driver(0).post_send(sender, rdma(DINGO_WR_WRITE, 0, 0, 2'000'000));
    for (unsigned k = 0; k < kCount; ++k)
        EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(even);
}

TEST_F(ManyQps, AShortMessageDoesNotWaitForLongOnes) {
    start(8);
    for (unsigned k = 0; k < 7; ++k)
        driver(0).post_send(senders[k], rdma(DINGO_WR_WRITE, 0, 0, 4'000'000), false);
    for (unsigned k = 0; k < 7; ++k)
        driver(0).ring_sq(senders[k]);
    cards.step();
    driver(0).post_send(senders[7], rdma(DINGO_WR_WRITE, 0, 0, 8));
    EXPECT_EQ(cqe_qpn(wait(0)), senders[7].qpn);
}

TEST_F(ManyQps, AQpThatWaitsForAReceiverHoldsUpNobody) {
    start(4);
    driver(0).post_send(senders[0], send_wr(0, 100));  // no receive is posted: RNR without end
    for (unsigned round = 0; round < 100; ++round) {
        driver(0).post_send(senders[1 + round % 3], rdma(DINGO_WR_WRITE, 0, 0, 3000));
        const Nanoseconds before = cards.now();
        EXPECT_NE(cqe_qpn(wait(0)), senders[0].qpn);
        EXPECT_LT(cards.now() - before, 100'000U);
    }
}

TEST_F(ManyQps, AFullWireTakesATurnFromNobody) {
    constexpr unsigned kCount = 4;
    constexpr unsigned kRounds = 64;
    constexpr unsigned kRoom = 16;
    start(kCount);
    std::map<std::uint32_t, unsigned> sent;
    unsigned total = 0;
    cards.link.tap = [&](const Frame& frame) {
        const auto packet = parse_frame(frame);
        if (frame.from != 0 || !packet)
            return;
        ++sent[packet->bth.dest_qp];
        cards.card(0).wire.busy = ++total % kRoom == 0;
    };
    cards.card(0).wire.busy = true;
    for (TestQp& sender : senders)
        driver(0).post_send(sender, rdma(DINGO_WR_WRITE, 0, 0, 4'000'000));
    for (unsigned round = 0; round < kRounds; ++round) {
        cards.run_for(100'000 + round % 7 * 5'000);  // requests room again and again
        cards.card(0).wire.busy = false;
        cards.run_until([&] { return cards.card(0).wire.busy; });
    }
    ASSERT_EQ(sent.size(), kCount);
    for (const auto& [qpn, count] : sent)
        EXPECT_EQ(count, kRounds * kRoom / kCount) << "QP " << qpn;
}

/// A bad wire to a peer with little processor time: frames pass one by one, and the sender is held
/// back when kQueue frames wait. A QP's next turn comes later than its timeout.
class SlowPeer : public ManyQps, public ::testing::WithParamInterface<std::uint64_t> {
  protected:
    static constexpr unsigned kCount = 64;
    static constexpr Nanoseconds kFrameTime = 200'000;
    static constexpr Nanoseconds kQueue = 512;
    Chance chance{GetParam()};
    Nanoseconds free_at[2] = {0, 0};

    void start_slow() {
        TestDriver::PathOptions path;
        path.path_mtu = 3;
        path.timeout = 14;
        path.retry_cnt = 7;
        start(kCount, path);
        cards.link.hook = [this](Frame& frame) {
            constexpr double kLost = 3;  // dropped or damaged
            if (chance(kLost))
                return false;
            Nanoseconds& free = free_at[frame.from];
            free = std::max(free, cards.now()) + kFrameTime;
            frame.delay = free - cards.now();
            if (chance(1))
                cards.link.inject(frame, cards.now());
            if (chance(1))
                frame.delay += 3 * kFrameTime;  // overtaken
            return true;
        };
    }
    /// Expects that all messages complete successfully.
    void finish(unsigned messages) {
        for (unsigned done = 0; done < messages; ++done) {
            std::optional<dingo_cqe> cqe;
            const auto completed = [&] {
                for (unsigned i = 0; i < 2; ++i)
                    cards.card(i).wire.busy = free_at[i] > cards.now() + kQueue * kFrameTime;
                return (cqe = poll(0)).has_value();
            };
            ASSERT_TRUE(cards.run_until(completed, 600'000'000'000)) << done;
            ASSERT_STREQ(status_name(cqe->status), "SUCCESS")
                << "message " << done << ", vendor_err " << int{cqe->vendor_err};
        }
    }
};

TEST_P(SlowPeer, ReadsOutliveTheirTimeouts) {
    start_slow();
    for (TestQp& sender : senders)
        driver(0).post_send(sender, rdma(DINGO_WR_READ, 0, 0, 300'000));
    finish(kCount);
}

TEST_P(SlowPeer, WritesOutliveTheirTimeouts) {
    start_slow();
    for (TestQp& sender : senders)
        driver(0).post_send(sender, rdma(DINGO_WR_WRITE, 0, 0, 300'000));
    finish(kCount);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SlowPeer, ::testing::Values(1, 2, 3));

/// A client with one QP and one with 256 QPs, all of which always have work.
class TwoClients : public ManyQps {
  protected:
    static constexpr unsigned kMany = 256;
    static constexpr std::uint32_t kPages[2] = {1, 2};
    static constexpr unsigned kRoom = 64;

    /// `card`: the one whose turns are compared.
    void start_both(unsigned card) {
        sender_ = card;
        for (unsigned i = 0; i < 2; ++i) {
            link.cq[i] = driver(i).create_cq(14);
            mr[i] = driver(i).create_mr(kRegion, kAllAccess);
        }
        QpOptions small;
        small.log_rq = 1;
        small.log_stride = 5;
        for (unsigned k = 0; k <= kMany; ++k) {
            small.db_page = kPages[k == kMany ? 1 : 0];
            senders.push_back(driver(0).create_qp(link.cq[0], link.cq[0], small));
            receivers.push_back(driver(1).create_qp(link.cq[1], link.cq[1], small));
            up(0, senders[k], receivers[k].qpn, {});
            up(1, receivers[k], senders[k].qpn, {});
            client_[receivers[k].qpn] = client_[senders[k].qpn] = k == kMany ? 1 : 0;
            index_[senders[k].qpn] = k;
        }
        cards.link.tap = [this](const Frame& frame) {
            const auto packet = parse_frame(frame);
            if (!packet)
                return;
            const auto client = client_.find(packet->bth.dest_qp);
            if (client != client_.end())
                cost[client->second] += model::cost::of_frame(frame.bytes.size());
            if (frame.from == sender_)
                cards.card(sender_).wire.busy = ++sent_ % kRoom == 0;
        };
    }
    /// Keeps every send queue full of `wr`. In each round the wire has room for kRoom frames; the
    /// first rounds are not counted.
    void work(const SendWr& wr, unsigned rounds) { work(wr, wr, rounds); }
    /// The same with a request per client.
    void work(const SendWr& many, const SendWr& one, unsigned rounds) {
        const auto wr_of = [&](unsigned k) -> const SendWr& { return k == kMany ? one : many; };
        for (unsigned k = 0; k <= kMany; ++k)
            for (unsigned n = 0; n < 1U << senders[k].log_sq; ++n)
                driver(0).post_send(senders[k], wr_of(k));
        for (unsigned round = 0; round < rounds; ++round) {
            if (round == rounds / 4)
                cost = {};
            bool& busy = cards.card(sender_).wire.busy;
            busy = false;
            ASSERT_TRUE(cards.run_until([&] { return busy; })) << round;
            cards.run_for(5'000);
            while (const auto cqe = poll(0)) {
                ASSERT_EQ(cqe->status, DINGO_WCS_SUCCESS);
                const unsigned k = index_[cqe_qpn(*cqe)];
                driver(0).post_send(senders[k], wr_of(k));
            }
        }
    }
    void expect_halves() {
        EXPECT_NEAR(static_cast<double>(cost[1]) / static_cast<double>(cost[0] + cost[1]), 0.5,
                    0.03)
            << cost[1] << " of " << cost[0] + cost[1];
    }

    std::array<std::int64_t, 2> cost{};  ///< of all frames that a client's QPs sent and received

    [[nodiscard]] bool is_of_one(std::uint32_t qpn) const { return client_.at(qpn) == 1; }

  private:
    unsigned sender_ = 0;
    std::uint64_t sent_ = 0;
    std::map<std::uint32_t, unsigned> client_;  ///< by QPN
    std::map<std::uint32_t, unsigned> index_;   ///< in `senders`
};

TEST_F(TwoClients, OneQpHasHalfOfTheBytes) {
    start_both(0);
    work(rdma(DINGO_WR_WRITE, 0, 0, 200'000), 2'000);
    expect_halves();
}

TEST_F(TwoClients, OneQpHasHalfOfTheMessages) {
    start_both(0);
    work(rdma(DINGO_WR_WRITE, 0, 0, 8), 2'000);
    expect_halves();
}

TEST_F(TwoClients, OneQpOfLongMessagesHasHalfBesideShortOnes) {
    start_both(0);
    work(rdma(DINGO_WR_WRITE, 0, 0, 8), rdma(DINGO_WR_WRITE, 0, 0, 65'536), 2'000);
    expect_halves();
}

TEST_F(TwoClients, OneQpOfShortMessagesHasHalfBesideLongOnes) {
    start_both(0);
    work(rdma(DINGO_WR_WRITE, 0, 0, 65'536), rdma(DINGO_WR_WRITE, 0, 0, 8), 2'000);
    expect_halves();
}

TEST_F(TwoClients, OneQpOfWritesHasHalfBesideReadRequests) {
    start_both(0);
    work(rdma(DINGO_WR_READ, 0, 0, 8), rdma(DINGO_WR_WRITE, 0, 0, 65'536), 2'000);
    expect_halves();
}

TEST_F(TwoClients, OneQpHasHalfBesideMessagesThatAreSentAgain) {
    start_both(0);
    Chance chance(1);
    cards.link.hook = [&](Frame& frame) {
        const auto packet = parse_frame(frame);
        return !packet || is_of_one(packet->bth.dest_qp) || !chance(10);
    };
    work(rdma(DINGO_WR_WRITE, 0, 0, 65'536), 2'000);
    EXPECT_GT(stat(0, DINGO_CARD_RETRANSMITS), 10'000U);
    expect_halves();
}

TEST_F(TwoClients, OneQpHasHalfOfTheResponses) {
    start_both(1);
    work(rdma(DINGO_WR_READ, 0, 0, 200'000), 2'000);
    expect_halves();
}

TEST_F(ManyQps, FourThousandQpsEachGetTheirMessagesThroughABadWire) {
    constexpr unsigned kCount = 4096;
    TestDriver::PathOptions path;
    path.timeout = 10;
    path.path_mtu = 1;
    start(kCount, path);
    Chance chance(3);
    cards.link.hook = [&](Frame&) { return !chance(1); };
    for (unsigned k = 0; k < kCount; ++k) {
        cards.host(0).store<std::uint64_t>(mr[0].bus + k * 8, k * 0x9E3779B97F4A7C15ULL);
        driver(0).post_send(senders[k], rdma(DINGO_WR_WRITE, k * 8, k * 8, 8), false);
        driver(0).post_send(senders[k], rdma(DINGO_WR_READ, 0x100000 + k * 8, k * 8, 8));
    }
    std::map<std::uint32_t, unsigned> completed;
    for (unsigned k = 0; k < 2 * kCount; ++k) {
        const dingo_cqe cqe = wait(0);
        ASSERT_EQ(cqe.status, DINGO_WCS_SUCCESS);
        ++completed[cqe_qpn(cqe)];
    }
    EXPECT_EQ(completed.size(), kCount);
    EXPECT_EQ(std::memcmp(memory(0, 0, kCount * 8).data(), memory(0, 0x100000, kCount * 8).data(),
                          kCount * 8),
              0);
}

}  // namespace
}  // namespace dingo::test
