// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_responder: UD.
#include "responder_packets.h"

namespace bench {
namespace {

class Datagrams : public ResponderTest {
  protected:
    Datagrams() {
        bench.create_ud(2, 3);
        bench.qp(2).cfg.tag = 0;
    }
    rtl::Rxh datagram(std::uint8_t opcode = kUdSendOnly) const {
        rtl::Rxh h = request(opcode, 77, false);
        h.qkey = 0x11111111;
        h.src_qpn = 0xabcdef;
        for (unsigned i = 0; i < 10; ++i)
            h.grh[i] = 0x03020100 + 0x04040404 * i;
        return h;
    }
    Bytes with_grh(const Bytes& payload) const {
        Bytes all;
        for (unsigned i = 0; i < 40; ++i)
            all.push_back(static_cast<std::uint8_t>(i));
        all.insert(all.end(), payload.begin(), payload.end());
        return all;
    }
};
INSTANTIATE_TEST_SUITE_P(Stalls, Datagrams, kStalls);

TEST_P(Datagrams, BufferHoldsNetworkHeaderAndPayload) {
    bench.post(2, 9, {{kIova, kKey, 30}, {kIova + 512, kKey, 400}});
    bench.post(2, 10, {{kIova + 2048, kKey, 400}});
    settle();
    const Bytes data = pattern(200, 1);
    bench.packet(2, datagram(), data);
    rtl::Rxh h = datagram(kUdSendOnlyImm);
    h.imm = 0x01020304;
    h.se = true;
    h.ipv4 = true;
    h.has_vlan = true;
    h.vlan = 0xa123;
    bench.packet(2, h, {});
    settle();
    Bytes got = bench.read_memory(kBase, 30);
    const Bytes rest = bench.read_memory(kBase + 512, 210);
    got.insert(got.end(), rest.begin(), rest.end());
    EXPECT_EQ(got, with_grh(data));
    EXPECT_EQ(bench.read_memory(kBase + 2048, 40), with_grh({}));
    ASSERT_EQ(bench.cqes.size(), 2u);
    EXPECT_EQ(bench.cqes[0].wqe_index, 9u);
    EXPECT_EQ(bench.cqes[0].byte_len, 240u);
    EXPECT_EQ(bench.cqes[0].flags, DINGO_CQE_FLAGS_GRH_MASK);
    EXPECT_EQ(bench.cqes[0].src_qpn, 0xabcdefu);
    EXPECT_EQ(bench.cqes[0].imm, 0u);
    EXPECT_EQ(bench.cqes[0].qpn_op, 2u | std::uint32_t{DINGO_WC_RECV} << 24);
    EXPECT_EQ(bench.cqes[1].byte_len, 40u);
    EXPECT_EQ(bench.cqes[1].imm, 0x01020304u);
    EXPECT_EQ(bench.cqes[1].vlan, 0xa123u);
    EXPECT_EQ(bench.cqes[1].src_qpn, 0x50abcdefu);
    EXPECT_EQ(bench.cqes[1].flags, DINGO_CQE_FLAGS_GRH_MASK | DINGO_CQE_FLAGS_IMM_MASK |
                                       DINGO_CQE_FLAGS_SOLICITED_MASK | DINGO_CQE_FLAGS_IPV4_MASK |
                                       DINGO_CQE_FLAGS_VLAN_MASK);
    EXPECT_EQ(bench.cqes[1].qpn_op, 2u | std::uint32_t{DINGO_WC_RECV_IMM} << 24);
    EXPECT_TRUE(bench.sent.empty());
    EXPECT_EQ(stat(DINGO_CARD_RX_SEND_REQUESTS), 2u);
}

TEST_P(Datagrams, DropsHaveTheirOwnCounters) {
    rtl::Rxh h = datagram();
    bench.packet(2, h, pattern(10, 1));
    settle();
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_UD_NO_BUFFER), 1u);
    bench.post(2, 9, {{kIova, kKey, 49}});
    settle();
    bench.packet(2, h, pattern(10, 1));  // GRH and payload are 50 bytes, the receive has 49
    h.qkey = 1;
    bench.packet(2, h, pattern(9, 1));
    settle();
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_UD_LENGTH), 1u);
    EXPECT_EQ(stat(DINGO_CARD_BAD_QKEY), 1u);
    EXPECT_TRUE(bench.cqes.empty());
    bench.packet(2, datagram(), pattern(9, 1));  // the dropped ones have not taken the receive
    settle();
    ASSERT_EQ(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].byte_len, 49u);
}

TEST_P(Datagrams, ReceiveThatFailsEndsTheQueuePair) {
    bench.post(2, 9, {{kIova, 0xbad, 100}});
    bench.post(2, 10, {{kIova, kKey, 100}});
    settle();
    bench.packet(2, datagram(), pattern(9, 1));
    bench.packet(2, datagram(), pattern(9, 1));
    settle();
    ASSERT_EQ(bench.cqes.size(), 2u);
    expect_error_cqe(0, 9, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_KEY);
    expect_error_cqe(1, 10, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    EXPECT_EQ(bench.qp(2).state, DINGO_QPS_ERR);
    EXPECT_TRUE(bench.events.empty());
    EXPECT_TRUE(bench.sent.empty());
}

TEST_P(Datagrams, BusErrorFailsTheReceive) {
    bench.post(2, 9, {{kIova, kKey, 100}});
    bench.post(2, 10, {{kIova + 4096, kKey, 100}});
    bench.post(2, 11, {{kIova + 4096, kKey, 100}});
    settle();
    bench.bad_bytes = {kBase, kBase + 1};
    bench.packet(2, datagram(), pattern(9, 1));
    bench.packet(2, datagram(), pattern(9, 1));
    settle();
    ASSERT_EQ(bench.cqes.size(), 3u);
    expect_error_cqe(0, 9, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_BUS);
    expect_error_cqe(1, 10, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    expect_error_cqe(2, 11, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    EXPECT_EQ(bench.failed_qps, std::vector<unsigned>{2});
}

}  // namespace
}  // namespace bench
