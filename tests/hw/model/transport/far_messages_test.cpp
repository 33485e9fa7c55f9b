// SPDX-License-Identifier: BSD-2-Clause
//
// Far memory learns where messages begin.
#include "far_fixture.h"

namespace dingo::test {
namespace {

// Parts of a message may be written together, parts of two messages may not.
TEST_F(Far, EachMessageBeginsOneInMemory) {
    connect_far({0, 1});
    finish(0);
    finish(1);
    fill(0, 0, 100'000);
    for (unsigned i = 1; i <= 2; ++i) {
        driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 100'000));
        EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(far[1].messages, i);
    }
    EXPECT_EQ(far[0].messages, 0U);
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 100'000));
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(far[0].messages, 1U);
}

}  // namespace
}  // namespace dingo::test
