// SPDX-License-Identifier: BSD-2-Clause
//
// MODIFY_QP through the admin queue: every value, and the offset reported for a wrong one; a
// refused command changes nothing. Pairs of states: tests/conformance/modify_qp_test.cpp.
#include <gtest/gtest.h>

#include "two_cards.h"

namespace dingo::test {
namespace {

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
    /// Returns a QP in one of the states RESET to RTS.
    TestQp qp_in(int state) {
        QpOptions options;
        options.kind = static_cast<std::uint8_t>(GetParam());
        TestQp qp = d().create_qp(cq, cq, options);
        const auto path = cards.path_to(1, 0x55);
        if (state >= DINGO_QPS_INIT)
            d().to_init(qp, path);
        if (state >= DINGO_QPS_RTR)
            d().to_rtr(qp, path);
        if (state >= DINGO_QPS_RTS)
            d().to_rts(qp, path);
        return qp;
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

TEST_P(Transitions, WithoutStateTheStateStays) {
    auto qp = qp_in(DINGO_QPS_RTS);
    const std::uint32_t bit = qp.datagram() ? DINGO_QPM_QKEY : DINGO_QPM_ACCESS;
    auto cmd = good(qp, bit, 0, DINGO_QPS_ERR);  // next_state is ignored
    cmd.attr.qkey = 0x77;
    cmd.attr.access = DINGO_ACC_REMOTE_READ;
    EXPECT_EQ(d().execute(DINGO_OP_MODIFY_QP, cmd).status, DINGO_ST_OK + 0u);
    const auto info = d().query_qp(qp.qpn);
    EXPECT_EQ(info.state, DINGO_QPS_RTS);
    EXPECT_EQ(qp.datagram() ? info.attr.qkey : info.attr.access,
              qp.datagram() ? 0x77u : DINGO_ACC_REMOTE_READ + 0u);
}

TEST_P(Transitions, CurStateMustBeTheStateThatItIs) {
    auto qp = qp_in(DINGO_QPS_RTS);
    const std::uint32_t mask = DINGO_QPM_STATE | DINGO_QPM_CUR_STATE;
    expect_refused(qp, good(qp, mask, DINGO_QPS_SQD, DINGO_QPS_RTS), DINGO_ST_BAD_STATE);
    expect_refused(qp, good(qp, mask, DINGO_QPS_INIT, DINGO_QPS_RTS), DINGO_ST_BAD_FIELD, 16);
    EXPECT_EQ(d().execute(DINGO_OP_MODIFY_QP, good(qp, mask, DINGO_QPS_RTS, DINGO_QPS_RTS)).status,
              DINGO_ST_OK + 0u);
}

TEST_P(Transitions, ResetForgetsAllAttributes) {
    auto qp = qp_in(DINGO_QPS_RTS);
    d().to_state(qp, DINGO_QPS_RESET);
    const auto info = d().query_qp(qp.qpn);
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
    const std::uint32_t to_rtr = DINGO_QPM_STATE | DINGO_QPM_AV | DINGO_QPM_PATH_MTU |
                                 DINGO_QPM_DEST_QPN | DINGO_QPM_RQ_PSN |
                                 DINGO_QPM_MAX_DEST_RD_ATOMIC | DINGO_QPM_MIN_RNR_TIMER |
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
    bad(init, to_rtr, rtr, offsetof(A, rq_psn), 4, 1u << 24);
    bad(init, to_rtr, rtr, offsetof(A, dest_qpn), 4, 1u << 24);
    bad(init, to_rtr, rtr, offsetof(A, access), 4, 0x20);
    bad(init, to_rtr, rtr, offsetof(A, path_mtu), 1, 0);
    bad(init, to_rtr, rtr, offsetof(A, path_mtu), 1, 6);
    bad(init, to_rtr, rtr, offsetof(A, max_dest_rd_atomic), 1,
        d().query_limits().max_dest_rd_atomic + 1u);
    bad(init, to_rtr, rtr, offsetof(A, min_rnr_timer), 1, 32);
    bad(init, to_rtr, rtr, offsetof(A, pkey_index), 2, 1);
    bad(init, to_rtr, rtr, offsetof(A, rsvd0), 1, 1);
    bad(init, to_rtr, rtr, offsetof(A, sgid_index), 2, 77);    // not valid
    bad(init, to_rtr, rtr, offsetof(A, sgid_index), 2, 9999);  // beyond the table
    bad(init, to_rtr, rtr, offsetof(A, sgid_index), 2, 1,
        24 + offsetof(A, dgid));                      // IPv6 source, IPv4 destination
    bad(init, to_rtr, rtr, offsetof(A, dmac), 1, 1);  // a group
    bad(init, to_rtr, rtr, offsetof(A, flow_label), 4, 1u << 20);
    bad(init, to_rtr, rtr, offsetof(A, udp_sport), 2, 0xBFFF);
    bad(init, to_rtr, rtr, offsetof(A, sl), 1, 16);
    for (std::size_t i = 0; i < 15; ++i) {
        bad(init, to_rtr, rtr, offsetof(A, rsvd1) + i, 1, 1, 24 + offsetof(A, rsvd1));
    }
    auto ready = qp_in(DINGO_QPS_RTR);
    const std::uint32_t to_rts = DINGO_QPM_STATE | DINGO_QPM_SQ_PSN | DINGO_QPM_TIMEOUT |
                                 DINGO_QPM_RETRY_CNT | DINGO_QPM_RNR_RETRY |
                                 DINGO_QPM_MAX_RD_ATOMIC;
    bad(ready, to_rts, DINGO_QPS_RTS, offsetof(A, sq_psn), 4, 0xFFFF'FFFF);
    bad(ready, to_rts, DINGO_QPS_RTS, offsetof(A, timeout), 1, 32);
    bad(ready, to_rts, DINGO_QPS_RTS, offsetof(A, retry_cnt), 1, 8);
    bad(ready, to_rts, DINGO_QPS_RTS, offsetof(A, rnr_retry), 1, 8);
    bad(ready, to_rts, DINGO_QPS_RTS, offsetof(A, max_rd_atomic), 1,
        d().query_limits().max_rd_atomic + 1u);
    auto fresh = qp_in(DINGO_QPS_RESET);
    const std::uint32_t to_init =
        DINGO_QPM_STATE | DINGO_QPM_PKEY_INDEX | DINGO_QPM_PORT | DINGO_QPM_ACCESS;
    bad(fresh, to_init, DINGO_QPS_INIT, offsetof(A, port), 1, 0);
    bad(fresh, to_init, DINGO_QPS_INIT, offsetof(A, port), 1, 2);

    auto cmd = good(fresh, 1u << 14, 0, 0);  // no such attribute
    expect_refused(fresh, cmd, DINGO_ST_BAD_FIELD, 12);
    cmd = good(fresh, DINGO_QPM_STATE, 0, 7);
    expect_refused(fresh, cmd, DINGO_ST_BAD_FIELD, 17);
    cmd = good(fresh, to_init, 0, DINGO_QPS_INIT);
    cmd.rsvd[5] = 1;
    expect_refused(fresh, cmd, DINGO_ST_BAD_FIELD, 18);
}

INSTANTIATE_TEST_SUITE_P(Rc, ModifyValues, testing::Values(DINGO_QPT_RC));

}  // namespace
}  // namespace dingo::test
