// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_rsp_buffer: how long a SEND may become.
#include <gtest/gtest.h>

#include <cstdint>

#include "Vrsp_buffer_bench.h"

namespace {

constexpr std::uint32_t kMaxMsg = 1U << 31;

class RspBuffer : public testing::Test {
  protected:
    bool fits(std::uint64_t capacity, std::uint32_t taken, std::uint16_t bytes) {
        dut.cap_i = capacity;
        dut.taken_i = taken;
        dut.len_i = bytes;
        dut.eval();
        return dut.fits_o != 0;
    }
    Vrsp_buffer_bench dut;
};

TEST_F(RspBuffer, SendMayFillItsReceive) {
    EXPECT_TRUE(fits(8192, 4096, 4096));
    EXPECT_FALSE(fits(8191, 4096, 4096));
    EXPECT_TRUE(fits(kMaxMsg, kMaxMsg - 4096, 4096));
}

TEST_F(RspBuffer, SendIsAtMostTheLongestMessageAlsoIfItsReceiveIsLonger) {
    for (const std::uint64_t more :
         {std::uint64_t{0}, std::uint64_t{8192}, std::uint64_t{1} << 31, std::uint64_t{14} << 32}) {
        const std::uint64_t capacity = kMaxMsg + more;
        EXPECT_TRUE(fits(capacity, kMaxMsg - 4096, 4096)) << capacity;
        EXPECT_FALSE(fits(capacity, kMaxMsg - 4095, 4096)) << capacity;
        EXPECT_FALSE(fits(capacity, kMaxMsg, 1)) << capacity;
    }
}

}  // namespace
