// SPDX-License-Identifier: BSD-2-Clause
// The card's answers to a client that imports a context or a protection domain.
#include <sys/eventfd.h>

#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

struct UverbsImport : ::testing::Test {
    UverbsImport() : client(card.directory), verbs(client) {}
    RunningCard card;
    Client client;
    Verbs verbs;

    int query_context(dingo_alloc_ucontext_resp& resp) {
        Ioctl io(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
        io.out(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, vectors)
            .out(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, support)
            .out(DINGO_ATTR_QUERY_CONTEXT_RESP, resp);
        const int result = client.ioctl(io);
        EXPECT_EQ(io.valid(DINGO_ATTR_QUERY_CONTEXT_RESP), result == 0);
        return result;
    }
    int query_pd(std::uint32_t handle) {
        Ioctl io(UVERBS_OBJECT_PD, DINGO_METHOD_PD_QUERY);
        io.object(DINGO_ATTR_PD_QUERY_HANDLE, handle).out(DINGO_ATTR_PD_QUERY_RESP_PDN, pdn);
        return client.ioctl(io);
    }
    std::uint32_t vectors = 0;
    std::uint32_t pdn = 0;
    std::uint64_t support = 0;
};

TEST_F(UverbsImport, ContextIsDescribedAsToItsMaker) {
    dingo_alloc_ucontext_resp resp{};
    EXPECT_EQ(query_context(resp), -EINVAL) << "there is none yet";
    ASSERT_EQ(verbs.get_context(), 0);
    ASSERT_EQ(query_context(resp), 0);
    EXPECT_EQ(vectors, verbs.vectors);
    EXPECT_NE(support, 0U);
    EXPECT_EQ(resp.caps, verbs.context.caps);
    EXPECT_EQ(resp.kick_mode, verbs.context.kick_mode);
    EXPECT_EQ(resp.status_mmap, verbs.context.status_mmap);
    EXPECT_EQ(resp.max_inline, verbs.context.max_inline);
    EXPECT_EQ(resp.log_max_sq, verbs.context.log_max_sq);
    EXPECT_EQ(resp.log_max_rq, verbs.context.log_max_rq);
}

TEST_F(UverbsImport, ImporterKicksThroughADescriptorOfItsOwn) {
    dingo_alloc_ucontext_resp resp{};
    ASSERT_EQ(verbs.get_context(), 0);
    ASSERT_EQ(query_context(resp), 0);
    ASSERT_NE(resp.kick_fd, verbs.context.kick_fd);
    const UniqueFd own(resp.kick_fd);
    EXPECT_EQ(::eventfd_write(own.get(), 1), 0);
}

TEST_F(UverbsImport, TheDriversAnswerNeedNotBeAskedFor) {
    ASSERT_EQ(verbs.get_context(), 0);
    Ioctl io(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
    io.out(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, vectors);
    EXPECT_EQ(client.ioctl(io), 0);
    std::uint64_t small = 0;
    Ioctl short_one(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
    short_one.out(DINGO_ATTR_QUERY_CONTEXT_RESP, small);
    EXPECT_EQ(client.ioctl(short_one), -EINVAL) << "no room";
}

TEST_F(UverbsImport, PdIsFoundByItsHandleOnly) {
    ASSERT_EQ(verbs.get_context(), 0);
    ASSERT_EQ(verbs.alloc_pd(), 0);
    const auto pd = verbs.handle;
    EXPECT_EQ(query_pd(pd), 0);
    EXPECT_EQ(query_pd(pd + 100), -ENOENT);
    ASSERT_EQ(verbs.create_cq(), 0);
    EXPECT_EQ(query_pd(verbs.handle), -EINVAL) << "a CQ is no PD";
}

}  // namespace
}  // namespace dingo::uverbs::test
