// SPDX-License-Identifier: BSD-2-Clause
//
// MODIFY_QP through the admin queue: every pair of states, every missing and every extra
// attribute, every value; a refused command changes nothing.
#include <gtest/gtest.h>

#include <map>

#include "two_cards.h"

namespace dingo::test {
namespace {

constexpr std::uint32_t kEveryBit[] = {DINGO_QPM_CUR_STATE,
                                       DINGO_QPM_EN_SQD_ASYNC_NOTIFY,
                                       DINGO_QPM_ACCESS,
                                       DINGO_QPM_PKEY_INDEX,
                                       DINGO_QPM_PORT,
                                       DINGO_QPM_QKEY,
                                       DINGO_QPM_AV,
                                       DINGO_QPM_PATH_MTU,
                                       DINGO_QPM_TIMEOUT,
                                       DINGO_QPM_RETRY_CNT,
                                       DINGO_QPM_RNR_RETRY,
                                       DINGO_QPM_RQ_PSN,
                                       DINGO_QPM_MAX_RD_ATOMIC,
                                       DINGO_QPM_MIN_RNR_TIMER,
                                       DINGO_QPM_SQ_PSN,
                                       DINGO_QPM_MAX_DEST_RD_ATOMIC,
                                       DINGO_QPM_DEST_QPN};

struct Rule {
    std::uint32_t required;
    std::uint32_t optional;
};
using Table = std::map<std::pair<int, int>, Rule>;

/// The table of ib_modify_qp_is_ok(), written down a second time, entry by entry.
Table expected_table(int kind) {
    enum { R, I, T, S, D, E, X };  // RESET INIT RTR RTS SQD SQE ERR
    constexpr std::uint32_t pkey = DINGO_QPM_PKEY_INDEX, port = DINGO_QPM_PORT,
                            qkey = DINGO_QPM_QKEY, acc = DINGO_QPM_ACCESS, av = DINGO_QPM_AV,
                            mtu = DINGO_QPM_PATH_MTU, dest = DINGO_QPM_DEST_QPN,
                            rqpsn = DINGO_QPM_RQ_PSN, sqpsn = DINGO_QPM_SQ_PSN,
                            cur = DINGO_QPM_CUR_STATE, rnrt = DINGO_QPM_MIN_RNR_TIMER,
                            mdra = DINGO_QPM_MAX_DEST_RD_ATOMIC, mra = DINGO_QPM_MAX_RD_ATOMIC,
                            tmo = DINGO_QPM_TIMEOUT, rty = DINGO_QPM_RETRY_CNT,
                            rnr = DINGO_QPM_RNR_RETRY, note = DINGO_QPM_EN_SQD_ASYNC_NOTIFY;
    Table t;
    for (int from = R; from <= X; ++from) {
        t[{from, R}] = {0, 0};
        if (from != R) {
            t[{from, X}] = {0, 0};
        }
    }
    t[{S, D}] = {0, note};
    switch (kind) {
        case DINGO_QPT_RC:
            t[{R, I}] = {pkey | port | acc, 0};
            t[{I, I}] = {0, pkey | port | acc};
            t[{I, T}] = {av | mtu | dest | rqpsn | mdra | rnrt, acc | pkey};
            t[{T, S}] = {tmo | rty | rnr | sqpsn | mra, cur | acc | rnrt};
            t[{S, S}] = {0, cur | acc | rnrt};
            t[{D, S}] = {0, cur | acc | rnrt};
            t[{D, D}] = {0, port | av | tmo | rty | rnr | mra | mdra | acc | pkey | rnrt};
            break;
        case DINGO_QPT_UC:
            t[{R, I}] = {pkey | port | acc, 0};
            t[{I, I}] = {0, pkey | port | acc};
            t[{I, T}] = {av | mtu | dest | rqpsn, acc | pkey};
            t[{T, S}] = {sqpsn, cur | acc};
            t[{S, S}] = {0, cur | acc};
            t[{D, S}] = {0, cur | acc};
            t[{D, D}] = {0, av | acc | pkey};
            t[{E, S}] = {0, cur | acc};
            break;
        default: {
            const std::uint32_t p = kind == DINGO_QPT_UD ? port : 0;
            t[{R, I}] = {pkey | p | qkey, 0};
            t[{I, I}] = {0, pkey | p | qkey};
            t[{I, T}] = {0, pkey | qkey};
            t[{T, S}] = {sqpsn, cur | qkey};
            t[{S, S}] = {0, cur | qkey};
            t[{D, S}] = {0, cur | qkey};
            t[{D, D}] = {0, pkey | qkey};
            t[{E, S}] = {0, cur | qkey};
            break;
        }
    }
    return t;
}

class Transitions : public testing::TestWithParam<int> {
  protected:
    Transitions() : cq(d().create_cq(4)) {}

    TestDriver& d() { return cards.driver(0); }
    /// A command whose attributes are all valid.
    dingo_cmd_modify_qp good(const TestQp& qp, std::uint32_t mask, int cur, int next) {
        const auto path = cards.path_to(1, 0x55);
        dingo_cmd_modify_qp cmd{};
        cmd.qpn = qp.qpn;
        cmd.mask = mask;
        cmd.cur_state = static_cast<std::uint8_t>(cur);
        cmd.next_state = static_cast<std::uint8_t>(next);
        dingo_qp_attr& a = cmd.attr;
        a.qkey = 0x1234;
        a.rq_psn = 0xABCDEF;
        a.sq_psn = 0x123456;
        a.dest_qpn = 0x55;
        a.access = DINGO_ACC_REMOTE_WRITE;
        a.path_mtu = 2;
        a.max_rd_atomic = 3;
        a.max_dest_rd_atomic = 4;
        a.min_rnr_timer = 5;
        a.timeout = 6;
        a.retry_cnt = 7;
        a.rnr_retry = 1;
        a.port = 1;
        std::ranges::copy(path.dgid, a.dgid);
        std::ranges::copy(path.dmac, a.dmac);
        a.udp_sport = 0xC001;
        a.hop_limit = 9;
        return cmd;
    }
    /// A QP in `state`, or nothing for SQE, which no command reaches.
    std::optional<TestQp> qp_in(int state) {
        if (state == DINGO_QPS_SQE) {
            return std::nullopt;
        }
        QpOptions options;
        options.kind = static_cast<std::uint8_t>(GetParam());
        TestQp qp = d().create_qp(cq, cq, options);
        const Table table = expected_table(GetParam());
        int now = DINGO_QPS_RESET;
        const auto go = [&](int next) {
            d().execute_ok(DINGO_OP_MODIFY_QP,
                           good(qp, DINGO_QPM_STATE | table.at({now, next}).required, now, next));
            now = next;
        };
        if (state == DINGO_QPS_ERR) {
            go(DINGO_QPS_INIT);
            go(DINGO_QPS_ERR);
            return qp;
        }
        while (now != state) {
            go(now + 1);
        }
        return qp;
    }
    void drop(const TestQp& qp) {
        ASSERT_EQ(d().destroy(DINGO_OP_DESTROY_QP, qp.qpn).status, DINGO_ST_OK + 0u);
    }
    void expect_refused(const TestQp& qp, const dingo_cmd_modify_qp& cmd, std::uint32_t status,
                        std::optional<std::uint32_t> detail = std::nullopt) {
        const auto before = d().query_qp(qp.qpn);
        const auto completion = d().execute(DINGO_OP_MODIFY_QP, cmd);
        EXPECT_EQ(completion.status, status) << "mask " << std::hex << cmd.mask;
        if (detail) {
            EXPECT_EQ(completion.detail, *detail) << "mask " << std::hex << cmd.mask;
        }
        const auto after = d().query_qp(qp.qpn);
        EXPECT_EQ(std::memcmp(&before, &after, sizeof after), 0) << "something has changed";
    }

    TwoCards cards;
    Cq cq;
};

TEST_P(Transitions, EveryPairOfStatesWithEveryMissingAndEveryExtraAttribute) {
    const Table table = expected_table(GetParam());
    for (int from = DINGO_QPS_RESET; from <= DINGO_QPS_ERR; ++from) {
        for (int to = DINGO_QPS_RESET; to <= DINGO_QPS_ERR; ++to) {
            SCOPED_TRACE(std::to_string(from) + " to " + std::to_string(to));
            auto qp = qp_in(from);
            if (!qp) {
                continue;
            }
            const auto rule = table.find({from, to});
            if (rule == table.end()) {
                expect_refused(*qp, good(*qp, DINGO_QPM_STATE, from, to), DINGO_ST_BAD_STATE);
                drop(*qp);
                continue;
            }
            const auto [required, optional] = rule->second;
            for (const std::uint32_t bit : kEveryBit) {
                const std::uint32_t all = DINGO_QPM_STATE | required;
                if ((required & bit) != 0) {
                    expect_refused(*qp, good(*qp, all & ~bit, from, to), DINGO_ST_BAD_FIELD, 12);
                } else if ((optional & bit) == 0) {
                    const bool cur_refused = bit == DINGO_QPM_CUR_STATE &&
                                             (from < DINGO_QPS_RTR || from == DINGO_QPS_ERR);
                    expect_refused(*qp, good(*qp, all | bit, from, to), DINGO_ST_BAD_FIELD,
                                   cur_refused ? 16 : 12);
                }
            }
            const auto cmd = good(*qp, DINGO_QPM_STATE | required | optional, from, to);
            EXPECT_EQ(d().execute(DINGO_OP_MODIFY_QP, cmd).status, DINGO_ST_OK + 0u);
            EXPECT_EQ(d().query_qp(qp->qpn).state, to);
            drop(*qp);
        }
    }
}

TEST_P(Transitions, WithoutStateTheStateStays) {
    auto qp = qp_in(DINGO_QPS_RTS);
    const std::uint32_t bit = qp->datagram() ? DINGO_QPM_QKEY : DINGO_QPM_ACCESS;
    auto cmd = good(*qp, bit, 0, DINGO_QPS_ERR);  // next_state is ignored
    cmd.attr.qkey = 0x77;
    cmd.attr.access = DINGO_ACC_REMOTE_READ;
    EXPECT_EQ(d().execute(DINGO_OP_MODIFY_QP, cmd).status, DINGO_ST_OK + 0u);
    const auto info = d().query_qp(qp->qpn);
    EXPECT_EQ(info.state, DINGO_QPS_RTS);
    EXPECT_EQ(qp->datagram() ? info.attr.qkey : info.attr.access,
              qp->datagram() ? 0x77u : DINGO_ACC_REMOTE_READ + 0u);
}

TEST_P(Transitions, CurStateMustBeTheStateThatItIs) {
    auto qp = qp_in(DINGO_QPS_RTS);
    const std::uint32_t mask = DINGO_QPM_STATE | DINGO_QPM_CUR_STATE;
    expect_refused(*qp, good(*qp, mask, DINGO_QPS_SQD, DINGO_QPS_RTS), DINGO_ST_BAD_STATE);
    expect_refused(*qp, good(*qp, mask, DINGO_QPS_INIT, DINGO_QPS_RTS), DINGO_ST_BAD_FIELD, 16);
    EXPECT_EQ(d().execute(DINGO_OP_MODIFY_QP, good(*qp, mask, DINGO_QPS_RTS, DINGO_QPS_RTS)).status,
              DINGO_ST_OK + 0u);
}

TEST_P(Transitions, ResetForgetsAllAttributes) {
    auto qp = qp_in(DINGO_QPS_RTS);
    d().to_state(*qp, DINGO_QPS_RESET);
    const auto info = d().query_qp(qp->qpn);
    const dingo_qp_attr zero{};
    EXPECT_EQ(std::memcmp(&info.attr, &zero, sizeof zero), 0);
    EXPECT_EQ(info.state, DINGO_QPS_RESET);
}

std::string type_name(const testing::TestParamInfo<int>& info) {
    constexpr const char* kNames[] = {"", "Gsi", "Rc", "Uc", "Ud"};
    return kNames[info.param];
}

INSTANTIATE_TEST_SUITE_P(Types, Transitions,
                         testing::Values(DINGO_QPT_RC, DINGO_QPT_UC, DINGO_QPT_UD, DINGO_QPT_GSI),
                         type_name);

class ModifyValues : public Transitions {};

TEST_P(ModifyValues, EachWrongValueIsNamedAndChangesNothing) {
    auto init = qp_in(DINGO_QPS_INIT);
    const Table table = expected_table(DINGO_QPT_RC);
    const std::uint32_t to_rtr = DINGO_QPM_STATE |
                                 table.at({DINGO_QPS_INIT, DINGO_QPS_RTR}).required |
                                 DINGO_QPM_ACCESS | DINGO_QPM_PKEY_INDEX;
    const auto bad = [&](const TestQp& qp, std::uint32_t mask, int to, std::size_t offset,
                         std::size_t size, std::uint64_t value,
                         std::optional<std::uint32_t> detail = std::nullopt) {
        auto cmd = good(qp, mask, 0, to);
        std::memcpy(reinterpret_cast<std::byte*>(&cmd) + 24 + offset, &value, size);
        expect_refused(qp, cmd, DINGO_ST_BAD_FIELD,
                       detail.value_or(static_cast<std::uint32_t>(24 + offset)));
    };
    using A = dingo_qp_attr;
    const int rtr = DINGO_QPS_RTR;
    bad(*init, to_rtr, rtr, offsetof(A, rq_psn), 4, 1u << 24);
    bad(*init, to_rtr, rtr, offsetof(A, dest_qpn), 4, 1u << 24);
    bad(*init, to_rtr, rtr, offsetof(A, access), 4, 0x20);
    bad(*init, to_rtr, rtr, offsetof(A, path_mtu), 1, 0);
    bad(*init, to_rtr, rtr, offsetof(A, path_mtu), 1, 6);
    bad(*init, to_rtr, rtr, offsetof(A, max_dest_rd_atomic), 1,
        d().query_limits().max_dest_rd_atomic + 1u);
    bad(*init, to_rtr, rtr, offsetof(A, min_rnr_timer), 1, 32);
    bad(*init, to_rtr, rtr, offsetof(A, pkey_index), 2, 1);
    bad(*init, to_rtr, rtr, offsetof(A, rsvd0), 1, 1);
    bad(*init, to_rtr, rtr, offsetof(A, sgid_index), 2, 77);    // not valid
    bad(*init, to_rtr, rtr, offsetof(A, sgid_index), 2, 9999);  // not there
    bad(*init, to_rtr, rtr, offsetof(A, sgid_index), 2, 1,
        24 + offsetof(A, dgid));                       // IPv6 source, IPv4 destination
    bad(*init, to_rtr, rtr, offsetof(A, dmac), 1, 1);  // a group
    bad(*init, to_rtr, rtr, offsetof(A, flow_label), 4, 1u << 20);
    bad(*init, to_rtr, rtr, offsetof(A, udp_sport), 2, 0xBFFF);
    bad(*init, to_rtr, rtr, offsetof(A, sl), 1, 16);
    for (std::size_t i = 0; i < 15; ++i) {
        bad(*init, to_rtr, rtr, offsetof(A, rsvd1) + i, 1, 1, 24 + offsetof(A, rsvd1));
    }
    auto ready = qp_in(DINGO_QPS_RTR);
    const std::uint32_t to_rts =
        DINGO_QPM_STATE | table.at({DINGO_QPS_RTR, DINGO_QPS_RTS}).required;
    bad(*ready, to_rts, DINGO_QPS_RTS, offsetof(A, sq_psn), 4, 0xFFFF'FFFF);
    bad(*ready, to_rts, DINGO_QPS_RTS, offsetof(A, timeout), 1, 32);
    bad(*ready, to_rts, DINGO_QPS_RTS, offsetof(A, retry_cnt), 1, 8);
    bad(*ready, to_rts, DINGO_QPS_RTS, offsetof(A, rnr_retry), 1, 8);
    bad(*ready, to_rts, DINGO_QPS_RTS, offsetof(A, max_rd_atomic), 1,
        d().query_limits().max_rd_atomic + 1u);
    auto fresh = qp_in(DINGO_QPS_RESET);
    const std::uint32_t to_init =
        DINGO_QPM_STATE | table.at({DINGO_QPS_RESET, DINGO_QPS_INIT}).required;
    bad(*fresh, to_init, DINGO_QPS_INIT, offsetof(A, port), 1, 0);
    bad(*fresh, to_init, DINGO_QPS_INIT, offsetof(A, port), 1, 2);

    auto cmd = good(*fresh, 1u << 14, 0, 0);  // no such attribute
    expect_refused(*fresh, cmd, DINGO_ST_BAD_FIELD, 12);
    cmd = good(*fresh, DINGO_QPM_STATE, 0, 7);
    expect_refused(*fresh, cmd, DINGO_ST_BAD_FIELD, 17);
    cmd = good(*fresh, to_init, 0, DINGO_QPS_INIT);
    cmd.rsvd[5] = 1;
    expect_refused(*fresh, cmd, DINGO_ST_BAD_FIELD, 18);
}

INSTANTIATE_TEST_SUITE_P(Rc, ModifyValues, testing::Values(DINGO_QPT_RC));

}  // namespace
}  // namespace dingo::test
