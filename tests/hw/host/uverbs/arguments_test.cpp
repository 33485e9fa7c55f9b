// SPDX-License-Identifier: BSD-2-Clause
// Data that a request names in its client's memory is sent with the request.
#include "host/uverbs/arguments.h"

#include "../../base/trap.h"
#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

Bytes bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

TEST(UverbsRequestArguments, AreReadWithinOneOfThemOnly) {
    Arguments arguments;
    arguments.add(1, 1000, bytes_of("abcdef"));
    arguments.add(2, 1006, bytes_of("gh"));
    arguments.add_room(3, 2000, 8);
    Bytes two(2);
    EXPECT_TRUE(arguments.read(1004, two));
    EXPECT_EQ(two, bytes_of("ef"));
    EXPECT_TRUE(arguments.read(1006, two));
    EXPECT_EQ(two, bytes_of("gh"));
    for (const std::uint64_t va : {999UL, 1005UL, 1007UL, 1008UL, 2000UL, UINT64_MAX}) {
        EXPECT_FALSE(arguments.read(va, two)) << va;
    }
    for (const std::uint64_t va : {1000UL, 1005UL, 1999UL, 2007UL, UINT64_MAX}) {
        EXPECT_FALSE(arguments.write(va, two)) << va;
    }
    EXPECT_TRUE(arguments.results().empty());
    EXPECT_EQ(arguments.num_input_bytes(), 8U);
    arguments.forget_inputs();
    EXPECT_EQ(arguments.num_input_bytes(), 0U);
    EXPECT_FALSE(arguments.read(1004, two));
    EXPECT_TRUE(arguments.write(2006, two));
}

TEST(UverbsRequestArguments, WhatWasWrittenGoesBackAndNoMore) {
    Arguments arguments;
    arguments.add_room(1, 1000, 60'000);
    EXPECT_TRUE(arguments.write(1002, bytes_of("XY")));
    EXPECT_TRUE(arguments.write(1004, bytes_of("Z")));
    EXPECT_TRUE(arguments.write(1001, bytes_of("ab")));
    EXPECT_FALSE(arguments.write(1006, bytes_of("behind a gap")));
    ASSERT_EQ(arguments.results().size(), 1U);
    EXPECT_EQ(arguments.results()[0].argument, 1U);
    EXPECT_EQ(arguments.results()[0].offset, 1U);
    EXPECT_EQ(arguments.results()[0].length, 4U);
    EXPECT_EQ(arguments.result_bytes(), bytes_of("abYZ"));
    EXPECT_EQ(arguments.num_result_bytes(), 4U);
    arguments.forget_results();
    EXPECT_TRUE(arguments.write(60'999, bytes_of("A")));
    EXPECT_EQ(arguments.result_bytes(), bytes_of("A"));
    EXPECT_EQ(arguments.results()[0].offset, 59'999U);
}

TEST(UverbsRequestArguments, AttributesAreReadAndWritten) {
    Arguments arguments;
    arguments.add_attributes(500, bytes_of("attributes"));
    EXPECT_TRUE(arguments.write(508, bytes_of("E")));
    EXPECT_TRUE(arguments.write(503, bytes_of("R")));
    ASSERT_EQ(arguments.results().size(), 1U);
    EXPECT_EQ(arguments.results()[0].argument, 0U);
    EXPECT_EQ(arguments.results()[0].offset, 3U);
    EXPECT_EQ(arguments.result_bytes(), bytes_of("RibutE"));
    Bytes all(10);
    EXPECT_TRUE(arguments.read(500, all));
    EXPECT_EQ(all, bytes_of("attributes")) << "as the client has it";
}

// A page fault in the client's memory takes as long as the client likes.
TEST(UverbsRequestArguments, NobodyLooksForThemInTheClientsMemory) {
    const dingo::test::Trap trap;
    if (!trap.works()) {
        GTEST_SKIP() << "no userfaultfd";
    }
    RunningCard card(1024, 16U << 20, true);
    Client hostile(card.directory);
    Client honest(card.directory);
    Verbs theirs(hostile);
    ASSERT_EQ(theirs.get_context(), 0);
    const auto at = reinterpret_cast<std::uintptr_t>(trap.page());

    ib_uverbs_alloc_pd command{};
    command.response = at;
    Request write(DINGO_UVERBS_WRITE);
    write.payload = Client::classic(IB_USER_VERBS_CMD_ALLOC_PD, command, 8);

    Ioctl io(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
    io.constant(UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1);
    ib_uverbs_attr room{};
    room.attr_id = UVERBS_ATTR_QUERY_PORT_RESP;
    room.len = sizeof(ib_uverbs_query_port_resp_ex);
    room.data = at;
    const auto block = io.raw(room).block();
    Request ioctl(DINGO_UVERBS_IOCTL);
    ioctl.payload.assign(block.begin(), block.end());
    ioctl.header.arg = at + 2048;

    for (Request* const request : {&write, &ioctl}) {
        request->arguments = false;
        EXPECT_TRUE(dingo::test::returns_soon(
            [&] { EXPECT_EQ(hostile.send(*request).result(), -EFAULT); }, [&] { trap.let_go(); }));
        Verbs verbs(honest);
        EXPECT_EQ(verbs.get_context(), request == &write ? 0 : -EINVAL) << "one a connection";
    }
    EXPECT_EQ(card.stats()["host"]["failed"], 3);
}

// The answers occupy the card's memory until they are read.
TEST(UverbsRequestArguments, LargeAnswersThatNobodyReadsHaveAnEnd) {
    RunningCard card;
    Client client(card.directory);
    Verbs verbs(client);
    ASSERT_EQ(verbs.get_context(), 0);
    std::vector<std::byte> large(60'000);
    Ioctl io(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
    io.constant(UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1);
    ib_uverbs_attr room{};
    room.attr_id = UVERBS_ATTR_QUERY_PORT_RESP;
    room.len = static_cast<std::uint16_t>(large.size());
    room.data = reinterpret_cast<std::uintptr_t>(large.data());
    const auto block = io.raw(room).block();
    Request request(DINGO_UVERBS_IOCTL);
    request.payload.assign(block.begin(), block.end());
    request.header.arg = reinterpret_cast<std::uintptr_t>(block.data());
    ASSERT_EQ(client.send(request).result(), 0);
    const Bytes bytes = request.bytes();
    std::vector<UniqueFd> unread;
    for (int i = 0; i < 270; ++i) {
        std::array<int, 2> pair{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
        unread.emplace_back(pair[0]);
        const UniqueFd theirs(pair[1]);
        client.send_bytes_without_answer(bytes, theirs.get());
    }
    EXPECT_EQ(client.send(request).result(), -ETOOMANYREFS);
    EXPECT_EQ(verbs.alloc_pd(), 0);
    EXPECT_EQ(card.stats()["host"]["unread"], 15);
    unread.clear();
    EXPECT_EQ(client.send(request).result(), 0);
}

}  // namespace
}  // namespace dingo::uverbs::test
