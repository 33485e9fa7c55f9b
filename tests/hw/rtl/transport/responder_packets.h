// SPDX-License-Identifier: BSD-2-Clause
//
// Packets and checks that the responder's tests share.
#pragma once

#include <gtest/gtest.h>

#include "dingo_hw.h"
#include "responder_bench.h"

namespace bench {

enum Opcode : std::uint8_t {
    kSendFirst = 0x00,
    kSendMiddle = 0x01,
    kSendLast = 0x02,
    kSendOnly = 0x04,
    kSendOnlyImm = 0x05,
    kWriteFirst = 0x06,
    kWriteMiddle = 0x07,
    kWriteLast = 0x08,
    kWriteOnly = 0x0a,
    kWriteOnlyImm = 0x0b,
    kReadRequest = 0x0c,
    kReadResponseFirst = 0x0d,
    kReadResponseMiddle = 0x0e,
    kReadResponseLast = 0x0f,
    kReadResponseOnly = 0x10,
    kAck = 0x11,
    kAtomicAck = 0x12,
    kCompareSwap = 0x13,
    kFetchAdd = 0x14,
    kSendLastInv = 0x16,
    kSendOnlyInv = 0x17,
    kUcSendFirst = 0x20,
    kUcSendMiddle = 0x21,
    kUcSendLast = 0x22,
    kUcSendOnly = 0x24,
    kUcWriteFirst = 0x26,
    kUcWriteLast = 0x28,
    kUcWriteOnly = 0x2a,
    kUcWriteOnlyImm = 0x2b,
    kUdSendOnly = 0x64,
    kUdSendOnlyImm = 0x65,
};

inline constexpr std::uint8_t kSynAck = 0x1f;
inline constexpr std::uint8_t kSynSequence = 0x60;
inline constexpr std::uint8_t kSynInvalid = 0x61;
inline constexpr std::uint8_t kSynAccess = 0x62;
inline constexpr std::uint8_t kSynOperation = 0x63;

inline constexpr std::uint32_t kKey = 0x00050011;
inline constexpr std::uint64_t kIova = 0x7f0000001000;
inline constexpr std::uint64_t kBase = 0x40000000;
inline constexpr unsigned kPmtu = 256;

inline Bytes pattern(std::size_t count, unsigned seed) {
    Bytes bytes(count);
    for (std::size_t i = 0; i < count; ++i)
        bytes[i] = static_cast<std::uint8_t>((i * 7 + seed * 31 + (i >> 8)) | 1);
    return bytes;
}

inline rtl::Rxh request(std::uint8_t opcode, std::uint32_t psn, bool ackreq = true) {
    rtl::Rxh h;
    h.opcode = opcode;
    h.psn = psn & 0xffffff;
    h.ackreq = ackreq;
    return h;
}

inline rtl::Rxh with_reth(std::uint8_t opcode, std::uint32_t psn, std::uint64_t va,
                          std::uint32_t length, std::uint32_t rkey = kKey) {
    rtl::Rxh h = request(opcode, psn);
    h.va = va;
    h.dma_len = length;
    h.rkey = rkey;
    return h;
}

/// QP 1 and a region with all rights. Each test runs with each stall pattern of kStalls.
class ResponderTest : public testing::TestWithParam<Options> {
  protected:
    ResponderTest() : bench(GetParam()) {
        bench.create_rc(1);
        bench.add_region({kKey, 7, 0x1f, kIova, 1 << 20, kBase});
    }
    void TearDown() override { EXPECT_TRUE(bench.errors.empty()) << bench.errors.front(); }
    void settle() { ASSERT_TRUE(bench.settle()); }
    std::uint64_t stat(unsigned index) { return bench.stats[index]; }
    std::uint64_t qp_stat(unsigned index, unsigned qp = 1) { return bench.qp_stats[{qp, index}]; }
    /// Expects exactly one new packet since the last call, an ACK or NAK.
    void expect_reply(std::uint8_t syndrome, std::uint32_t psn, std::uint32_t msn) {
        ASSERT_EQ(bench.sent.size(), seen_ + 1);
        const rtl::Txd& d = bench.sent[seen_++].d;
        EXPECT_EQ(d.opcode, kAck);
        EXPECT_EQ(d.syndrome, syndrome);
        EXPECT_EQ(d.psn, psn & 0xffffff);
        EXPECT_EQ(d.msn, msn);
        EXPECT_EQ(d.len, 0);
        EXPECT_TRUE(d.from_rsp);
        EXPECT_EQ(d.dqpn, bench.qp(d.qp).cfg.dest_qpn);
        EXPECT_EQ(d.dgid, bench.qp(d.qp).cfg.dgid);
        EXPECT_EQ(d.hop_limit, 64) << "0 means: on this link";
    }
    void expect_error_cqe(std::size_t index, std::uint32_t tag, std::uint8_t status,
                          std::uint8_t verr) {
        ASSERT_LT(index, bench.cqes.size());
        const rtl::CqeReq& c = bench.cqes[index];
        EXPECT_EQ(c.wqe_index, tag);
        EXPECT_EQ(c.status, status);
        EXPECT_EQ(c.verr, verr);
        EXPECT_EQ(c.qpn_op, bench.qpn(c.qp) | std::uint32_t{DINGO_WC_RECV} << 24);
    }
    std::uint32_t psn0() const { return 1000; }
    Bench bench;
    std::size_t seen_ = 0;
};

inline const auto kStalls = testing::Values(Options{1, 100, 0, 1}, Options{2, 100, 60, 10},
                                            Options{3, 60, 40, 20}, Options{4, 25, 100, 30});

}  // namespace bench
