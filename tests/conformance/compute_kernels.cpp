// SPDX-License-Identifier: BSD-2-Clause
#include "compute_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "pair.h"

namespace dingo::conformance {
namespace {

std::uint32_t word_at(std::span<const std::byte> bytes, std::size_t at) {
    std::uint32_t word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    return word;
}

/// Checks ln(max(x, 0) + 1) within the error that docs/reference/compute.md states.
bool is_log(std::uint32_t bits, std::int32_t x) {
    const double exact = std::log1p(static_cast<double>(std::max(x, 0)));
    const auto nearest = static_cast<float>(exact);
    const double unit = std::nextafter(nearest, INFINITY) - nearest;
    return x <= 0 ? bits == 0 : std::abs(std::bit_cast<float>(bits) - exact) <= 0.52 * unit;
}

bool word_ok(const Kernel& kernel, std::size_t at, std::uint32_t in, std::uint32_t out) {
    const std::size_t column = at % kRecordBytes / 4;
    if (kernel.id == DINGO_KERNEL_ADD_ONE)
        return out == in + 1;
    if (kernel.id == DINGO_KERNEL_DLRM && column >= 1 && column <= 13)
        return is_log(out, static_cast<std::int32_t>(in));
    if (kernel.id == DINGO_KERNEL_DLRM && column >= 16 && column <= 41)
        return out == in % kernel.param;
    return out == in;
}

}  // namespace

testing::AssertionResult transformed(const Kernel& kernel, std::span<const std::byte> in,
                                     std::span<const std::byte> out) {
    const std::size_t whole = in.size() / 4 * 4;
    for (std::size_t at = 0; at < whole; at += 4) {
        if (!word_ok(kernel, at, word_at(in, at), word_at(out, at)))
            return testing::AssertionFailure()
                   << "kernel " << kernel.id << ", byte " << at << " of " << in.size() << ": "
                   << word_at(in, at) << " became " << word_at(out, at);
    }
    if (!std::ranges::equal(in.subspan(whole), out.subspan(whole)))
        return testing::AssertionFailure() << "the tail of " << in.size() << " bytes changed";
    return testing::AssertionSuccess();
}

void expect_choice_by_state(Pair& pair, std::uint32_t direction, std::uint16_t in_rtr) {
    test::TestDriver& d = pair.driver(0);
    const test::TestQp& qp = pair.qp(0);
    const auto set = [&] {
        return d.set_compute(qp.qpn, DINGO_KERNEL_ADD_ONE, 0, direction).status;
    };
    EXPECT_EQ(set(), DINGO_ST_BAD_STATE) << "RTS";
    d.to_state(qp, DINGO_QPS_ERR);
    EXPECT_EQ(set(), DINGO_ST_BAD_STATE) << "ERR";
    d.to_state(qp, DINGO_QPS_RESET);
    EXPECT_EQ(set(), DINGO_ST_OK) << "RESET";
    const auto path = pair.cards.path_to(1, pair.qp(1).qpn);
    d.to_init(qp, path);
    EXPECT_EQ(set(), DINGO_ST_OK) << "INIT";
    d.to_rtr(qp, path);
    EXPECT_EQ(set(), in_rtr) << "RTR";
}

void fill_mixed(std::span<std::byte> bytes, std::uint64_t seed) {
    random_bytes(bytes, seed);
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
        std::uint32_t word = word_at(bytes, at);
        constexpr std::uint32_t kEdges[] = {0,          1,          2,    0x7fffffff,
                                            0x80000000, 0xffffffff, 8192, 8191};
        word = word % 5 == 0 ? kEdges[word / 5 % 8] : word % 5 < 3 ? word >> (word % 31) : word;
        std::memcpy(bytes.data() + at, &word, sizeof word);
    }
}

}  // namespace dingo::conformance
