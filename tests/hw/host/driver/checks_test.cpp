// SPDX-License-Identifier: BSD-2-Clause
// What the driver rejects without asking the card, and the card's state of objects, as tables.
#include <rdma/ib_user_ioctl_verbs.h>

#include <functional>

#include "two_cards.h"

namespace dingo::uverbs::test {
namespace {

using ChecksTest = TwoCards;

std::uint64_t refused_by_card(Host& host) {
    for (const auto& [name, value] : host.driver.card_counters()) {
        if (name == "admin_errors") {
            return value;
        }
    }
    return ~std::uint64_t{0};
}

struct Maker {
    explicit Maker(Client& c) : client(c) {}
    int qp(std::uint8_t type, const dingo_create_qp_req& req, Srq* srq = nullptr) {
        QpInit init;
        init.type = type;
        init.cap = srq != nullptr ? QpCap{16, 0, 1, 0, 0} : QpCap{16, 16, 1, 1, 0};
        init.send_cq = init.recv_cq = client.cq.get();
        init.srq = srq;
        Udata udata{bytes_of(req), {}, {}};
        return errno_of([&] {
            const Qp qp(client.host.driver, *client.context, *client.pd, init, client.listener,
                        udata);
        });
    }
    std::unique_ptr<Srq> make_srq(std::uint32_t wr = 16, std::uint32_t sge = 1,
                                  dingo_create_srq_req req = {0, 4, 5, 0}) {
        Udata udata{bytes_of(req), {}, {}};
        auto srq = std::make_unique<Srq>(client.host.driver, *client.context, *client.pd, wr, sge,
                                         client.listener, udata);
        srq_resp = response_of<dingo_create_srq_resp>(udata);
        return srq;
    }
    int cq(std::uint32_t flags, dingo_create_cq_req req = {}) {
        Udata udata{bytes_of(req), {}, {}};
        return errno_of([&] {
            const Cq cq(client.host.driver, *client.context, 10, 0, flags, client.listener, udata);
        });
    }
    Client& client;
    dingo_create_srq_resp srq_resp{};
};

constexpr dingo_create_qp_req kQpRequest{0, 4, 4, 5, 0};
constexpr std::uint8_t kRc = 2, kUc = 3, kUd = 4;

TEST(CardWithout, WhatACardLacksIsRefusedBeforeItIsAsked) {
    struct Row {
        std::uint64_t cap;
        const char* what;
        std::function<int(Client&)> fn;
    };
    Udata none;
    const std::vector<Row> rows{
        {DINGO_CAP_SRQ, "SRQ", [](Client& c) { return errno_of([&] { Maker(c).make_srq(); }); }},
        {DINGO_CAP_RC, "RC", [](Client& c) { return Maker(c).qp(kRc, kQpRequest); }},
        {DINGO_CAP_DB_WATCH, "watched doorbells",
         [](Client& c) {
             return Maker(c).qp(kRc, {DINGO_CREATE_WATCHED, 4, 4, 5, 0});
         }},
        {DINGO_CAP_UC, "UC", [](Client& c) { return Maker(c).qp(kUc, kQpRequest); }},
        {DINGO_CAP_UD, "UD", [](Client& c) { return Maker(c).qp(kUd, kQpRequest); }},
        {DINGO_CAP_TIMESTAMP, "time stamps",
         [](Client& c) { return Maker(c).cq(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION); }},
        {DINGO_CAP_RESIZE_CQ, "resize",
         [&](Client& c) { return errno_of([&] { c.cq->resize(20, none); }); }},
        {DINGO_CAP_CQ_MODERATION, "moderation",
         [](Client& c) { return errno_of([&] { c.cq->moderate(4, 4); }); }},
        {DINGO_CAP_MW, "windows",
         [&](Client& c) { return errno_of([&] { Mw(c.host.driver, *c.pd, 1, none); }); }},
        {DINGO_CAP_MW, "rights to windows",
         [&](Client& c) {
             return errno_of([&] {
                 Mr(c.host.driver, *c.pd, {nullptr, 4096, 4096, 4096, {}}, 0x10, none);
             });
         }},
        {DINGO_CAP_REREG_MR, "reregistration",
         [&](Client& c) {
             Mr mr(c.host.driver, *c.pd, {nullptr, 4096, 4096, 4096, {}}, 0, none);
             return errno_of([&] { mr.rereg(4, nullptr, nullptr, 0); });
         }},
    };
    for (const Row& row : rows) {
        auto wires = make_loop_pair();
        Host host(*wires.first, 0x02'44'49'00'00'0A, {"10.77.0.1/24"}, row.cap);
        Client client(host);
        const std::uint64_t before = refused_by_card(host);
        EXPECT_EQ(row.fn(client), EOPNOTSUPP) << row.what;
        EXPECT_EQ(refused_by_card(host), before) << row.what;
    }
    auto wires = make_loop_pair();
    Host host(*wires.first, 0x02'44'49'00'00'0A, {"10.77.0.1/24"});
    Client client(host);
    for (const Row& row : rows) {
        EXPECT_EQ(row.fn(client), 0) << row.what << " of a card that has it";
    }
}

TEST_F(ChecksTest, SizesOfQueuePairs) {
    Client c(*a);
    Maker make(c);
    const auto srq = make.make_srq();
    const std::uint64_t before = refused_by_card(*a);
    struct Row {
        dingo_create_qp_req req;
        int own, shared;  ///< errno with the QP's own receive queue, and with a shared one
    };
    const Row rows[] = {
        {{0, 4, 4, 5, 0}, 0, EINVAL},
        {{0, 4, 0, 0, 0}, EINVAL, 0},
        {{0, 4, 1, 0, 0}, EINVAL, EINVAL},
        {{0, 4, 0, 5, 0}, EINVAL, EINVAL},
        {{0, 3, 4, 5, 0}, EINVAL, EINVAL},  // 8 are less than 16
        {{0, 3, 0, 0, 0}, EINVAL, EINVAL},
        {{0, 4, 3, 5, 0}, EINVAL, EINVAL},
        {{0, 4, 4, 4, 0}, EINVAL, EINVAL},
        {{0, 4, 4, 8, 0}, 0, EINVAL},
        {{0, 4, 4, 9, 0}, EINVAL, EINVAL},
        {{0, DINGO_MAX_LOG_SQ + 1, 4, 5, 0}, EINVAL, EINVAL},
        {{0, DINGO_MAX_LOG_SQ + 1, 0, 0, 0}, EINVAL, EINVAL},
        {{0, 4, DINGO_MAX_LOG_RQ + 1, 5, 0}, EINVAL, EINVAL},
        {{DINGO_CREATE_WATCHED, 4, 4, 5, 0}, 0, EINVAL},
        {{DINGO_CREATE_WATCHED << 1, 4, 4, 5, 0}, EOPNOTSUPP, EOPNOTSUPP},
        {{0, 4, 4, 5, 1}, EOPNOTSUPP, EOPNOTSUPP},
    };
    for (const Row& row : rows) {
        const auto text = testing::PrintToString(
            std::vector<unsigned>{row.req.comp_mask, row.req.log_sq, row.req.log_rq,
                                  row.req.log_rq_stride, row.req.reserved});
        EXPECT_EQ(make.qp(kRc, row.req), row.own) << text;
        EXPECT_EQ(make.qp(kRc, row.req, srq.get()), row.shared) << text;
    }
    EXPECT_EQ(refused_by_card(*a), before) << "the card is not asked";
}

TEST_F(ChecksTest, CapabilitiesOfQueuePairs) {
    Client c(*a);
    Maker make(c);
    const auto srq = make.make_srq();
    const dingo_limits& most = a->driver.capabilities().limits();
    const std::uint64_t before = refused_by_card(*a);
    struct Row {
        std::uint8_t type;
        std::uint32_t QpCap::*field;
        std::uint32_t most;
        int shared;  ///< errno for one more if the receive queue is shared
    };
    const Row rows[] = {
        {kRc, &QpCap::max_send_wr, kMaxQpWr, EINVAL},
        {kRc, &QpCap::max_recv_wr, kMaxQpWr, 0},
        {kRc, &QpCap::max_send_sge, most.max_send_sge, EINVAL},
        {kRc, &QpCap::max_recv_sge, most.max_recv_sge, 0},
        {kRc, &QpCap::max_inline_data, std::min<std::uint32_t>(most.max_inline, DINGO_MAX_INLINE),
         EINVAL},
        {kUd, &QpCap::max_inline_data,
         std::min<std::uint32_t>(most.max_inline, DINGO_MAX_INLINE_UD), EINVAL},
    };
    for (const Row& row : rows) {
        const auto with = [&](std::uint32_t value, Srq* shared) {
            QpInit init;
            init.type = row.type;
            init.cap = {16, shared != nullptr ? 0U : 16U, 1, shared != nullptr ? 0U : 1U, 0};
            init.cap.*row.field = value;
            init.send_cq = init.recv_cq = c.cq.get();
            init.srq = shared;
            const auto log = static_cast<std::uint8_t>(shared != nullptr ? 0 : 13);
            const dingo_create_qp_req req{0, 13, log,
                                          static_cast<std::uint8_t>(shared != nullptr ? 0 : 8), 0};
            Udata udata{bytes_of(req), {}, {}};
            return errno_of(
                [&] { const Qp qp(a->driver, *c.context, *c.pd, init, c.listener, udata); });
        };
        EXPECT_EQ(with(row.most, nullptr), 0) << row.most;
        EXPECT_EQ(with(row.most + 1, nullptr), EINVAL) << row.most;
        EXPECT_EQ(with(row.most, srq.get()), 0) << row.most;
        EXPECT_EQ(with(row.most + 1, srq.get()), row.shared) << row.most;
    }
    for (const auto cq : {&QpInit::send_cq, &QpInit::recv_cq}) {
        QpInit init;
        init.type = kRc;
        init.cap = {16, 16, 1, 1, 0};
        init.send_cq = init.recv_cq = c.cq.get();
        init.*cq = nullptr;
        Udata udata{bytes_of(kQpRequest), {}, {}};
        EXPECT_EQ(errno_of([&] { Qp(a->driver, *c.context, *c.pd, init, c.listener, udata); }),
                  EINVAL);
    }
    EXPECT_EQ(refused_by_card(*a), before) << "the card is not asked";
}

TEST_F(ChecksTest, SizesOfCompletionQueues) {
    Client c(*a);
    const std::uint32_t most = a->driver.query_device().max_cqe;
    const std::uint32_t vectors = a->driver.num_comp_vectors();
    struct Row {
        std::uint32_t cqe, vector;
        dingo_create_cq_req req;
        int error;
    };
    const Row rows[] = {
        {1, 0, {}, 0},
        {0, 0, {}, EINVAL},
        {most, 0, {}, 0},
        {most + 1, 0, {}, EINVAL},
        {UINT32_MAX, 0, {}, EINVAL},
        {1, vectors - 1, {}, 0},
        {1, vectors, {}, EINVAL},
        {1, 0, {DINGO_CREATE_WATCHED, 0}, 0},
        {1, 0, {DINGO_CREATE_WATCHED << 1, 0}, EOPNOTSUPP},
        {1, 0, {0, 1}, EOPNOTSUPP},
    };
    const std::uint64_t before = refused_by_card(*a);
    for (const Row& row : rows) {
        Udata udata{bytes_of(row.req), {}, {}};
        EXPECT_EQ(
            errno_of([&] { Cq(a->driver, *c.context, row.cqe, row.vector, 0, c.listener, udata); }),
            row.error)
            << row.cqe << ' ' << row.vector;
        Udata none;
        const int resize = errno_of([&] { c.cq->resize(row.cqe, none); });
        EXPECT_TRUE(resize == row.error || row.cqe == 1) << row.cqe;
    }
    EXPECT_EQ(refused_by_card(*a), before) << "the card is not asked";
    const std::uint64_t more = 1;
    Udata unknown{bytes_of(more), {}, {}};
    EXPECT_EQ(errno_of([&] { c.cq->resize(1, unknown); }), EOPNOTSUPP);
}

TEST_F(ChecksTest, SizesOfSharedReceiveQueues) {
    Client c(*a);
    Maker make(c);
    struct Row {
        std::uint32_t wr, sge;
        dingo_create_srq_req req;
        int error;
    };
    constexpr std::uint32_t kMost = 1U << DINGO_MAX_LOG_RQ;
    const Row rows[] = {
        {16, 1, {0, 4, 5, 0}, 0},
        {16, 1, {1, 4, 5, 0}, EOPNOTSUPP},
        {16, 1, {0, 4, 5, 1}, EOPNOTSUPP},
        {0, 1, {0, 4, 5, 0}, EINVAL},
        {17, 1, {0, 4, 5, 0}, EINVAL},
        {16, 2, {0, 4, 5, 0}, EINVAL},
        {16, DINGO_RQ_MAX_SGE, {0, 4, 8, 0}, 0},
        {16, DINGO_RQ_MAX_SGE + 1, {0, 4, 8, 0}, EINVAL},
        {kMost, 1, {0, DINGO_MAX_LOG_RQ, 5, 0}, 0},
        {kMost + 1, 1, {0, DINGO_MAX_LOG_RQ, 5, 0}, EINVAL},
        {kMost + 1, 1, {0, DINGO_MAX_LOG_RQ + 1, 5, 0}, EINVAL},
        {16, 1, {0, DINGO_MAX_LOG_RQ + 1, 5, 0}, EINVAL},
    };
    const std::uint64_t before = refused_by_card(*a);
    for (const Row& row : rows) {
        EXPECT_EQ(errno_of([&] { make.make_srq(row.wr, row.sge, row.req); }), row.error)
            << row.wr << ' ' << row.sge << ' ' << unsigned{row.req.log_size};
    }
    EXPECT_EQ(refused_by_card(*a), before) << "the card is not asked";
}

TEST_F(ChecksTest, ARingTakesThePagesOfItsEntries) {
    Client c(*a);
    Maker make(c);
    const auto srq = make.make_srq(1024, 3, {0, 10, 6, 0});
    EXPECT_EQ(make.srq_resp.ring.ring_bytes, 1024U * 64);
    EXPECT_EQ(make.srq_resp.ring.log_size, 10);
    EXPECT_EQ(make.srq_resp.ring.log_stride, 6);
    const auto small = make.make_srq();
    EXPECT_EQ(make.srq_resp.ring.ring_bytes, kPageBytes);
    const auto qp = c.make_qp();
    EXPECT_EQ(qp.sq.map.ring_bytes, 64U * 64);
    EXPECT_EQ(qp.rq.map.ring_bytes, kPageBytes);
    Udata udata;
    c.cq->resize(700, udata);
    const auto ring = response_of<dingo_resize_cq_resp>(udata).ring;
    EXPECT_EQ(ring.log_size, 10);
    EXPECT_EQ(ring.ring_bytes, 1024U * 32);
}

// ibv_modify_srq(3): attributes that are not in the mask stay.
TEST_F(ChecksTest, ALimitThatTheMaskDoesNotNameIsNone) {
    Client c(*a);
    Maker make(c);
    const auto srq = make.make_srq();
    const ClientRing ring(*c.context, make.srq_resp.ring);
    ring.ring(DINGO_DB_SRQ, make.srq_resp.srqn, 8);
    c.kick();
    settle();
    Udata none;
    srq->modify(2, 0, 4, none);
    srq->modify(0, 0, 3, none);
    EXPECT_EQ(srq->query().limit, 4U);
    EXPECT_EQ(errno_of([&] { srq->modify(0, 0, 17, none); }), 0);
    const std::uint32_t more = 1;
    Udata unknown{bytes_of(more), {}, {}};
    EXPECT_EQ(errno_of([&] { srq->modify(2, 0, 4, unknown); }), EOPNOTSUPP);
}

// Otherwise its number could not be reused.
TEST_F(ChecksTest, WhatIsGoneIsGoneFromTheCard) {
    Udata none;
    std::vector<std::pair<std::uint16_t, std::uint32_t>> gone;
    {
        Client c(*a);
        Maker make(c);
        const auto srq = make.make_srq();
        const auto qp = c.make_qp();
        const Mr mr(a->driver, *c.pd, {nullptr, 4096, 4096, 4096, {}}, 0, none);
        gone = {{DINGO_OP_DESTROY_QP, qp.qp->number()},
                {DINGO_OP_DESTROY_SRQ, srq->number()},
                {DINGO_OP_DESTROY_CQ, c.cqn},
                {DINGO_OP_DESTROY_MR, mr.key()}};
    }
    for (const auto& [opcode, id] : gone) {
        EXPECT_EQ(errno_of([&, op = opcode, n = id] { a->driver.admin().destroy(op, n); }), ENOENT)
            << "command " << opcode;
    }
}

TEST_F(ChecksTest, QueryTellsWhetherSqdIsReportedAndDrained) {
    Client ca(*a), cb(*b);
    auto qa = ca.make_qp();
    auto qb = cb.make_qp();
    connect(qa, qb);
    EXPECT_FALSE(qa.qp->query().en_sqd_async_notify);
    EXPECT_FALSE(qa.qp->query().sq_draining);
    dingo_sge sge{};
    ca.post_write(qa, sge, 0, 0);  // no bytes: needs no region
    ca.kick();
    a->poll(now);  // no answer yet
    Udata none;
    QpAttr attr;
    attr.qp_state = DINGO_QPS_SQD;
    attr.en_sqd_async_notify = true;
    qa.qp->modify(attr, DINGO_QPM_STATE | DINGO_QPM_EN_SQD_ASYNC_NOTIFY, none);
    EXPECT_EQ(qa.qp->query().qp_state, DINGO_QPS_SQD);
    EXPECT_TRUE(qa.qp->query().en_sqd_async_notify);
    EXPECT_TRUE(qa.qp->query().sq_draining);
    settle();
    EXPECT_FALSE(qa.qp->query().sq_draining);
    EXPECT_EQ(ca.listener.events, std::vector<int>{5}) << "SQ_DRAINED";
}

TEST_F(ChecksTest, TheStateThatIsNamedAsCurrentMustBe) {
    Client ca(*a), cb(*b);
    auto qa = ca.make_qp();
    auto qb = cb.make_qp();
    connect(qa, qb);
    Udata none;
    QpAttr attr;
    const auto modify = [&](std::uint8_t current) {
        attr.qp_state = DINGO_QPS_RTS;
        attr.cur_qp_state = current;
        return errno_of([&] { qa.qp->modify(attr, DINGO_QPM_STATE | DINGO_QPM_CUR_STATE, none); });
    };
    EXPECT_EQ(modify(DINGO_QPS_RTS), 0);
    EXPECT_EQ(modify(DINGO_QPS_RTR), EINVAL);
    EXPECT_EQ(modify(DINGO_QPS_SQD), EINVAL);
}

// The owner may be draining it: the error state must be possible, but no other change.
TEST_F(ChecksTest, AQueuePairOfACardThatFailedGoesToTheErrorStateOnly) {
    Client c(*a);
    auto qp = c.make_qp();
    a->driver.admin().fail();
    Udata none;
    const auto modify = [&](std::uint8_t state, std::uint32_t mask) {
        QpAttr attr;
        attr.qp_state = state;
        attr.port_num = 1;
        return errno_of([&] { qp.qp->modify(attr, mask, none); });
    };
    EXPECT_EQ(modify(DINGO_QPS_ERR, DINGO_QPM_STATE), 0);
    EXPECT_EQ(modify(DINGO_QPS_RESET, DINGO_QPM_STATE), EIO);
    EXPECT_EQ(modify(DINGO_QPS_INIT, DINGO_QPM_STATE | DINGO_QPM_PORT), EIO);
    EXPECT_EQ(modify(DINGO_QPS_ERR, DINGO_QPM_PORT), EIO) << "no state";
}

TEST_F(ChecksTest, AttributesAreCheckedWhereTheMaskNamesThem) {
    Client c(*a);
    auto qp = c.make_qp();
    Udata none;
    struct Row {
        std::uint32_t bit;
        std::function<void(QpAttr&)> bad;
        int error;
    };
    const Row rows[] = {
        {DINGO_QPM_PORT, [](QpAttr& x) { x.port_num = 2; }, EINVAL},
        {DINGO_QPM_PKEY_INDEX, [](QpAttr& x) { x.pkey_index = 1; }, EINVAL},
        {DINGO_QPM_ACCESS, [](QpAttr& x) { x.qp_access_flags = 1U << 10; }, EOPNOTSUPP},
        {DINGO_QPM_PATH_MTU, [](QpAttr& x) { x.path_mtu = 6; }, EINVAL},
        {DINGO_QPM_PATH_MTU, [](QpAttr& x) { x.path_mtu = 0; }, EINVAL},
        {DINGO_QPM_MAX_RD_ATOMIC, [](QpAttr& x) { x.max_rd_atomic = 255; }, EINVAL},
        {DINGO_QPM_MAX_DEST_RD_ATOMIC, [](QpAttr& x) { x.max_dest_rd_atomic = 255; }, EINVAL},
        {DINGO_QPM_TIMEOUT, [](QpAttr& x) { x.timeout = 32; }, EINVAL},
        {DINGO_QPM_RETRY_CNT, [](QpAttr& x) { x.retry_cnt = 8; }, EINVAL},
        {DINGO_QPM_RNR_RETRY, [](QpAttr& x) { x.rnr_retry = 8; }, EINVAL},
        {DINGO_QPM_MIN_RNR_TIMER, [](QpAttr& x) { x.min_rnr_timer = 32; }, EINVAL},
        {1U << 14, [](QpAttr&) {}, EOPNOTSUPP},  // an alternate path
        {1U << 18, [](QpAttr&) {}, EOPNOTSUPP},  // IBV_QP_PATH_MIG_STATE
        {1U << 21, [](QpAttr&) {}, EOPNOTSUPP},  // unknown
        {1U << 25, [](QpAttr&) {}, EOPNOTSUPP},  // IBV_QP_RATE_LIMIT
    };
    const std::uint64_t before = refused_by_card(*a);
    for (const Row& row : rows) {
        QpAttr attr;
        attr.port_num = 1;
        attr.path_mtu = 3;
        row.bad(attr);
        EXPECT_EQ(errno_of([&] { qp.qp->modify(attr, row.bit, none); }), row.error) << row.bit;
    }
    EXPECT_EQ(refused_by_card(*a), before) << "the card is not asked";
}

}  // namespace
}  // namespace dingo::uverbs::test
