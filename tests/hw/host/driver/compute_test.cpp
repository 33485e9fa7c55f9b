// SPDX-License-Identifier: BSD-2-Clause
// The compute slot: the driver data of QUERY_DEVICE, and which kernels may be selected by whom, and
// when.
#include <array>
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

/// Returns 0 or the errno of Qp::set_compute().
int set(Client::QpRings& qp, const dingo_set_compute_req& req) {
    return errno_of([&] { qp.qp->set_compute(req); });
}

TEST_F(ComputeTest, WrongRequestsAreRefusedByTheirErrno) {
    Client c(*a);
    auto qp = c.make_qp();
    EXPECT_EQ(set(qp, {0, DINGO_COMPUTE_SEND, DINGO_KERNEL_DLRM, 0}), EINVAL) << "modulus 0";
    EXPECT_EQ(set(qp, {0, DINGO_COMPUTE_SEND, DINGO_KERNEL_DLRM, 8192}), 0);
    Client far(*b);
    auto peer = far.make_qp();
    to_rtr(qp, peer.qp->number(), b->driver.gids().at(1).gid);
    EXPECT_EQ(set(qp, {0, DINGO_COMPUTE_SEND, DINGO_KERNEL_DLRM, 8192}), 0)
        << "in a state that no attribute may change";
    EXPECT_EQ(set(qp, {1, DINGO_COMPUTE_SEND, DINGO_KERNEL_DLRM, 8192}), EOPNOTSUPP);
    for (const std::uint32_t unknown : {2U, 256U, UINT32_MAX}) {
        EXPECT_EQ(set(qp, {0, unknown, DINGO_KERNEL_ADD_ONE, 0}), EOPNOTSUPP) << unknown;
    }
    EXPECT_EQ(set(qp, {0, DINGO_COMPUTE_SEND, 99, 0}), EINVAL) << "unknown kernel";
}

TEST_F(ComputeTest, TheReceiveSideIsChosenBeforeTheQueuePairReceives) {
    Client c(*a);
    auto qp = c.make_qp();
    const dingo_set_compute_req req{0, DINGO_COMPUTE_RECEIVE, DINGO_KERNEL_DLRM, 8192};
    EXPECT_EQ(set(qp, req), 0);
    EXPECT_EQ(set(qp, {0, DINGO_COMPUTE_RECEIVE, DINGO_KERNEL_DLRM, 0}), EINVAL) << "modulus 0";
    Client far(*b);
    auto peer = far.make_qp();
    to_rtr(qp, peer.qp->number(), b->driver.gids().at(1).gid);
    EXPECT_EQ(set(qp, req), EINVAL) << "RTR: a packet may have come";
    EXPECT_EQ(set(qp, {0, DINGO_COMPUTE_SEND, DINGO_KERNEL_DLRM, 8192}), 0) << "to send";
}

TEST(ComputeTestOfASmallCard, HasNoReceiveSide) {
    auto wires = make_loop_pair();
    Host small(*wires.first, 0x024449000009, {"10.77.0.9/24"}, DINGO_CAP_COMPUTE_RX);
    Client c(small);
    auto qp = c.make_qp();
    EXPECT_EQ(set(qp, {0, DINGO_COMPUTE_RECEIVE, DINGO_KERNEL_ADD_ONE, 0}), EOPNOTSUPP);
    EXPECT_EQ(set(qp, {0, DINGO_COMPUTE_SEND, DINGO_KERNEL_ADD_ONE, 0}), 0);
}

// Before this method existed, providers selected a kernel in the driver data of MODIFY_QP.
TEST_F(ComputeTest, ModifyQpTakesNoDriverDataButZeros) {
    Client c(*a);
    auto qp = c.make_qp();
    QpAttr attr;
    attr.qp_state = DINGO_QPS_INIT;
    attr.port_num = 1;
    const auto modify = [&](std::array<std::uint32_t, 4> driver_data) {
        Udata udata{bytes_of(driver_data), {}, {}};
        return errno_of([&] {
            qp.qp->modify(
                attr, DINGO_QPM_STATE | DINGO_QPM_PORT | DINGO_QPM_PKEY_INDEX | DINGO_QPM_ACCESS,
                udata);
        });
    };
    EXPECT_EQ(modify({1, DINGO_KERNEL_ADD_ONE, 0, 0}), EOPNOTSUPP);
    EXPECT_EQ(qp.qp->query().qp_state, DINGO_QPS_RESET);
    EXPECT_EQ(modify({}), 0);
    EXPECT_EQ(qp.qp->query().qp_state, DINGO_QPS_INIT);
}

}  // namespace
}  // namespace dingo::uverbs::test
