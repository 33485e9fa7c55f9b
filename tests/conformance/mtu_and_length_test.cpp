// SPDX-License-Identifier: BSD-2-Clause
//
// The port's MTU, message limits, and the length of Ethernet frames.
#include "conformance.h"
#include "faults.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(MtuAndLength);

TEST_P(MtuAndLength, FramesAreNoLongerThanThePathMtuAsks) {
    for (std::uint8_t mtu = 1; mtu <= 5; ++mtu) {
        Pair pair(engine(), PairOptions().mtu(mtu));
        std::size_t longest = 0;
        pair.cards.link.tap = [&](const test::Frame& frame) {
            longest = std::max(longest, frame.bytes.size());
        };
        pair.complete(pair.write(0, 0, 20'000));
        EXPECT_EQ(longest, 14u + 20 + 8 + 12 + 16 + (128u << mtu) + 4) << "WRITE FIRST has a RETH";
    }
}

TEST_P(MtuAndLength, FrameLongerThanThePortsMtuIsDropped) {
    Pair pair(engine(), PairOptions().mtu(5).timeout(8, 1));
    pair.driver(1).enable_port(1500);
    pair.post(pair.write(0, 0, 4096));
    EXPECT_EQ(pair.wait().status, DINGO_WCS_RETRY_EXC_ERR);
    EXPECT_EQ(pair.stat(1, DINGO_CARD_RDMA_RX_PACKETS), 0u);
    EXPECT_EQ(pair.stat(1, DINGO_CARD_ETH_RX_TOO_LONG), 2u);
}

TEST_P(MtuAndLength, MessageLongerThanTheMaximumIsALocalError) {
    PairOptions options;
    options.bytes = 1u << 30;
    Pair pair(engine(), options);
    test::SendWr wr = pair.write(0, 0, 0);
    wr.sges = {pair.mr[0].sge(0, 1u << 30), pair.mr[0].sge(0, 1u << 30), pair.mr[0].sge(0, 1)};
    const dingo_cqe cqe = pair.complete(wr);
    EXPECT_EQ(cqe.status, DINGO_WCS_LOC_LEN_ERR);
    EXPECT_EQ(cqe.vendor_err, DINGO_VERR_MSG_TOO_LONG);
    EXPECT_EQ(pair.stat(0, DINGO_CARD_RDMA_TX_PACKETS), 0u);
}

TEST_P(MtuAndLength, LongestMessageIsStarted) {
    PairOptions options;
    options.bytes = 1u << 30;
    Pair pair(engine(), options.mtu(5));
    FrameLog log(pair.cards);
    test::SendWr wr = pair.read(0, 0, 0);
    wr.sges = {pair.mr[0].sge(0, 1u << 30), pair.mr[0].sge(0, 1u << 30)};
    wr.rkey ^= 0x4000;  // refused by the peer, so that 2 GiB need not be moved
    EXPECT_EQ(pair.complete(wr).status, DINGO_WCS_REM_ACCESS_ERR);
    ASSERT_FALSE(log.lines().empty());
    EXPECT_NE(log.lines()[0].find("len=2147483648"), std::string::npos) << log.lines()[0];
}

}  // namespace dingo::conformance
