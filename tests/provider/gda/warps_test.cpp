// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Lanes of a warp that post together share one reservation, one order and one completion.
#include "warp_port.h"
// The include above must precede those that include the port.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "fake_card.h"

namespace gda::test {
namespace {

constexpr unsigned kLogSq = 8;
constexpr unsigned kLogCq = 9;

/// Masks of active lanes: gaps at the end, in between and at the beginning; one lane; many.
const std::vector<dgda_lanes> kMasks = {0xf, 0xa8, 0x8000000000000011, 0x100, 0xffff};

/// WQEs in the order seen by the card.
struct Seen {
    std::vector<Wqe> wqes;
    std::uint32_t operator()(const Wqe& wqe) {
        wqes.push_back(wqe);
        return 0;
    }
    [[nodiscard]] bool is_signaled(std::size_t n) const {
        return (wqes[n].flags() & DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK) != 0;
    }
};

struct GdaWarps : ::testing::TestWithParam<dgda_lanes> {
    const dgda_lanes lanes = GetParam();
    const unsigned count = static_cast<unsigned>(std::popcount(lanes));
    const unsigned last = 63 - static_cast<unsigned>(std::countl_zero(lanes));
    Seen seen;
    FakeCard card{kLogSq, kLogCq, std::ref(seen)};
};

INSTANTIATE_TEST_SUITE_P(Masks, GdaWarps, ::testing::ValuesIn(kMasks));

TEST_P(GdaWarps, RequestsStandInTheOrderOfTheLanesAndTheLastOneCompletes) {
    std::array<dingo_gda_ticket, 64> tickets{};
    in_warps({lanes}, [&](unsigned /*warp*/, unsigned lane) {
        for (std::uint64_t n = 0; n < 3; ++n)
            tickets[lane] = dingo_gda_post_write(card.qp(), lane, 1, n << 8 | lane, 2, 3);
        EXPECT_EQ(dingo_gda_wait(card.qp(), tickets[lane]), 0);
    });
    card.stop();
    EXPECT_EQ(card.complaint(), "");
    ASSERT_EQ(seen.wqes.size(), 3 * count);
    std::size_t at = 0;
    for (std::uint64_t n = 0; n < 3; ++n)
        for (dgda_lanes left = lanes; left != 0; left &= left - 1, ++at) {
            const auto lane = static_cast<unsigned>(std::countr_zero(left));
            EXPECT_EQ(seen.wqes[at].raddr(), n << 8 | lane);
            EXPECT_EQ(seen.is_signaled(at), lane == last);
            if (n < 2)
                continue;
            EXPECT_EQ(tickets[lane], at + 1) << "the ticket stands for what was posted before";
        }
    EXPECT_EQ(card.completions(), 3u);
}

TEST_P(GdaWarps, InlineRequestsOfDifferentSizesDoNotTouch) {
    std::array<std::uint8_t, DINGO_MAX_INLINE> data{};
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<std::uint8_t>(i + 1);
    const auto size = [](unsigned lane) { return 1 + lane * 37 % DINGO_MAX_INLINE; };
    std::array<dingo_gda_ticket, 64> tickets{};
    in_warps({lanes}, [&](unsigned /*warp*/, unsigned lane) {
        tickets[lane] = dingo_gda_post_write_inline(card.qp(), data.data(), size(lane), lane, 2);
        EXPECT_EQ(dingo_gda_wait(card.qp(), tickets[lane]), 0);
    });
    card.stop();
    EXPECT_EQ(card.complaint(), "");
    ASSERT_EQ(seen.wqes.size(), count);
    std::uint64_t blocks = 0;
    std::size_t at = 0;
    for (dgda_lanes left = lanes; left != 0; left &= left - 1, ++at) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        const Wqe& wqe = seen.wqes[at];
        EXPECT_EQ(wqe.raddr(), lane);
        EXPECT_EQ(wqe.words[1], size(lane));
        EXPECT_EQ(std::memcmp(wqe.data(), data.data(), size(lane)), 0);
        EXPECT_EQ(seen.is_signaled(at), lane == last);
        blocks += wqe.blocks();
        EXPECT_EQ(tickets[lane], blocks);
    }
    EXPECT_EQ(card.completions(), 1u);
}

TEST_P(GdaWarps, OneDoorbellIsRungForAllLanes) {
    in_warps({lanes}, [&](unsigned /*warp*/, unsigned lane) {
        dingo_gda_post_write(card.qp(), lane, 1, lane, 2, 3);
        Warp::blind_loads = 0;
        dingo_gda_ring(card.qp());
        EXPECT_EQ(*card.qp()->sq_doorbell >> 32, count) << "rung when the lanes go on";
        EXPECT_EQ(Warp::blind_loads, 0u) << "what a neighbour has posted may be missing";
    });
    EXPECT_EQ(dingo_gda_wait(card.qp(), count), 0);
    EXPECT_EQ(card.doorbells(), 1u);
}

TEST(GdaWarpsTogether, SeveralWarpsFillTheRingManyTimes) {
    constexpr std::uint32_t kPosts = 300;
    std::map<std::uint64_t, std::uint32_t> next;
    std::uint32_t disorder = 0;
    FakeCard card(6, 7, [&](const Wqe& wqe) -> std::uint32_t {
        disorder += next[wqe.raddr() >> 32]++ != static_cast<std::uint32_t>(wqe.raddr());
        return 0;
    });
    in_warps({0x7, 0x30, 0x8001}, [&](unsigned warp, unsigned lane) {
        dingo_gda_ticket ticket = 0;
        for (std::uint32_t n = 0; n < kPosts; ++n)
            ticket = dingo_gda_post_write(card.qp(), 0, 1, (warp * 64ull + lane) << 32 | n, 2, 3);
        EXPECT_EQ(dingo_gda_wait(card.qp(), ticket), 0);
    });
    card.stop();
    EXPECT_EQ(card.complaint(), "");
    EXPECT_EQ(disorder, 0u);
    EXPECT_EQ(next.size(), 7u);
    EXPECT_TRUE(std::ranges::all_of(next, [](const auto& one) { return one.second == kPosts; }));
    EXPECT_EQ(card.completions(), 3 * kPosts);
}

}  // namespace
}  // namespace gda::test
