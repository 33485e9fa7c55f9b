// SPDX-License-Identifier: BSD-2-Clause
//
// Random content in rings of every kind and random doorbells, checked by the sanitizers; tests for
// all engines are in tests/conformance/hostile_test.cpp. Also limits of the number of objects.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "two_cards.h"

namespace dingo::test {
namespace {

/// Returns `base` multiplied by DINGO_TEST_EFFORT.
int rounds(int base) {
    const char* effort = std::getenv("DINGO_TEST_EFFORT");
    return base * (effort == nullptr ? 1 : std::max(1, std::atoi(effort)));
}

/// Random numbers with a bias towards boundary values.
class Chaos {
  public:
    explicit Chaos(std::uint64_t seed) : random_(seed) {}
    std::uint64_t operator()() {
        const std::uint64_t r = random_();
        switch (random_() % 8) {
            case 0:
                return 0;
            case 1:
                return ~std::uint64_t{0};
            case 2:
                return 1ull << r % 64;
            case 3:
                return (1ull << r % 64) - 1;
            case 4:
                return r % 16;
            case 5:
                return r % 4096;
            default:
                return r;
        }
    }
    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  private:
    std::mt19937_64 random_;
};

class Hostile : public testing::TestWithParam<std::uint64_t> {
  protected:
    Hostile() : chaos(GetParam()) { d.start(8); }

    Chaos chaos;
    OneCard card;
    TestDriver& d = card.driver;
};

TEST_P(Hostile, RandomDoorbellsOnLiveObjectsWithGarbageInTheirRings) {
    d.enable_port();
    d.set_ipv4(0, 0x0a4d0001);
    const Cq cq = d.create_cq(6);
    const Srq srq = d.create_srq(4, 6);
    std::vector<TestQp> qps;
    for (const int kind : {DINGO_QPT_GSI, DINGO_QPT_RC, DINGO_QPT_UC, DINGO_QPT_UD}) {
        QpOptions options;
        options.kind = static_cast<std::uint8_t>(kind);
        options.log_sq = 4;
        if (kind == DINGO_QPT_RC) {
            options.srqn = srq.srqn;
        }
        qps.push_back(d.create_qp(cq, cq, options));
        TestDriver::PathOptions path;
        path.dgid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 2};
        path.dmac = {2, 0, 0, 0, 0, 9};
        d.bring_up(qps.back(), path);
    }
    const EthRing tx = d.create_eth(DINGO_ETH_TX, 0, cq, 4);
    const EthRing rx = d.create_eth(DINGO_ETH_RX, 1, cq, 4);
    const auto garbage = [&](std::uint64_t ring, std::uint64_t bytes) {
        for (std::uint64_t at = 0; at < bytes; at += 8) {
            card.host.store(ring + at, chaos());
        }
    };
    for (int round = 0; round < rounds(300); ++round) {
        for (const TestQp& qp : qps) {
            garbage(qp.sq, 64u << qp.log_sq);
            for (int block = 0; block < 16; ++block) {  // plausible opcode and size
                card.host.store<std::uint8_t>(qp.sq + 64 * block,
                                              static_cast<std::uint8_t>(chaos.below(14)));
                card.host.store<std::uint8_t>(qp.sq + 64 * block + 2,
                                              static_cast<std::uint8_t>(1 + chaos.below(3)));
            }
            if (qp.rq != 0) {
                garbage(qp.rq, 1ull << (qp.log_rq + qp.log_stride));
            }
        }
        garbage(srq.ring, 1024);
        garbage(tx.ring, 256);
        garbage(rx.ring, 256);
        for (int i = 0; i < 100; ++i) {
            const auto type = static_cast<std::uint32_t>(chaos.below(9));
            const std::uint32_t objects[] = {qps[chaos.below(4)].qpn, 0, 1,
                                             static_cast<std::uint32_t>(chaos())};
            const std::uint32_t object = objects[chaos.below(4)] & 0xFFFFFF;
            const std::uint32_t arm = chaos.below(4) == 0 ? chaos() & 0xF000'0000 : 0;
            d.doorbell(static_cast<std::uint32_t>(chaos.below(2)),
                       DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, type) | object | arm,
                       static_cast<std::uint32_t>(chaos()));
            card.engine->run(card.now += 10'000, 32);
            card.wire.sent.clear();
        }
        for (TestQp& qp : qps) {  // reset and reconnect
            d.to_state(qp, DINGO_QPS_RESET);
            TestDriver::PathOptions path;
            path.dgid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 2};
            path.dmac = {2, 0, 0, 0, 0, 9};
            path.timeout = 1;
            path.retry_cnt = 1;
            d.bring_up(qp, path);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Hostile, testing::Values(1, 2, 3));

TEST(Bounds, RingsShareABudgetOfPageAddresses) {
    OneCard card;
    TestDriver& d = card.driver;
    d.start();
    // The largest CQs, all over one page of host memory: 32768 page addresses each.
    const std::uint64_t page = card.host.alloc(4096);
    const std::vector<std::uint64_t> pages(32768, page);
    dingo_cmd_create_cq cmd{};
    cmd.eqn = 1;
    cmd.log_size = DINGO_MAX_LOG_CQ;
    cmd.ring = d.page_list(pages, 1, 12);
    std::uint32_t created = 0;
    std::uint32_t status = DINGO_ST_OK;
    for (; created < 4096; ++created) {
        cmd.cqn = created;
        status = d.execute(DINGO_OP_CREATE_CQ, cmd).status;
        if (status != DINGO_ST_OK) {
            break;
        }
    }
    EXPECT_EQ(status, DINGO_ST_NO_RESOURCE + 0u);
    EXPECT_GE(created, 256u);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_CQ, 0).status, DINGO_ST_OK + 0u);
    EXPECT_EQ(d.execute(DINGO_OP_CREATE_CQ, cmd).status, DINGO_ST_OK + 0u);
    d.start();  // a reset releases everything
    cmd.cqn = 1;
    EXPECT_EQ(d.execute(DINGO_OP_CREATE_CQ, cmd).status, DINGO_ST_OK + 0u);
}

TEST(Bounds, AllQueuePairsCompletionQueuesAndRegionsCanExist) {
    OneCard card;
    TestDriver& d = card.driver;
    d.start(8);
    const dingo_limits limits = d.query_limits();
    ASSERT_GE(limits.max_qp, 4096u);
    ASSERT_GE(limits.max_cq, 4096u);
    ASSERT_GE(limits.max_mr, 65536u);
    const std::uint64_t ring = card.host.alloc(4096);
    for (std::uint32_t i = 0; i < limits.max_cq; ++i) {
        dingo_cmd_create_cq cq{};
        cq.cqn = i;
        cq.eqn = 1;
        cq.ring.addr = ring;
        ASSERT_EQ(d.execute(DINGO_OP_CREATE_CQ, cq).status, DINGO_ST_OK + 0u) << i;
    }
    for (std::uint32_t i = 0; i < limits.max_qp; ++i) {
        dingo_cmd_create_qp qp{};
        qp.qpn = 2 + i;
        qp.send_cqn = qp.recv_cqn = i % limits.max_cq;
        qp.srqn = DINGO_INVALID_ID;
        qp.kind = DINGO_QPT_RC;
        qp.log_rq_stride = 5;
        qp.sq.addr = qp.rq.addr = ring;
        ASSERT_EQ(d.execute(DINGO_OP_CREATE_QP, qp).status, DINGO_ST_OK + 0u) << i;
    }
    for (std::uint32_t i = 0; i < limits.max_mr; ++i) {
        dingo_cmd_create_mr mr{};
        mr.key = i << DINGO_MR_INDEX_SHIFT | 7;
        mr.mem.addr = ring;
        mr.length = 4096;
        ASSERT_EQ(d.execute(DINGO_OP_CREATE_MR, mr).status, DINGO_ST_OK + 0u) << i;
    }
    for (std::uint32_t i = 0; i < limits.max_qp; ++i) {
        ASSERT_EQ(d.destroy(DINGO_OP_DESTROY_QP, 2 + i).status, DINGO_ST_OK + 0u) << i;
    }
    for (std::uint32_t i = 0; i < limits.max_cq; ++i) {
        ASSERT_EQ(d.destroy(DINGO_OP_DESTROY_CQ, i).status, DINGO_ST_OK + 0u) << i;
    }
    for (std::uint32_t i = 0; i < limits.max_mr; ++i) {
        ASSERT_EQ(d.destroy(DINGO_OP_DESTROY_MR, i << DINGO_MR_INDEX_SHIFT | 7).status,
                  DINGO_ST_OK + 0u)
            << i;
    }
}

}  // namespace
}  // namespace dingo::test
