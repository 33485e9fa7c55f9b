// SPDX-License-Identifier: BSD-2-Clause
// References between objects, isolation of clients, and what remains when a client disconnects.
#include <sys/resource.h>
#include <sys/wait.h>

#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

struct UverbsLifetime : ::testing::Test {
    UverbsLifetime() : client(card.directory), verbs(client) { EXPECT_EQ(verbs.get_context(), 0); }
    RunningCard card;
    Client client;
    Verbs verbs;
    std::array<std::byte, 4096> memory{};
};

TEST_F(UverbsLifetime, WhatIsInUseIsBusyAndStaysUsable) {
    ASSERT_EQ(verbs.alloc_pd(), 0);
    const auto pd = verbs.handle;
    ASSERT_EQ(verbs.create_cq(), 0);
    const auto cq = verbs.handle;
    ASSERT_EQ(verbs.create_srq(pd), 0);
    const auto srq = verbs.handle;
    ASSERT_EQ(verbs.create_qp(pd, cq, static_cast<int>(srq)), 0);
    const auto qp = verbs.handle;
    ASSERT_EQ(verbs.reg_mr(pd, memory.data(), 64), 0);
    const auto mr = verbs.handle;

    EXPECT_EQ(verbs.destroy_pd(pd), -EBUSY);
    EXPECT_EQ(verbs.destroy_cq(cq), -EBUSY);
    EXPECT_EQ(verbs.destroy_srq(srq), -EBUSY);
    EXPECT_EQ(verbs.create_qp(pd, cq), 0) << "all of it can still be used";
    EXPECT_EQ(verbs.destroy_qp(verbs.handle), 0);
    EXPECT_EQ(verbs.destroy_qp(qp), 0);
    EXPECT_EQ(verbs.destroy_cq(cq), 0);
    EXPECT_EQ(verbs.destroy_srq(srq), 0);
    EXPECT_EQ(verbs.destroy_pd(pd), -EBUSY);
    EXPECT_EQ(verbs.destroy_mr(mr), 0);
    EXPECT_EQ(verbs.destroy_pd(pd), 0);
    EXPECT_EQ(verbs.destroy_pd(pd), -ENOENT);
}

TEST_F(UverbsLifetime, HandlesOfAnotherTypeOrConnectionAreNotFound) {
    ASSERT_EQ(verbs.alloc_pd(), 0);
    const auto pd = verbs.handle;
    EXPECT_EQ(verbs.destroy_cq(pd), -EINVAL);
    EXPECT_EQ(verbs.create_qp(pd, pd), -EINVAL);
    Client other(card.directory);
    Verbs theirs(other);
    ASSERT_EQ(theirs.get_context(), 0);
    EXPECT_EQ(theirs.destroy_pd(pd), -ENOENT);
    EXPECT_EQ(theirs.reg_mr(pd, memory.data(), 64), -EINVAL);
    EXPECT_EQ(verbs.destroy_pd(pd), 0);
}

TEST_F(UverbsLifetime, FailureToAnswerUndoesWhatWasMade) {
    Ioctl io(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
    ib_uverbs_attr nowhere{};
    nowhere.attr_id = UVERBS_ATTR_CREATE_CQ_RESP_CQE;
    nowhere.len = 4;
    nowhere.data = 64;
    io.object(UVERBS_ATTR_CREATE_CQ_HANDLE)
        .in(UVERBS_ATTR_CREATE_CQ_CQE, std::uint32_t{16})
        .in(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, std::uint64_t{1})
        .in(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, std::uint32_t{0})
        .in(UVERBS_ATTR_UHW_IN, dingo_create_cq_req{})
        .raw(nowhere);
    EXPECT_EQ(client.ioctl(io), -EFAULT);
    EXPECT_EQ(card.objects("cq"), 0);
    auto cmd = Verbs::zeroed<ib_uverbs_alloc_pd>();
    cmd.response = 64;
    EXPECT_EQ(client.write(Client::classic(IB_USER_VERBS_CMD_ALLOC_PD, cmd, 4)), -EFAULT);
    EXPECT_EQ(card.objects("pd"), 0);
    auto channel = Verbs::zeroed<ib_uverbs_create_comp_channel>();
    channel.response = 64;
    EXPECT_EQ(client.write(Client::classic(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, channel, 4)),
              -EFAULT);
    EXPECT_EQ(card.objects("channel"), 0);
}

TEST_F(UverbsLifetime, ClosedChannelsGoUnlessACqUsesThem) {
    const int channel = verbs.channel();
    ASSERT_GE(channel, 0);
    ASSERT_EQ(verbs.create_cq(channel), 0);
    const auto cq = verbs.handle;
    EXPECT_EQ(card.objects("channel"), 1);
    ::close(channel);
    EXPECT_EQ(card.objects("channel"), 1);
    EXPECT_EQ(verbs.destroy_cq(cq), 0);
    for (int i = 0; i < 1000 && card.objects("channel") != 0; ++i) {
    }
    EXPECT_EQ(card.objects("channel"), 0);
}

TEST_F(UverbsLifetime, ThousandsOfChannelsMayComeAndGo) {
    for (int i = 0; i < 5000; ++i) {
        const int fd = verbs.channel();
        ASSERT_GE(fd, 0) << i;
        ::close(fd);
    }
}

TEST_F(UverbsLifetime, AConnectionHas4096ChannelsAtMost) {
    constexpr std::size_t kMost = 4096;
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit many = before;
    many.rlim_cur = before.rlim_max;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &many), 0);
    if (many.rlim_cur < 2 * kMost + 500) {
        GTEST_SKIP() << "both ends are this process's, which may not open so many";
    }
    std::vector<UniqueFd> channels;
    for (std::size_t n = 0; n < kMost; ++n) {
        channels.emplace_back(n % 2 == 0 ? verbs.channel() : verbs.async_fd());
        ASSERT_TRUE(bool(channels.back())) << n;
    }
    EXPECT_EQ(verbs.channel(), -EMFILE);
    EXPECT_EQ(verbs.async_fd(), -EMFILE);
    Client other(card.directory);
    Verbs theirs(other);
    EXPECT_EQ(theirs.get_context(), 0);
    EXPECT_GE(theirs.channel(), 0) << "others have theirs";
    channels.pop_back();
    for (int i = 0; i < 1000 && card.objects("channel") > static_cast<int>(kMost); ++i) {
    }
    EXPECT_GE(verbs.channel(), 0);
    channels.clear();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(UverbsLifetime, EverythingGoesWithTheConnection) {
    for (int round = 0; round < 3; ++round) {
        auto another = std::make_unique<Client>(card.directory);
        Verbs theirs(*another);
        ASSERT_EQ(theirs.get_context(), 0);
        ASSERT_EQ(theirs.alloc_pd(), 0);
        const auto pd = theirs.handle;
        ASSERT_EQ(theirs.create_cq(theirs.channel()), 0);
        const auto cq = theirs.handle;
        ASSERT_EQ(theirs.create_srq(pd), 0);
        ASSERT_EQ(theirs.create_qp(pd, cq, static_cast<int>(theirs.handle)), 0);
        ASSERT_EQ(theirs.reg_mr(pd, memory.data(), 64), 0);
        EXPECT_EQ(card.objects("qp"), 1);
        const auto stats = card.stats();
        EXPECT_EQ(stats["qps"].size(), 1u);
        EXPECT_EQ(stats["qps"][0]["progress"]["sq_posted"], 0);
        another->close();
        ASSERT_TRUE(card.wait_for_clients(1));
        EXPECT_EQ(card.objects("qp"), 0);
    }
}

TEST_F(UverbsLifetime, DescriptorsOfTheCardComeBack) {
    const auto once = [&] {
        Client another(card.directory);
        Verbs theirs(another);
        EXPECT_EQ(theirs.get_context(), 0);
        ::close(theirs.context.kick_fd);
        EXPECT_EQ(theirs.alloc_pd(), 0);
        const auto pd = theirs.handle;
        const int channel = theirs.channel();
        const int async = theirs.async_fd();
        EXPECT_EQ(theirs.create_cq(channel, 1, 64, async), 0);
        EXPECT_EQ(theirs.create_qp(pd, theirs.handle), 0);
        EXPECT_EQ(theirs.reg_mr(pd, memory.data(), 64), 0);
        ::close(channel);
        ::close(async);
    };
    once();
    ASSERT_TRUE(card.wait_for_clients(1));
    const std::size_t before = open_descriptors();
    for (int i = 0; i < 50; ++i) {
        once();
    }
    ASSERT_TRUE(card.wait_for_clients(1));
    EXPECT_EQ(open_descriptors(), before);
}

TEST_F(UverbsLifetime, ForkedChildMayAskAndItsDeathDestroysNothing) {
    ASSERT_EQ(verbs.alloc_pd(), 0);
    const auto pd = verbs.handle;
    const pid_t child = ::fork();
    if (child == 0) {
        const bool ok = client.hello().result() == 0 && verbs.alloc_pd() == 0;
        ::_exit(ok ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(card.objects("pd"), 2);
    EXPECT_EQ(verbs.destroy_pd(pd), 0);
    verbs.handle = 77;
    EXPECT_EQ(verbs.alloc_pd(), 0);
    EXPECT_EQ(verbs.handle, pd) << "its answers are in its own memory, not the child's";
}

TEST_F(UverbsLifetime, PortEventsGoToEveryAsyncDescriptorAndTheEndOfTheCardToo) {
    const int first = verbs.async_fd();
    const int second = verbs.async_fd();
    ASSERT_GE(second, 0);
    const auto event_of = [](int fd) {
        ib_uverbs_async_event_desc event{};
        return ::read(fd, &event, sizeof event) == static_cast<ssize_t>(sizeof event)
                   ? static_cast<int>(event.event_type)
                   : -1;
    };
    card.control(R"({"cmd":"link","up":false})");
    EXPECT_EQ(event_of(first), 10);
    EXPECT_EQ(event_of(second), 10);
    card.control(R"({"cmd":"link","up":true})");
    EXPECT_EQ(event_of(first), 9);
    EXPECT_EQ(event_of(second), 9);
    card.stop();
    EXPECT_EQ(event_of(first), 8) << "DEVICE_FATAL";
    EXPECT_EQ(event_of(second), 8);
    EXPECT_EQ(event_of(first), -1);
    ::close(first);
    ::close(second);
}

TEST_F(UverbsLifetime, QueueMemoryIsMappedByItsOwnOffsetsOnly) {
    Request r(DINGO_UVERBS_MMAP);
    r.header.arg = verbs.context.status_mmap;
    r.header.arg2 = 4096;
    Answer status = client.send(r);
    EXPECT_EQ(status.result(), 0);
    EXPECT_EQ(status.fds.size(), 1u);
    r.header.arg2 = 8192;
    EXPECT_EQ(client.send(r).result(), -EINVAL);
    r.header.arg = std::uint64_t{1} << 50;
    r.header.arg2 = 4096;
    EXPECT_EQ(client.send(r).result(), -EINVAL);
}

}  // namespace
}  // namespace dingo::uverbs::test
