// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Device side of Dingo's provider for MORI, on rings consumed by a fake card. The test keeps the
// counters like MORI's kernels. HIP is that of cpu_hip, so the HIP port of dingo_gda runs, too.
#include <gtest/gtest.h>
#include <hip/hip_runtime.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "../fake_card.h"
#include "dingo_device_primitives.hpp"

namespace mori::core {
namespace {

using gda::test::FakeCard;
using gda::test::Wqe;

constexpr ProviderType P = ProviderType::DINGO;
constexpr unsigned kLogSq = 6, kLogCq = 7;

struct Rings {
    explicit Rings(FakeCard::Execute execute, std::uint32_t first = 0)
        : card(kLogSq, kLogCq, std::move(execute), first) {
        const dingo_gda_qp& qp = *card.qp();
        wq.postIdx = wq.dbTouchIdx = wq.doneIdx = first;
        wq.sqAddr = qp.sq;
        wq.dbrAddr = qp.sq_doorbell;
        wq.sqWqeNum = qp.sq_mask + 1;
        wq.sq_dbval = qp.sq_doorbell_word;
        cq.cqAddr = const_cast<std::uint64_t*>(qp.cq);
        cq.dbrRecAddr = qp.cq_doorbell;
        cq.cqeNum = qp.cq_mask + 1;
        cq.cq_dbval = qp.cq_doorbell_word;
    }
    /// Like MORI's examples: one thread, one request at a time.
    int finish(std::uint64_t doorbell) {
        std::uint32_t number = 0;
        UpdateSendDbrRecord<P>(wq.dbrRecAddr, wq.postIdx);
        RingDoorbell<P>(wq.dbrAddr, doorbell);
        const int status = PollCq<P>(cq.cqAddr, cq.cqeNum, &cq.consIdx, &number);
        EXPECT_EQ(number, wq.postIdx - 1);
        UpdateCqDbrRecord<P>(cq, ++cq.consIdx);
        return status;
    }
    /// As MORI's shmem: takes a number, waits for room, posts, rings in order. Only `signaled` ones
    /// complete.
    void post(bool signaled, const std::function<std::uint64_t(std::uint32_t number)>& fn) {
        const std::uint32_t number = atomicAdd(&wq.postIdx, 1);
        while (number + 1 - dgda_load_device32(&wq.doneIdx) >= wq.sqWqeNum)
            DingoQuiet<false>(wq, cq);
        const std::uint64_t doorbell = fn(number);
        while (dgda_load_device32(&wq.dbTouchIdx) != number)
            sched_yield();
        RingDoorbell<P>(wq.dbrAddr, doorbell);
        __hip_atomic_store(&wq.dbTouchIdx, number + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
        if (signaled)
            DingoQuiet<true>(wq, cq);
    }

    FakeCard card;
    WorkQueueHandle wq;
    CompletionQueueHandle cq;
};

struct MoriProvider : ::testing::Test {
    std::vector<Wqe> wqes;
    FakeCard::Execute keep = [this](const Wqe& wqe) {
        wqes.push_back(wqe);
        return wqe.opcode() <= DINGO_WR_FETCH_ADD ? DINGO_WCS_SUCCESS : DINGO_WCS_LOC_QP_OP_ERR;
    };
};

TEST_F(MoriProvider, OperationsAreWhatTheContractSays) {
    Rings rings(keep);
    EXPECT_EQ(rings.finish(PostSend<P>(rings.wq, 7, 0x1000, 5, 100)), 0);
    EXPECT_EQ(rings.finish(PostReadWrite<P, false>(rings.wq, 7, 0x1000, 5, 0x2000, 6, 100)), 0);
    EXPECT_EQ(rings.finish(PostReadWrite<P, true>(rings.wq, 7, 0x1000, 5, 0x2000, 6, 100)), 0);
    ASSERT_EQ(wqes.size(), 3u);
    EXPECT_EQ(wqes[0].opcode(), unsigned{DINGO_WR_SEND});
    EXPECT_EQ(wqes[1].opcode(), unsigned{DINGO_WR_WRITE});
    EXPECT_EQ(wqes[2].opcode(), unsigned{DINGO_WR_READ});
    for (const Wqe& wqe : wqes) {
        EXPECT_EQ(wqe.blocks(), 1u);
        EXPECT_EQ(wqe.num_sge(), 1u);
        EXPECT_EQ(wqe.words[4], 0x1000u);
        EXPECT_EQ(wqe.words[5], dgda_key_length(5, 100));
    }
    EXPECT_EQ(wqes[1].raddr(), 0x2000u);
    EXPECT_EQ(wqes[2].rkey(), 6u);
    EXPECT_EQ(rings.card.complaint(), "");
}

TEST_F(MoriProvider, InlineDataOf1To32BytesIsInTheSlotAndMoreIsRefused) {
    Rings rings(keep);
    std::array<std::uint8_t, 40> data;
    std::iota(data.begin(), data.end(), std::uint8_t{1});
    for (std::uint32_t bytes = 1; bytes <= DINGO_GDA_SLOT_INLINE; ++bytes) {
        ASSERT_EQ(rings.finish(PostWriteInline<P>(rings.wq, 7, data.data(), 0x2000, 6, bytes)), 0);
        EXPECT_EQ(wqes.back().words[1], bytes);
        EXPECT_EQ(std::memcmp(wqes.back().data(), data.data(), bytes), 0);
    }
    EXPECT_EQ(rings.finish(PostWriteInline<P>(rings.wq, 7, data.data(), 0x2000, 6, 33)),
              DINGO_WCS_LOC_QP_OP_ERR);
    EXPECT_EQ(rings.finish(PostWriteInline<P>(rings.wq, 7, data.data(), 0x2000, 6, 8)),
              DINGO_WCS_WR_FLUSH_ERR);
}

TEST_F(MoriProvider, AtomicsAreOf8BytesAndKeepTheirSign) {
    Rings rings(keep);
    auto& wq = rings.wq;
    EXPECT_EQ(rings.finish(PostAtomic<P, std::uint32_t>(wq, 7, 0x1000, 5, 0x2000, 6, 9u, 4u,
                                                        AMO_COMPARE_SWAP)),
              0);
    EXPECT_EQ(wqes.back().opcode(), unsigned{DINGO_WR_CMP_SWAP});
    EXPECT_EQ(wqes.back().words[4], 9u);
    EXPECT_EQ(wqes.back().words[5], 4u);
    EXPECT_EQ(wqes.back().words[6], 0x1000u);
    EXPECT_EQ(wqes.back().words[7], dgda_key_length(5, 8));
    EXPECT_EQ(
        rings.finish(PostAtomic<P, std::int32_t>(wq, 7, 0x1000, 5, 0x2000, 6, -1, 0, AMO_ADD)), 0);
    EXPECT_EQ(wqes.back().opcode(), unsigned{DINGO_WR_FETCH_ADD});
    EXPECT_EQ(wqes.back().words[4], ~0ull);
    std::uint32_t five = 5;
    const std::pair<atomicType, std::uint64_t> adds[] = {
        {AMO_INC, 1}, {AMO_FETCH_INC, 1}, {AMO_FETCH, 0}, {AMO_FETCH_ADD, 5}, {AMO_SIGNAL_ADD, 5}};
    for (const auto& [operation, added] : adds) {
        EXPECT_EQ(rings.finish(PostAtomic<P>(wq, 7, 0x1000, 5, 0x2000, 6, &five, nullptr,
                                             sizeof five, operation)),
                  0);
        EXPECT_EQ(wqes.back().opcode(), unsigned{DINGO_WR_FETCH_ADD});
        EXPECT_EQ(wqes.back().words[4], added);
    }
}

TEST_F(MoriProvider, AnAtomicThatRoceLacksFailsByItsCompletion) {
    Rings rings(keep);
    EXPECT_EQ(rings.finish(
                  PostAtomic<P, std::uint64_t>(rings.wq, 7, 0x1000, 5, 0x2000, 6, 1u, 0u, AMO_AND)),
              DINGO_WCS_LOC_QP_OP_ERR);
}

TEST_F(MoriProvider, PollingOnceDoesNotWait) {
    Rings rings(keep);
    EXPECT_EQ(PollCqOnce<P>(rings.cq.cqAddr, rings.cq.cqeNum, 0, nullptr), -1);
    RingDoorbell<P>(rings.wq.dbrAddr, PostSend<P>(rings.wq, 7, 0x1000, 5, 100));
    EXPECT_EQ(PollCqAndUpdateDbr<P>(rings.cq, &rings.cq.consIdx, &rings.cq.pollCqLock), 0);
    EXPECT_EQ(rings.cq.consIdx, 1u);
    EXPECT_EQ(PollCqOnce<P>(rings.cq.cqAddr, rings.cq.cqeNum, 1, nullptr), -1);
}

/// Numbers begin shortly before they wrap; one request in three is signaled.
TEST_F(MoriProvider, ManyThreadsFillTheRingAndEachWqeIsTakenOnce) {
    constexpr std::uint32_t kThreads = 8, kPosts = 100;
    std::vector<std::uint32_t> seen(kThreads * kPosts);
    Rings rings(
        [&](const Wqe& wqe) {
            ++seen.at(wqe.raddr());
            return std::uint32_t{0};
        },
        0u - 100);
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            for (std::uint32_t i = 0; i < kPosts; ++i) {
                const bool signaled = i % 3 == 0 || i + 1 == kPosts;
                rings.post(signaled, [&](std::uint32_t number) {
                    return PostReadWrite<P, false>(rings.wq, number, number, number, true, 7,
                                                   0x1000, 5, t * kPosts + i, 6, 8);
                });
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    DingoQuiet<true>(rings.wq, rings.cq);
    rings.card.stop();
    EXPECT_EQ(rings.wq.doneIdx, rings.wq.postIdx);
    EXPECT_TRUE(std::ranges::all_of(seen, [](std::uint32_t n) { return n == 1; }));
    EXPECT_EQ(rings.card.complaint(), "");
}

/// Completions of a warp: only the last of five is signaled.
TEST_F(MoriProvider, OneCompletionStandsForThoseBeforeIt) {
    Rings rings(keep);
    for (std::uint32_t i = 0; i < 200; ++i)
        rings.post(i % 5 == 4, [&](std::uint32_t number) {
            return PostReadWrite<P, false>(rings.wq, number, number, number, i % 5 == 4, 7, 0x1000,
                                           5, 0x2000, 6, 8);
        });
    rings.card.stop();
    EXPECT_EQ(rings.wq.doneIdx, 200u);
    EXPECT_EQ(rings.card.completions(), 40u);
    EXPECT_EQ(rings.card.complaint(), "");
}

}  // namespace
}  // namespace mori::core
