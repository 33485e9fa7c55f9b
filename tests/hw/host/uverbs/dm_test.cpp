// SPDX-License-Identifier: BSD-2-Clause
// Device memory as allocated to clients: a budget, separate pieces, regions inside.
#include <sys/mman.h>

#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

constexpr std::uint64_t kAll = 16U << 20;
constexpr std::uint32_t kZeroBased = IB_UVERBS_ACCESS_ZERO_BASED;

struct UverbsDm : ::testing::Test {
    UverbsDm() : client(card.directory), verbs(client) {
        EXPECT_EQ(verbs.get_context(), 0);
        EXPECT_EQ(verbs.alloc_pd(), 0);
        pd = verbs.handle;
    }
    RunningCard card;
    Client client;
    Verbs verbs;
    std::uint32_t pd = 0;
    std::uint32_t handle = 0;
    std::uint32_t key = 0;
    dingo_dm_resp dm{};

    int alloc(std::uint64_t length, std::uint32_t log_alignment = 0) {
        return alloc_by(client, length, log_alignment);
    }
    int alloc_by(Client& who, std::uint64_t length, std::uint32_t log_alignment = 0) {
        Ioctl io(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);
        io.object(UVERBS_ATTR_ALLOC_DM_HANDLE)
            .in(UVERBS_ATTR_ALLOC_DM_LENGTH, length)
            .in(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, log_alignment)
            .out(DINGO_ATTR_ALLOC_DM_RESP, dm);
        const int result = who.ioctl(io);
        handle = static_cast<std::uint32_t>(io.attr(UVERBS_ATTR_ALLOC_DM_HANDLE).data);
        return result;
    }
    int free(std::uint32_t which) {
        Ioctl io(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE);
        io.object(UVERBS_ATTR_FREE_DM_HANDLE, which);
        return client.ioctl(io);
    }
    int reg(std::uint32_t which, std::uint64_t offset, std::uint64_t length,
            std::uint32_t access = kZeroBased) {
        std::uint32_t rkey = 0;
        Ioctl io(UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG);
        io.object(UVERBS_ATTR_REG_DM_MR_HANDLE)
            .object(UVERBS_ATTR_REG_DM_MR_PD_HANDLE, pd)
            .object(UVERBS_ATTR_REG_DM_MR_DM_HANDLE, which)
            .in(UVERBS_ATTR_REG_DM_MR_OFFSET, offset)
            .in(UVERBS_ATTR_REG_DM_MR_LENGTH, length)
            .in(UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, access)
            .out(UVERBS_ATTR_REG_DM_MR_RESP_LKEY, key)
            .out(UVERBS_ATTR_REG_DM_MR_RESP_RKEY, rkey);
        const int result = client.ioctl(io);
        mr = static_cast<std::uint32_t>(io.attr(UVERBS_ATTR_REG_DM_MR_HANDLE).data);
        return result;
    }
    std::uint32_t mr = 0;
};

TEST_F(UverbsDm, ThereIsAsMuchAsIsSaidAndNoMore) {
    EXPECT_EQ(alloc(0), -EINVAL);
    EXPECT_EQ(alloc(64, 13), -EINVAL) << "aligned to more than a page";
    EXPECT_EQ(alloc(kAll + 1), -ENOMEM);
    EXPECT_EQ(alloc(UINT64_MAX), -ENOMEM);
    ASSERT_EQ(alloc(kAll), 0);
    const auto all = handle;
    EXPECT_EQ(dm.length, kAll);
    Client other(card.directory);
    Verbs theirs(other);
    ASSERT_EQ(theirs.get_context(), 0);
    EXPECT_EQ(alloc_by(other, 1), -ENOMEM) << "the budget is the card's";
    EXPECT_EQ(free(all), 0);
    EXPECT_EQ(free(all), -ENOENT);
    EXPECT_EQ(alloc_by(other, kAll, 12), 0);
    EXPECT_EQ(alloc(1), -ENOMEM);
    other.close();
    EXPECT_TRUE(card.wait_for_clients(1));
    EXPECT_EQ(alloc(kAll), 0) << "a client's goes with it";
}

TEST_F(UverbsDm, ItsBytesItsFileAndItsMappingCount) {
    const auto used = [&](const char* what) {
        return card.stats()["quotas"][what]["used"].get<std::uint64_t>();
    };
    const auto descriptors = used("descriptor");
    const auto mappings = used("mapping");
    EXPECT_EQ(used("dm_byte"), 0U);
    ASSERT_EQ(alloc(100), 0);
    ASSERT_EQ(alloc(5000), 0);
    const auto second = handle;
    EXPECT_EQ(used("dm_byte"), 3 * 4096U) << "whole pages";
    EXPECT_EQ(used("descriptor"), descriptors + 2);
    EXPECT_EQ(used("mapping"), mappings + 2);
    EXPECT_EQ(alloc(kAll), -ENOMEM);
    EXPECT_EQ(card.stats()["quotas"]["dm_byte"]["refused"], 1);
    EXPECT_EQ(free(second), 0);
    EXPECT_EQ(used("dm_byte"), 4096U);
    client.close();
    EXPECT_TRUE(card.wait_for_clients(0));
    EXPECT_EQ(used("dm_byte"), 0U);
    EXPECT_EQ(used("mapping"), mappings);
}

TEST_F(UverbsDm, ACardWithoutSaysSo) {
    const RunningCard bare(1024, 0);
    Client other(bare.directory);
    Verbs theirs(other);
    ASSERT_EQ(theirs.get_context(), 0);
    EXPECT_EQ(theirs.context.comp_mask & DINGO_UCONTEXT_DM, 0U);
    EXPECT_EQ(alloc_by(other, 4096), -EOPNOTSUPP);
    EXPECT_NE(verbs.context.comp_mask & DINGO_UCONTEXT_DM, 0U) << "others have it";
}

TEST_F(UverbsDm, RegionsLieInsideAndHoldTheMemory) {
    ASSERT_EQ(alloc(100), 0);
    const auto memory = handle;
    EXPECT_EQ(reg(memory, 0, 100, 0), -EINVAL) << "not zero based";
    EXPECT_EQ(reg(memory, 0, 104), -EINVAL);
    EXPECT_EQ(reg(memory, 104, 0), -EINVAL);
    EXPECT_EQ(reg(memory, 4, UINT64_MAX), -EINVAL);
    EXPECT_EQ(reg(memory, 0, 100, kZeroBased | IB_UVERBS_ACCESS_REMOTE_WRITE), -EINVAL)
        << "remote rights to write want local ones";
    EXPECT_EQ(reg(memory, 0, 100, kZeroBased | IB_UVERBS_ACCESS_ON_DEMAND), -EINVAL);
    EXPECT_EQ(reg(pd, 0, 100), -EINVAL) << "a PD is no device memory";
    ASSERT_EQ(reg(memory, 96, 4), 0);
    const auto first = mr;
    EXPECT_EQ(free(memory), -EBUSY);
    EXPECT_EQ(verbs.destroy_mr(first), 0);
    ASSERT_EQ(reg(memory, 0, 0), 0) << "no byte, but a key";
    EXPECT_NE(key, 0U);
    EXPECT_EQ(verbs.destroy_mr(mr), 0);
    EXPECT_EQ(free(memory), 0);
}

TEST_F(UverbsDm, OnlyItsOwnersMapItAndPiecesAreZeroAndApart) {
    ASSERT_EQ(alloc(5000), 0);
    const dingo_dm_resp first = dm;
    EXPECT_EQ(first.map_bytes, 8192U);
    ASSERT_EQ(alloc(5000), 0);
    EXPECT_NE(dm.dm_mmap, first.dm_mmap);
    dingo_dm_resp again{};
    Ioctl io(UVERBS_OBJECT_DM, DINGO_METHOD_DM_QUERY);
    io.object(DINGO_ATTR_DM_QUERY_HANDLE, handle).out(DINGO_ATTR_DM_QUERY_RESP, again);
    EXPECT_EQ(client.ioctl(io), 0);
    EXPECT_EQ(again.dm_mmap, dm.dm_mmap);
    EXPECT_EQ(again.length, 5000U);

    Request request(DINGO_UVERBS_MMAP);
    request.header.arg = dm.dm_mmap;
    request.header.arg2 = dm.map_bytes;
    const Answer answer = client.send(request);
    ASSERT_EQ(answer.result(), 0);
    auto* const at = static_cast<std::uint8_t*>(
        ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, answer.fds.at(0).get(), 0));
    ASSERT_NE(at, MAP_FAILED);
    EXPECT_EQ(at[0] | at[8191], 0);
    EXPECT_NE(::ftruncate(answer.fds.at(0).get(), 0), 0) << "it cannot be taken from the card";
    ::munmap(at, 8192);
    request.header.arg2 = 4096;
    EXPECT_EQ(client.send(request).result(), -EINVAL) << "in part";
    request.header.arg2 = 8192;
    Client other(card.directory);
    Verbs theirs(other);
    ASSERT_EQ(theirs.get_context(), 0);
    EXPECT_EQ(other.send(request).result(), -EINVAL) << "another context";
    ASSERT_EQ(free(handle), 0);
    EXPECT_EQ(client.send(request).result(), -EINVAL) << "freed";
}

}  // namespace
}  // namespace dingo::uverbs::test
