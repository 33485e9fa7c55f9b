// SPDX-License-Identifier: BSD-2-Clause
//
// Fixture: one QP with memory to send from, and the work requests that most tests post.
#pragma once

#include <gtest/gtest.h>

#include "requester_bench.h"

namespace dingo::rtl {

inline constexpr std::uint16_t kQp = 9;
inline constexpr std::uint16_t kOther = 12;
inline constexpr std::uint32_t kKey = 0x10042;
inline constexpr std::uint32_t kReadOnlyKey = 0x20042;
inline constexpr std::uint32_t kMask = 0xFFFFFF;

class Requester : public testing::Test {
  protected:
    Requester() {
        b.regions[kKey] = {0x7000'0000, 0x40000, 0x10000, DINGO_ACC_LOCAL_WRITE};
        b.regions[kReadOnlyKey] = {0x9000'0000, 0x1000, 0x10000, 0};
        config.sq = config.ring = 0x4000;
    }
    void start() { b.create(kQp, config); }
    TestSge sge(std::uint64_t offset, std::uint32_t length, std::uint32_t key = kKey) const {
        return {0x7000'0000 + offset, length, key};
    }
    std::vector<std::uint8_t> bytes(std::uint64_t offset, std::uint64_t length) const {
        const auto from = b.memory.begin() + 0x10000 + static_cast<std::ptrdiff_t>(offset);
        return {from, from + static_cast<std::ptrdiff_t>(length)};
    }
    std::uint32_t psn(std::uint32_t n) const { return (config.sq_psn + n) & kMask; }
    void send(std::uint32_t length, std::uint8_t flags = DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK) {
        b.begin(DINGO_WR_SEND, flags);
        b.sges({sge(0, length)});
        b.post(kQp);
    }
    void read(std::uint32_t offset, std::uint32_t length) {
        b.begin(DINGO_WR_READ);
        b.rdma(0xABC000, 0x55);
        b.sges({sge(offset, length)});
        b.post(kQp);
    }
    void go() {
        b.ring(kQp);
        b.settle();
    }
    void expect_cqe(std::size_t i, std::uint32_t index, std::uint8_t opcode,
                    std::uint8_t status = 0, std::uint8_t verr = 0, std::uint32_t length = 0) {
        ASSERT_LT(i, b.cqes.size());
        EXPECT_EQ(b.cqes[i].index, index);
        EXPECT_EQ(b.cqes[i].opcode, opcode);
        EXPECT_EQ(b.cqes[i].status, status);
        EXPECT_EQ(b.cqes[i].verr, verr);
        EXPECT_EQ(b.cqes[i].byte_len, length);
    }
    void TearDown() override { EXPECT_FALSE(b.stuck); }

    RequesterBench b{1};
    TestQp config;
};

}  // namespace dingo::rtl
