// SPDX-License-Identifier: BSD-2-Clause
// Classic commands: which parts of a request matter, and their errnos.
#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

struct UverbsCommands : ::testing::Test {
    UverbsCommands() : client(card.directory), verbs(client) {
        EXPECT_EQ(verbs.get_context(), 0);
        EXPECT_EQ(verbs.alloc_pd(), 0);
        pd = verbs.handle;
    }
    RunningCard card;
    Client client;
    Verbs verbs;
    std::uint32_t pd = 0;
    std::array<std::byte, 4096> memory{};
};

TEST_F(UverbsCommands, DeviceTellsTheReadsAndAtomicsOfAllQueuePairs) {
    ib_uverbs_query_device_resp attr{};
    ASSERT_GT(client.command(IB_USER_VERBS_CMD_QUERY_DEVICE,
                             Verbs::zeroed<ib_uverbs_query_device>(), attr),
              0);
    ASSERT_GT(attr.max_qp_rd_atom, 0U);
    EXPECT_EQ(attr.max_res_rd_atom, attr.max_qp_rd_atom * attr.max_qp);
}

// ibv_reg_mr() accepts IBV_ACCESS_FLUSH_*: on a device without it, it is unsupported, not invalid.
TEST_F(UverbsCommands, AccessThatTheDeviceLacksIsNotAccessThatNobodyKnows) {
    EXPECT_EQ(verbs.reg_mr(pd, memory.data(), 64, 1U << 8), -EOPNOTSUPP) << "FLUSH_GLOBAL";
    EXPECT_EQ(verbs.reg_mr(pd, memory.data(), 64, 1U << 9), -EOPNOTSUPP) << "FLUSH_PERSISTENT";
    EXPECT_EQ(verbs.reg_mr(pd, memory.data(), 64, 1U << 10), -EINVAL);
}

// Checked before the client is asked to share its memory.
TEST_F(UverbsCommands, PagingOnDemandIsRefusedAtOnce) {
    auto cmd = Verbs::zeroed<ib_uverbs_reg_mr>();
    cmd.start = cmd.hca_va = reinterpret_cast<std::uintptr_t>(memory.data());
    cmd.length = 64;
    cmd.pd_handle = pd;
    cmd.access_flags = IB_UVERBS_ACCESS_ON_DEMAND;
    std::array<std::uint32_t, 3> room{};
    cmd.response = reinterpret_cast<std::uintptr_t>(room.data());
    Request request(DINGO_UVERBS_WRITE);
    request.payload = Client::classic(IB_USER_VERBS_CMD_REG_MR, cmd, sizeof room);
    const Answer answer = client.send(request);
    EXPECT_EQ(answer.header.type, DINGO_UVERBS_DONE);
    EXPECT_EQ(answer.result(), -EOPNOTSUPP);
}

// Checked before the client is asked to share its memory.
TEST_F(UverbsCommands, ARegionsAddressesAreCheckedByBothCommands) {
    ASSERT_EQ(verbs.reg_mr(pd, memory.data(), 64), 0);
    const std::uint32_t mr = verbs.handle;
    const std::uint64_t at = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uint64_t in_page = at % 4096;
    const std::uint64_t last_page = UINT64_MAX - 4095;
    struct Row {
        std::uint64_t start, length, iova;
        bool good;
    };
    const Row rows[] = {
        {at, 64, at, true},
        {at, 64, at + 4096, true},
        {at, 64, in_page, true},
        {at, 64, at + 1, false},
        {at, 64, at + 2, false},
        {at, 64, at ^ 2048, false},
        {at, 0, at, false},
        {at, UINT64_MAX - at, in_page, true},
        {at, UINT64_MAX - at + 1, in_page, false},
        {at, 4096 - in_page, last_page + in_page, true},
        {at, 4097 - in_page, last_page + in_page, false},
    };
    std::array<std::uint32_t, 3> room{};
    const auto answer = [&](std::uint32_t number, auto cmd, const Row& row) {
        cmd.response = reinterpret_cast<std::uintptr_t>(room.data());
        cmd.start = row.start;
        cmd.length = row.length;
        cmd.hca_va = row.iova;
        Request request(DINGO_UVERBS_WRITE);
        request.payload = Client::classic(number, cmd, sizeof room);
        const Answer got = client.send(request);
        return got.header.type == DINGO_UVERBS_NEED_SHARING ? 1 : got.result();
    };
    for (const Row& row : rows) {
        const auto text =
            testing::PrintToString(std::vector<std::uint64_t>{row.start, row.length, row.iova});
        auto reg = Verbs::zeroed<ib_uverbs_reg_mr>();
        reg.pd_handle = pd;
        EXPECT_EQ(answer(IB_USER_VERBS_CMD_REG_MR, reg, row), row.good ? 1 : -EINVAL) << text;
        auto rereg = Verbs::zeroed<ib_uverbs_rereg_mr>();
        rereg.mr_handle = mr;
        rereg.flags = 1;
        EXPECT_EQ(answer(IB_USER_VERBS_CMD_REREG_MR, rereg, row), row.good ? 1 : -EINVAL) << text;
    }
}

TEST_F(UverbsCommands, ReregThatNamesNoPdLooksAtNone) {
    ASSERT_EQ(verbs.reg_mr(pd, memory.data(), 64), 0);
    const std::uint32_t mr = verbs.handle;
    const std::uint32_t key = verbs.key;
    ASSERT_EQ(verbs.alloc_pd(), 0);
    const std::uint32_t other = verbs.handle;
    const auto rereg = [&](std::uint32_t flags, std::uint32_t pd_handle, std::uint32_t access = 1) {
        auto cmd = Verbs::zeroed<ib_uverbs_rereg_mr>();
        cmd.mr_handle = mr;
        cmd.flags = flags;
        cmd.pd_handle = pd_handle;
        cmd.access_flags = access;
        std::array<std::uint32_t, 2> resp{};
        const int result = std::min(client.command(IB_USER_VERBS_CMD_REREG_MR, cmd, resp), 0);
        EXPECT_EQ(resp, (std::array{result == 0 ? key : 0, result == 0 ? key : 0}));
        return result;
    };
    constexpr std::uint32_t kPd = 2;
    constexpr std::uint32_t kAccess = 4;
    EXPECT_EQ(rereg(kAccess, 0xffff), 0);
    EXPECT_EQ(rereg(kAccess, other), 0);
    EXPECT_EQ(verbs.destroy_pd(other), 0) << "it did not get the region";
    EXPECT_EQ(verbs.destroy_pd(pd), -EBUSY);
    EXPECT_EQ(rereg(kPd, 0xffff), -EINVAL);
    EXPECT_EQ(rereg(kPd, pd, 1U << 31), 0) << "no rights are asked for";
    EXPECT_EQ(rereg(kAccess, pd, 1U << 31), -EINVAL);
}

// As in the kernel, where ib_uverbs checks before the driver does.
TEST_F(UverbsCommands, AWrongPortIsToldBeforeWhatTheDriverLacks) {
    ASSERT_EQ(verbs.create_cq(), 0);
    ASSERT_EQ(verbs.create_qp(pd, verbs.handle), 0);
    const std::uint32_t qp = verbs.handle;
    constexpr std::uint32_t kAv = 1U << 7;
    constexpr std::uint32_t kAltPath = 1U << 14;
    auto cmd = Verbs::zeroed<ib_uverbs_modify_qp>();
    cmd.dest.is_global = 1;
    cmd.alt_port_num = cmd.alt_dest.port_num = 1;
    cmd.dest.port_num = 2;
    EXPECT_EQ(verbs.modify_qp(cmd, qp, 2, kAv | kAltPath), -EINVAL);
    cmd.dest.port_num = 1;
    EXPECT_EQ(verbs.modify_qp(cmd, qp, 2, kAv | kAltPath), -EOPNOTSUPP);
}

}  // namespace
}  // namespace dingo::uverbs::test
