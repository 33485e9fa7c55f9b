// SPDX-License-Identifier: BSD-2-Clause
//
// The compute slot through the driver data of MODIFY_QP and QUERY_DEVICE.
#include <cstring>

#include "two_cards.h"

namespace dingo::uverbs::test {
namespace {

using ComputeTest = TwoCards;

TEST_F(ComputeTest, QueryDescribesTheKernels) {
    Udata udata;
    a->driver.query_compute(udata);
    dingo_query_device_resp resp{};
    ASSERT_EQ(udata.out.size(), sizeof resp);
    std::memcpy(&resp, udata.out.data(), sizeof resp);
    ASSERT_EQ(resp.num_kernels, 3u);
    EXPECT_STREQ(reinterpret_cast<const char*>(resp.kernels[DINGO_KERNEL_DLRM].name), "dlrm");
    EXPECT_EQ(resp.kernels[DINGO_KERNEL_DLRM].id, std::uint32_t{DINGO_KERNEL_DLRM});
    EXPECT_EQ(resp.kernels[DINGO_KERNEL_DLRM].smallest_param, 1u);
    EXPECT_EQ(resp.kernels[DINGO_KERNEL_DLRM].largest_param, UINT32_MAX);
    EXPECT_EQ(resp.kernels[DINGO_KERNEL_DLRM].record, 192u);
    const std::uint32_t request = 1;
    udata.in = bytes_of(request);
    EXPECT_EQ(errno_of([&] { a->driver.query_compute(udata); }), EOPNOTSUPP);
}

TEST_F(ComputeTest, WrongRequestsAreRefusedByTheirErrno) {
    Client c(*a);
    auto qp = c.make_qp();
    const auto set = [&](const dingo_modify_qp_req& req, std::uint32_t mask = 0) {
        Udata udata{bytes_of(req), {}, {}};
        return errno_of([&] { qp.qp->modify(QpAttr{}, mask, udata); });
    };
    dingo_modify_qp_req req{};
    req.comp_mask = DINGO_MODIFY_QP_COMPUTE;
    req.kernel = DINGO_KERNEL_DLRM;
    EXPECT_EQ(set(req), EINVAL) << "modulus 0";
    req.param = 8192;
    EXPECT_EQ(set(req), 0);
    Client far(*b);
    auto peer = far.make_qp();
    to_rtr(qp, peer.qp->number(), b->driver.gids().at(1).gid);
    EXPECT_EQ(set(req), 0) << "in a state that no attribute may change";
    EXPECT_EQ(set(req, DINGO_QPM_STATE), EINVAL) << "with an attribute";
    req.reserved = 1;
    EXPECT_EQ(set(req), EOPNOTSUPP);
    for (const std::uint32_t unknown : {4u, DINGO_MODIFY_QP_COMPUTE | DINGO_MODIFY_QP_COMPUTE_RX}) {
        req = {unknown, 0, 0, 0};
        EXPECT_EQ(set(req), EOPNOTSUPP) << unknown;
    }
    req = {DINGO_MODIFY_QP_COMPUTE, 99, 0, 0};
    EXPECT_EQ(set(req), EINVAL) << "unknown kernel";
    const std::uint32_t part = DINGO_MODIFY_QP_COMPUTE;
    Udata cut{bytes_of(part), {}, {}};
    EXPECT_EQ(errno_of([&] { qp.qp->modify(QpAttr{}, 0, cut); }), EINVAL);
}

TEST_F(ComputeTest, TheReceiveSideIsChosenBeforeTheQueuePairReceives) {
    Client c(*a);
    auto qp = c.make_qp();
    const auto set = [&](const dingo_modify_qp_req& req) {
        Udata udata{bytes_of(req), {}, {}};
        return errno_of([&] { qp.qp->modify(QpAttr{}, 0, udata); });
    };
    const dingo_modify_qp_req req{DINGO_MODIFY_QP_COMPUTE_RX, DINGO_KERNEL_DLRM, 8192, 0};
    EXPECT_EQ(set(req), 0);
    EXPECT_EQ(set({DINGO_MODIFY_QP_COMPUTE_RX, DINGO_KERNEL_DLRM, 0, 0}), EINVAL) << "modulus 0";
    Client far(*b);
    auto peer = far.make_qp();
    to_rtr(qp, peer.qp->number(), b->driver.gids().at(1).gid);
    EXPECT_EQ(set(req), EINVAL) << "RTR: a packet may have come";
    EXPECT_EQ(set({DINGO_MODIFY_QP_COMPUTE, DINGO_KERNEL_DLRM, 8192, 0}), 0) << "to send";
}

TEST(ComputeTestOfASmallCard, HasNoReceiveSide) {
    auto wires = make_loop_pair();
    Host small(*wires.first, 0x024449000009, {"10.77.0.9/24"}, DINGO_CAP_COMPUTE_RX);
    Client c(small);
    auto qp = c.make_qp();
    const auto set = [&](const dingo_modify_qp_req& req) {
        Udata udata{bytes_of(req), {}, {}};
        return errno_of([&] { qp.qp->modify(QpAttr{}, 0, udata); });
    };
    EXPECT_EQ(set({DINGO_MODIFY_QP_COMPUTE_RX, DINGO_KERNEL_ADD_ONE, 0, 0}), EOPNOTSUPP);
    EXPECT_EQ(set({DINGO_MODIFY_QP_COMPUTE, DINGO_KERNEL_ADD_ONE, 0, 0}), 0);
}

TEST_F(ComputeTest, AZeroRequestIsNone) {
    Client c(*a);
    auto qp = c.make_qp();
    const dingo_modify_qp_req none{};
    Udata udata{bytes_of(none), {}, {}};
    QpAttr attr;
    attr.qp_state = DINGO_QPS_INIT;
    attr.port_num = 1;
    qp.qp->modify(attr, DINGO_QPM_STATE | DINGO_QPM_PORT | DINGO_QPM_PKEY_INDEX | DINGO_QPM_ACCESS,
                  udata);
    EXPECT_EQ(qp.qp->query().qp_state, DINGO_QPS_INIT);
}

}  // namespace
}  // namespace dingo::uverbs::test
