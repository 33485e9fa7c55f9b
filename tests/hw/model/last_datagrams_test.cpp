// SPDX-License-Identifier: BSD-2-Clause
//
// A UD QP that is destroyed right after the last doorbell: the posted datagrams are still sent.
#include <gtest/gtest.h>

#include "two_cards.h"

namespace dingo::test {
namespace {

constexpr std::uint32_t kQkey = 0x11111111;

struct Ud {
    Ud() {
        for (unsigned i = 0; i < 2; ++i) {
            TestDriver& d = cards.driver(i);
            mr[i] = d.create_mr(1u << 16, DINGO_ACC_LOCAL_WRITE);
            cq[i] = d.create_cq();
            QpOptions options;
            options.kind = DINGO_QPT_UD;
            options.log_sq = 8;
            options.log_rq = 7;
            qp[i] = d.create_qp(cq[i], cq[i], options);
            TestDriver::PathOptions path;
            path.qkey = kQkey;
            d.bring_up(qp[i], path);
        }
    }
    void post(unsigned count) {
        for (unsigned n = 0; n < count; ++n) {
            cards.driver(1).post_recv(qp[1], n, {mr[1].sge(0, 4096)});
            SendWr wr;
            wr.sges = {mr[0].sge(0, 64)};
            wr.ud = cards.ud_to(1, qp[1].qpn, kQkey, 0);
            cards.driver(0).post_send(qp[0], wr);
        }
    }
    unsigned received() {
        cards.settle();
        unsigned count = 0;
        while (cards.driver(1).poll_cq(cq[1]))
            ++count;
        return count;
    }

    TwoCards cards;
    std::array<Mr, 2> mr;
    std::array<Cq, 2> cq;
    std::array<TestQp, 2> qp;
};

TEST(LastDatagrams, LeaveBeforeTheQpGoes) {
    Ud u;
    u.post(50);
    EXPECT_EQ(u.cards.driver(0).destroy(DINGO_OP_DESTROY_QP, u.qp[0].qpn).status, DINGO_ST_OK);
    EXPECT_EQ(u.received(), 50u);
}

TEST(LastDatagrams, LeaveWhenTheWireWasFullBefore) {
    Ud u;
    u.cards.card(0).wire.busy = true;
    u.post(5);
    u.cards.card(0).settle();
    u.cards.card(0).wire.busy = false;
    EXPECT_EQ(u.cards.driver(0).destroy(DINGO_OP_DESTROY_QP, u.qp[0].qpn).status, DINGO_ST_OK);
    EXPECT_EQ(u.received(), 5u);
}

TEST(LastDatagrams, AreLostWhenTheWireTakesNone) {
    Ud u;
    u.post(5);
    u.cards.card(0).wire.busy = true;
    EXPECT_EQ(u.cards.driver(0).destroy(DINGO_OP_DESTROY_QP, u.qp[0].qpn).status, DINGO_ST_OK);
    u.cards.card(0).wire.busy = false;
    EXPECT_EQ(u.received(), 0u);
}

}  // namespace
}  // namespace dingo::test
