// SPDX-License-Identifier: BSD-2-Clause
//
// As many objects as the card reports, not one more, and again after all were destroyed.
#include "conformance.h"

namespace dingo::conformance {
namespace {

EngineConfig small_config() {
    EngineConfig config;
    config.max_qp = kSanitized ? 128 : 512;
    config.max_cq = kSanitized ? 128 : 512;
    config.max_mr = kSanitized ? 256 : 1024;
    config.max_srq = 64;
    return config;
}

struct Card : test::OneCard {
    Card(const std::string& name, const EngineConfig& config) : OneCard(name, config) {
        driver.start();
        ring = host.alloc(1u << 20);
    }
    std::uint32_t create_cq(std::uint32_t cqn) {
        dingo_cmd_create_cq cmd{};
        cmd.cqn = cqn;
        cmd.eqn = 1;
        cmd.ring.addr = ring;
        return driver.execute(DINGO_OP_CREATE_CQ, cmd).status;
    }
    std::uint32_t create_qp(std::uint32_t index, std::uint32_t tag) {
        dingo_cmd_create_qp cmd{};
        cmd.qpn = tag << DINGO_QPN_INDEX_BITS | index;
        cmd.pdn = 1;
        cmd.srqn = DINGO_INVALID_ID;
        cmd.kind = DINGO_QPT_RC;
        cmd.log_sq = 4;
        cmd.log_rq_stride = 5;
        cmd.sq.addr = ring;
        cmd.rq.addr = ring;
        return driver.execute(DINGO_OP_CREATE_QP, cmd).status;
    }
    std::uint32_t create_mr(std::uint32_t index, std::uint32_t tag) {
        dingo_cmd_create_mr cmd{};
        cmd.key = index << DINGO_MR_INDEX_SHIFT | tag;
        cmd.pdn = 1;
        cmd.access = kAllAccess;
        cmd.mem.addr = ring;
        cmd.iova = ring;
        cmd.length = 4096;
        return driver.execute(DINGO_OP_CREATE_MR, cmd).status;
    }
    std::uint64_t ring = 0;
};

bool refused(std::uint32_t status) {
    return status == DINGO_ST_BAD_FIELD || status == DINGO_ST_NO_RESOURCE;
}

}  // namespace

CONFORMANCE_SUITE(Limits);

TEST_P(Limits, QueryShowsWhatTheCardWasMadeWith) {
    const EngineConfig config = small_config();
    Card card(engine(), config);
    const dingo_limits limits = card.driver.query_limits();
    EXPECT_EQ(limits.max_qp, config.max_qp);
    EXPECT_EQ(limits.max_cq, config.max_cq);
    EXPECT_EQ(limits.max_mr, config.max_mr);
    const bool srq = (card.driver.read64(DINGO_REG_CAPS) & DINGO_CAP_SRQ) != 0;
    EXPECT_EQ(limits.max_srq, srq ? config.max_srq : 0);
    EXPECT_EQ(limits.card_counters, unsigned{DINGO_CARD_COUNTERS});
    EXPECT_EQ(limits.qp_counters, unsigned{DINGO_QP_COUNTERS});
    EXPECT_EQ(limits.max_msg, unsigned{DINGO_MAX_MSG});
    EXPECT_GE(limits.max_rd_atomic, 1);
    EXPECT_LE(limits.max_send_sge, DINGO_SQ_MAX_SGE);
    EXPECT_NE(limits.page_sizes & 1u << 12, 0u);
}

TEST_P(Limits, DefaultCardIsLargeEnough) {
    Card card(engine(), {});
    const dingo_limits limits = card.driver.query_limits();
    EXPECT_GE(limits.max_qp, effort(4096, 1024));
    EXPECT_GE(limits.max_cq, effort(4096, 1024));
    EXPECT_GE(limits.max_mr, effort(65536, 8192));
    if ((card.driver.read64(DINGO_REG_CAPS) & DINGO_CAP_SRQ) != 0) {
        EXPECT_GE(limits.max_srq, 1u);
    }
}

TEST_P(Limits, EveryObjectUpToTheLimitManyTimes) {
    const EngineConfig config = small_config();
    Card card(engine(), config);
    const std::uint64_t errors = card.driver.card_stat(DINGO_CARD_DMA_ERRORS);
    for (std::uint32_t round = 0; round < (kSanitized ? 2u : effort(10, 1)); ++round) {
        const std::uint32_t tag = round * 31 & 0xff;
        for (std::uint32_t i = 0; i < config.max_cq; ++i)
            ASSERT_EQ(card.create_cq(i), DINGO_ST_OK) << i;
        EXPECT_TRUE(refused(card.create_cq(config.max_cq)));
        for (std::uint32_t i = 2; i < config.max_qp + 2; ++i)
            ASSERT_EQ(card.create_qp(i, tag), DINGO_ST_OK) << i;
        EXPECT_TRUE(refused(card.create_qp(config.max_qp + 2, tag)));
        EXPECT_EQ(card.create_qp(2, tag ^ 1), DINGO_ST_IN_USE) << "same index, other tag";
        for (std::uint32_t i = 0; i < config.max_mr; ++i)
            ASSERT_EQ(card.create_mr(i, 0x1200 + tag), DINGO_ST_OK) << i;
        EXPECT_TRUE(refused(card.create_mr(config.max_mr, 0)));
        for (std::uint32_t i = 0; i < config.max_mr; ++i) {
            const std::uint32_t key = i << DINGO_MR_INDEX_SHIFT | (0x1200 + tag);
            ASSERT_EQ(card.driver.destroy(DINGO_OP_DESTROY_MR, key).status, DINGO_ST_OK);
        }
        for (std::uint32_t i = 2; i < config.max_qp + 2; ++i)
            ASSERT_EQ(card.driver.destroy(DINGO_OP_DESTROY_QP, tag << 16 | i).status, DINGO_ST_OK);
        for (std::uint32_t i = 0; i < config.max_cq; ++i)
            ASSERT_EQ(card.driver.destroy(DINGO_OP_DESTROY_CQ, i).status, DINGO_ST_OK);
    }
    EXPECT_EQ(card.driver.card_stat(DINGO_CARD_DMA_ERRORS), errors);
}

TEST_P(Limits, OneQpCreatedAndDestroyedAThousandTimes) {
    Card card(engine(), {});
    ASSERT_EQ(card.create_cq(0), DINGO_ST_OK);
    for (std::uint32_t i = 0; i < 1000; ++i) {
        ASSERT_EQ(card.create_qp(2, i & 0xff), DINGO_ST_OK);
        ASSERT_EQ(card.driver.destroy(DINGO_OP_DESTROY_QP, (i & 0xff) << 16 | 2).status,
                  DINGO_ST_OK);
    }
    EXPECT_EQ(card.driver.destroy(DINGO_OP_DESTROY_CQ, 0).status, DINGO_ST_OK);
}

TEST_P(Limits, FourThousandConnectionsCarryTraffic) {
    const unsigned count = kSanitized ? 256 : effort(4096, 1000);
    Pair pair(engine());
    std::vector<test::TwoCards::Connection> links;
    test::TwoCards::ConnectOptions options;
    options.qp.log_sq = 2;
    options.qp.log_rq = 0;
    options.qp.log_stride = 5;
    options.log_cq = 2;
    for (unsigned i = 0; i < count; ++i)
        links.push_back(pair.cards.connect(options));
    pair.fill(0, 0, 1u << 20, 1);
    for (unsigned i = 0; i < count; ++i)
        pair.driver(0).post_send(links[i].qp[0], pair.write(i * 200, i * 200, 200));
    for (unsigned i = 0; i < count; ++i)
        ASSERT_EQ(pair.cards.wait_cq(0, links[i].cq[0]).status, DINGO_WCS_SUCCESS) << i;
    EXPECT_TRUE(pair.same(0, 0, count * 200));
    EXPECT_EQ(pair.stat(0, DINGO_CARD_RETRANSMITS), 0u);
}

}  // namespace dingo::conformance
