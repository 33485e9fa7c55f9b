// SPDX-License-Identifier: BSD-2-Clause
//
// Steps are a pipeline, one a cycle: the next step's context is read during a step, and its own is
// written back during the next one. The results must not depend on which QPs follow each other.
#include "requester_fixture.h"

namespace dingo::rtl {
namespace {

constexpr std::uint16_t kQps = 12;  ///< 1 to 12

class RequesterSteps : public Requester {
  protected:
    RequesterSteps() {
        config.max_rd = 16;
        for (std::uint16_t qp = 1; qp <= kQps; ++qp) {
            TestQp one = config;
            one.sq = one.ring = 0x40000U + qp * 0x1000U;
            b.create(qp, one);
        }
    }
    void post(std::uint16_t qp, std::uint8_t opcode, std::uint32_t length) {
        b.begin(opcode);
        b.rdma(0xABC000, 0x55);
        b.sges({sge(0x100, length)});
        b.post(qp);
        b.ring(qp);
    }
    void data(std::uint16_t qp, std::uint32_t n, std::uint32_t length) {
        b.respond({qp, 0x10, psn(n), 0x1F, std::vector<std::uint8_t>(length, 0x77)});
    }
    /// Waits for `count` commits and releases them; returns the cycles until all are taken.
    std::uint64_t release(std::size_t count) {
        b.run_until([&] { return b.commits.size() == count; });
        b.never_stall();
        b.hold_commits = false;
        const std::uint64_t before = b.now;
        b.run_until([&] { return b.commits.empty(); });
        return (b.now - before) / 4;
    }
    /// Expects that every QP has completed `each` messages, in order, and that no timer runs.
    void expect_each(unsigned each) {
        b.settle();
        ASSERT_EQ(b.cqes.size(), std::size_t{kQps} * each);
        std::map<std::uint16_t, std::uint32_t> next;
        for (const TestCqe& cqe : b.cqes) {
            EXPECT_EQ(cqe.status, 0);
            EXPECT_EQ(cqe.index, next[cqe.qp]++) << cqe.qp;
        }
        b.now += 1'000'000'000;  // no timer may run: nothing is outstanding
        b.run(5000);
        b.settle();
        EXPECT_EQ(b.counters[DINGO_QP_TIMEOUTS], 0U);
    }
    std::map<std::uint16_t, std::uint32_t> sent_, seen_;  // messages of each
};

TEST_F(RequesterSteps, DataOfAnyQueueTakeACycleEach) {
    for (std::uint16_t qp = 1; qp <= kQps; ++qp)
        post(qp, DINGO_WR_READ, 8);
    b.settle();
    b.hold_commits = true;
    for (std::uint16_t qp = 1; qp <= kQps; ++qp)
        data(qp, 0, 8);
    EXPECT_LE(release(kQps), kQps + 3U);
    expect_each(1);
}

TEST_F(RequesterSteps, AcksOfOneMessageTakeTwoCyclesEach) {
    for (std::uint16_t qp = 1; qp <= kQps; ++qp)
        post(qp, DINGO_WR_WRITE, 8);
    b.settle();
    b.hold_commits = true;
    for (std::uint16_t qp = 1; qp <= kQps; ++qp)
        b.ack(qp, psn(0));
    EXPECT_LE(release(kQps), 2U * kQps + 3U);
    expect_each(1);
}

TEST_F(RequesterSteps, AnAckOfManyMessagesTakesACycleForEachAndOneMore) {
    for (unsigned i = 0; i < 12; ++i)
        post(1, DINGO_WR_WRITE, 8);
    b.settle();
    b.hold_commits = true;
    b.ack(1, psn(11));
    b.run_until([&] { return b.commits.size() == 1; });
    b.never_stall();
    b.hold_commits = false;
    b.run_until([&] { return b.commits.empty(); });
    const std::uint64_t before = b.now;
    b.run_until([&] { return b.dut.idle_o; });
    EXPECT_LE((b.now - before) / 4, 12U + 10U);  // 10: before the first and behind the last one
    b.settle();
    EXPECT_EQ(b.cqes.size(), 12U);
}

// A context comes from the step before, from the one before that, or from memory, as far as the
// QP's last step lies back.
TEST_F(RequesterSteps, AnyOrderOfQueuesKeepsEachInOrder) {
    std::mt19937 random(1);
    constexpr unsigned kRounds = 60;
    for (unsigned round = 0; round < kRounds; ++round) {
        const std::uint16_t few = 1 + round % 4;  // queues that take part
        const std::size_t done = b.cqes.size();
        std::vector<std::pair<std::uint16_t, bool>> order;  // QP; READ or WRITE
        for (unsigned i = 0; i < 12; ++i) {
            const std::uint16_t qp = 1 + random() % few;
            const bool reads = random() % 2 == 0;
            post(qp, reads ? DINGO_WR_READ : DINGO_WR_WRITE, 8);
            order.emplace_back(qp, reads);
        }
        b.settle();
        b.hold_commits = round % 2 == 0;
        for (const auto& [qp, reads] : order) {
            const std::uint32_t n = sent_[qp]++;
            if (reads)
                data(qp, n, 8);
            else
                b.ack(qp, psn(n));
        }
        if (b.hold_commits)
            b.run_until([&] { return b.commits.size() == order.size(); });
        b.hold_commits = false;
        b.settle();
        ASSERT_EQ(b.cqes.size(), done + order.size()) << round;
        for (std::size_t i = done; i < b.cqes.size(); ++i) {
            EXPECT_EQ(b.cqes[i].status, 0);
            EXPECT_EQ(b.cqes[i].index, seen_[b.cqes[i].qp]++) << round;
        }
    }
    EXPECT_EQ(b.card[DINGO_CARD_RETRANSMITS], 0U);
    EXPECT_EQ(b.card[DINGO_CARD_RX_DROP_RESPONSE], 0U);
}

}  // namespace
}  // namespace dingo::rtl
