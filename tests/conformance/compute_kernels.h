// SPDX-License-Identifier: BSD-2-Clause
//
// Reference implementation of the compute kernels in plain C++, for both directions.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "dingo_hw.h"

namespace dingo::conformance {

class Pair;

struct Kernel {
    std::uint32_t id;
    std::uint32_t param;
};
inline constexpr Kernel kPass{DINGO_KERNEL_PASS, 0};
inline constexpr Kernel kAddOne{DINGO_KERNEL_ADD_ONE, 0};
inline constexpr Kernel kDlrm{DINGO_KERNEL_DLRM, 8192};
inline constexpr Kernel kAll[] = {kPass, kAddOne, kDlrm};

inline constexpr std::uint32_t kRecordBytes = 192;

/// Message lengths around words, records and packets of `mtu` bytes.
inline std::vector<std::uint32_t> odd_lengths(std::uint32_t mtu) {
    return {0,
            1,
            3,
            4,
            63,
            65,
            kRecordBytes,
            kRecordBytes + 70,
            mtu - 1,
            mtu,
            mtu + 3,
            3 * mtu + kRecordBytes,
            7 * mtu + 5};
}

/// Checks that `out` is the message `in` transformed by the kernel; names the first wrong byte.
testing::AssertionResult transformed(const Kernel& kernel, std::span<const std::byte> in,
                                     std::span<const std::byte> out);

/// Checks that a direction's kernel can be set in RESET and INIT and not in RTS and ERR, and that
/// the status in RTR is `in_rtr`. Leaves the first QP in RTR.
void expect_choice_by_state(Pair& pair, std::uint32_t direction, std::uint16_t in_rtr);

/// Fills `bytes` with small, negative and large words.
void fill_mixed(std::span<std::byte> bytes, std::uint64_t seed);

}  // namespace dingo::conformance
