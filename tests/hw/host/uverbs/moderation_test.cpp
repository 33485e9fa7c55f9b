// SPDX-License-Identifier: BSD-2-Clause
// ibv_modify_cq(3): the extended command MODIFY_CQ, as sent by ibv_cmd_modify_cq(), and the
// device's attributes for it.
#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

struct Moderation {
    explicit Moderation(std::uint64_t withheld = 0)
        : card(1024, 16U << 20, false, 1, withheld), client(card.directory), verbs(client) {
        EXPECT_EQ(verbs.get_context(), 0);
        EXPECT_EQ(verbs.create_cq(), 0);
        cq = verbs.handle;
    }
    /// Sends a command without an answer.
    int modify(std::uint32_t handle, std::uint32_t mask, std::uint32_t reserved = 0) {
        Bytes bytes;
        append(bytes,
               ib_uverbs_cmd_hdr{IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_MODIFY_CQ,
                                 sizeof(ib_uverbs_ex_modify_cq) / 8, 0});
        append(bytes, ib_uverbs_ex_cmd_hdr{0, 0, 0, 0});
        append(bytes, ib_uverbs_ex_modify_cq{handle, mask, {16, 50}, reserved});
        return std::min(client.write(bytes), 0);
    }
    ib_uverbs_cq_moderation_caps caps() {
        ib_uverbs_ex_query_device_resp resp{};
        Bytes bytes;
        append(bytes, ib_uverbs_cmd_hdr{
                          IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_QUERY_DEVICE, 1,
                          static_cast<std::uint16_t>(sizeof resp / 8)});
        append(bytes, ib_uverbs_ex_cmd_hdr{reinterpret_cast<std::uintptr_t>(&resp), 0, 0, 0});
        append(bytes, ib_uverbs_ex_query_device{});
        EXPECT_GT(client.write(bytes), 0);
        return resp.cq_moderation_caps;
    }

    const RunningCard card;
    Client client;
    Verbs verbs;
    std::uint32_t cq = 0;
};

TEST(UverbsModeration, TheKernelsAnswers) {
    Moderation m;
    EXPECT_EQ(m.modify(m.cq, 1), 0);
    EXPECT_EQ(m.modify(m.cq, 0), -EINVAL);
    EXPECT_EQ(m.modify(m.cq, 1, 1), -EINVAL);
    EXPECT_EQ(m.modify(m.cq, 2), -EOPNOTSUPP);
    EXPECT_EQ(m.modify(m.cq, 3), -EOPNOTSUPP);
    EXPECT_EQ(m.modify(m.cq + 100, 1), -EINVAL);
    EXPECT_EQ(m.caps().max_cq_moderation_count, UINT16_MAX);
    EXPECT_EQ(m.caps().max_cq_moderation_period, UINT16_MAX);
}

TEST(UverbsModeration, ACardWithoutItRefusesItAndSaysSo) {
    Moderation m(DINGO_CAP_CQ_MODERATION);
    EXPECT_EQ(m.modify(m.cq, 1), -EOPNOTSUPP);
    EXPECT_EQ(m.caps().max_cq_moderation_count, 0);
    EXPECT_EQ(m.caps().max_cq_moderation_period, 0);
}

}  // namespace
}  // namespace dingo::uverbs::test
