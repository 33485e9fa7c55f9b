// SPDX-License-Identifier: BSD-2-Clause
//
// Completions of a mix of requests, and common properties of all packets of a connection.
#include <set>

#include "fixture.h"

namespace dingo::test {
namespace {

class RcOperations : public Connected {};

TEST_F(RcOperations, CompletionsComeInOrderOfPosting) {
    connect();
    std::vector<std::uint32_t> posted;
    for (int i = 0; i < 8; ++i) {
        posted.push_back(driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 5000), false));
        posted.push_back(driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 8192, 0, 5000), false));
        posted.push_back(driver(0).post_send(qp(0), atomic(DINGO_WR_FETCH_ADD, 8, 1), false));
    }
    driver(0).ring_sq(qp(0));
    for (const std::uint32_t index : posted) {
        const dingo_cqe cqe = wait();
        EXPECT_EQ(cqe.status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(cqe.wqe_index, index);
    }
}

// There is only one path, in state "migrated".
TEST_F(RcOperations, EveryPacketSaysThatThePathHasMigrated) {
    connect();
    std::set<packet::Opcode> seen;
    cards.link.tap = [&](const Frame& frame) {
        const auto packet = parse_frame(frame);
        ASSERT_TRUE(packet);
        seen.insert(packet->bth.opcode);
        EXPECT_TRUE(packet->bth.migreq) << packet::name(packet->bth.opcode);
    };
    driver(1).post_recv(qp(1), 1, {mr[1].sge(0, 8192)});
    run(rdma(DINGO_WR_WRITE, 0, 0, 3000));
    run(send_wr(0, 10));
    run(rdma(DINGO_WR_READ, 0, 0, 10));
    run(rdma(DINGO_WR_READ, 0, 0, 3000));
    run(atomic(DINGO_WR_FETCH_ADD, 0, 1));
    EXPECT_EQ(seen.count(packet::Opcode::kRcReadResponseMiddle), 1U);
    EXPECT_EQ(seen.count(packet::Opcode::kRcAtomicAck), 1U);
    EXPECT_EQ(seen.count(packet::Opcode::kRcAck), 1U);
}

}  // namespace
}  // namespace dingo::test
