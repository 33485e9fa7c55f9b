// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/events.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <rdma/ib_user_verbs.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <tuple>

#include "../../base/trap.h"
#include "host/uverbs/objects.h"

namespace dingo::uverbs {
namespace {

struct Fixture : ::testing::Test {
    std::shared_ptr<EventChannel> make(EventChannel::Kind kind) {
        return std::make_shared<EventChannel>(kind, poller, stats,
                                              [this](EventChannel&) { ++closed; });
    }
    /// Takes events back as a request that destroys an object does.
    template <typename Mine>
    unsigned take_back(const std::shared_ptr<EventChannel>& channel, Mine mine) {
        EventPause pause;
        pause.add(channel, true);
        wait_for(pause);
        return channel->take_back(mine);
    }
    void wait_for(const EventPause& pause) {
        constexpr unsigned kMost = 1000;  // periods of 10 ms
        for (unsigned n = 0; pause.missing() != nullptr && n < kMost; ++n) {
            poller.wait(10'000'000);
        }
        EXPECT_EQ(pause.missing(), nullptr);
    }
    static std::uint64_t read_completion(int fd) {
        ib_uverbs_comp_event_desc desc{};
        return ::recv(fd, &desc, sizeof desc, MSG_DONTWAIT) == sizeof desc ? desc.cq_handle : 0;
    }
    Poller poller;
    EventStats stats;
    int closed = 0;
};
using UverbsEvents = Fixture;

TEST_F(UverbsEvents, UnreadEventsOfOneOwnerAreTakenBackAndOthersKeepTheirOrder) {
    auto channel = make(EventChannel::Kind::kCompletion);
    const UniqueFd client = channel->give_client_end();
    const HeldChannel hold(channel, client.get());
    for (std::uint64_t i = 1; i <= 6; ++i) {
        std::ignore = channel->post({i % 2 == 0 ? 100 : i, 0});
    }
    EXPECT_EQ(read_completion(client.get()), 1u);
    EXPECT_EQ(read_completion(client.get()), 100u);
    EXPECT_EQ(take_back(channel, [](const auto& e) { return e.element == 100; }), 2u);
    EXPECT_EQ(read_completion(client.get()), 3u);
    EXPECT_EQ(read_completion(client.get()), 5u);
    EXPECT_EQ(read_completion(client.get()), 0u);
}

// The channel may stay with its owner: the loop must not be woken forever.
TEST_F(UverbsEvents, AnEndThatTheClientShutsDownIsReportedOnce) {
    auto channel = make(EventChannel::Kind::kAsync);
    const UniqueFd client = channel->give_client_end();
    ASSERT_EQ(::shutdown(client.get(), SHUT_RDWR), 0);
    for (int n = 0; n < 3; ++n) {
        poller.wait(0);
    }
    EXPECT_EQ(closed, 1);
    pollfd ready{poller.fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&ready, 1, 0), 0);
    std::ignore = channel->post({1, 0});
    std::ignore = channel->post({2, 0});
    EXPECT_EQ(stats.dropped, 2U);
    EXPECT_EQ(take_back(channel, [](const auto& /*event*/) { return true; }), 0U);
}

TEST_F(UverbsEvents, EventsBeyondTheSocketWaitAndComeLater) {
    auto channel = make(EventChannel::Kind::kCompletion);
    const UniqueFd client = channel->give_client_end();
    const HeldChannel hold(channel, client.get());
    constexpr std::uint64_t kMany = 5000;
    for (std::uint64_t i = 1; i <= kMany; ++i) {
        std::ignore = channel->post({i, 0});
    }
    std::uint64_t next = 1;
    for (int rounds = 0; next <= kMany && rounds < 100'000; ++rounds) {
        while (read_completion(client.get()) == next) {
            ++next;
        }
        poller.wait(0);
    }
    EXPECT_EQ(next, kMany + 1);
    EXPECT_EQ(stats.dropped, 0u);
}

TEST_F(UverbsEvents, TheOnlyOneBeyondTheSocketComesLaterToo) {
    unsigned room = 0;
    for (const unsigned beyond : {0U, 1U}) {
        auto channel = make(EventChannel::Kind::kCompletion);
        const UniqueFd client = channel->give_client_end();
        const HeldChannel hold(channel, client.get());
        const unsigned posted = beyond == 0 ? 5000 : room + beyond;
        for (unsigned i = 0; i < posted; ++i) {
            std::ignore = channel->post({1, 0});
        }
        const auto read = [&] {
            unsigned count = 0;
            while (read_completion(client.get()) == 1) {
                ++count;
            }
            return count;
        };
        room = read();
        ASSERT_LT(room, posted) << "the socket takes as many each time";
        poller.wait(0);
        EXPECT_EQ(read(), beyond == 0 ? std::min(room, posted - room) : beyond);
    }
}

TEST_F(UverbsEvents, TakeBackCountsThoseThatWaitInTheCard) {
    auto channel = make(EventChannel::Kind::kCompletion);
    const UniqueFd client = channel->give_client_end();
    const HeldChannel hold(channel, client.get());
    for (int i = 0; i < 5000; ++i) {
        std::ignore = channel->post({static_cast<std::uint64_t>(i % 2), 0});
    }
    EXPECT_EQ(take_back(channel, [](const auto& e) { return e.element == 1; }), 2500u);
    EXPECT_EQ(take_back(channel, [](const auto& e) { return e.element == 0; }), 2500u);
    EXPECT_EQ(read_completion(client.get()), 0u);
}

TEST_F(UverbsEvents, WhatComesDuringAPauseComesBehindWhatWasThere) {
    auto channel = make(EventChannel::Kind::kCompletion);
    const UniqueFd client = channel->give_client_end();
    const HeldChannel hold(channel, client.get());
    const auto post = [&](std::uint64_t element) { EXPECT_TRUE(channel->post({element, 0})); };
    post(1);
    post(2);
    {
        EventPause pause;
        pause.add(channel, true);
        post(3);
        EventPause other;
        other.add(channel, false);
        wait_for(pause);
        post(4);
        EXPECT_EQ(read_completion(client.get()), 0U);
        EXPECT_EQ(channel->take_back([](const auto& e) { return e.element == 2; }), 1U);
    }
    for (const std::uint64_t element : {1U, 3U, 4U, 0U}) {
        EXPECT_EQ(read_completion(client.get()), element);
    }
}

TEST_F(UverbsEvents, APauseThatEndsTooSoonLosesNothing) {
    auto channel = make(EventChannel::Kind::kCompletion);
    const UniqueFd client = channel->give_client_end();
    const HeldChannel hold(channel, client.get());
    EXPECT_TRUE(channel->post({1, 0}));
    {
        EventPause pause;
        pause.add(channel, true);
    }
    EXPECT_TRUE(channel->post({2, 0}));
    {
        EventPause again;
        again.add(channel, false);
        wait_for(again);
    }
    EXPECT_EQ(read_completion(client.get()), 1U);
    EXPECT_EQ(read_completion(client.get()), 2U);
}

// The client reads an event into memory that faults: until then its end is locked.
TEST_F(UverbsEvents, AClientThatHoldsItsEndIsNotWaitedFor) {
    const dingo::test::Trap trap;
    if (!trap.works()) {
        GTEST_SKIP() << "no userfaultfd";
    }
    auto channel = make(EventChannel::Kind::kCompletion);
    const UniqueFd client = channel->give_client_end();
    const HeldChannel hold(channel, client.get());
    EXPECT_TRUE(channel->post({1, 0}));
    EXPECT_TRUE(channel->post({2, 0}));
    std::thread reader(
        [&] { std::ignore = ::read(client.get(), trap.page(), dingo::test::Trap::kBytes); });
    ASSERT_TRUE(trap.wait_until_used());
    EventPause pause;
    EXPECT_TRUE(dingo::test::returns_soon([&] { pause.add(channel, true); },
                                          [&] {
                                              poller.wait(0);
                                              EXPECT_EQ(pause.missing(), channel.get());
                                              trap.let_go();
                                          }));
    wait_for(pause);
    EXPECT_EQ(channel->take_back([](const auto& /*event*/) { return true; }), 1U);
    reader.join();
}

// The thread continues to read, and then closes the descriptor.
TEST_F(UverbsEvents, AChannelMayEndWhileItsEventsComeBack) {
    auto channel = make(EventChannel::Kind::kCompletion);
    const UniqueFd client = channel->give_client_end();
    {
        const HeldChannel hold(channel, client.get());
        EXPECT_TRUE(channel->post({1, 0}));
        EventPause pause;
        pause.add(channel, true);
    }
    channel.reset();
    poller.wait(0);
    EXPECT_EQ(closed, 0);
}

// Otherwise the card would never sleep.
TEST_F(UverbsEvents, AChannelWakesTheCardOnlyWhenThereIsSomethingToSend) {
    auto channel = make(EventChannel::Kind::kCompletion);
    const UniqueFd client = channel->give_client_end();
    const HeldChannel hold(channel, client.get());
    const auto wakes = [&] {
        pollfd ready{poller.fd(), POLLIN, 0};
        return ::poll(&ready, 1, 0) != 0;
    };
    EXPECT_FALSE(wakes());
    std::ignore = channel->post({1, 0});
    EXPECT_FALSE(wakes()) << "it has been sent";
    constexpr unsigned kMany = 5000;  // more than the socket takes
    for (unsigned i = 0; i < kMany; ++i) {
        std::ignore = channel->post({2, 0});
    }
    EXPECT_FALSE(wakes()) << "the client has not read";
    EXPECT_EQ(take_back(channel, [](const auto& e) { return e.element == 2; }), kMany);
    EXPECT_FALSE(wakes());
    EXPECT_EQ(read_completion(client.get()), 1U);
    for (unsigned i = 0; i < kMany; ++i) {
        std::ignore = channel->post({2, 0});
    }
    unsigned seen = 0;
    for (unsigned rounds = 0; seen < kMany && rounds < kMany; ++rounds) {
        while (read_completion(client.get()) != 0) {
            ++seen;
        }
        EXPECT_EQ(wakes(), seen < kMany);
        poller.wait(0);
    }
    EXPECT_EQ(seen, kMany);
    EXPECT_EQ(stats.sent, 1U + 2 * kMany);
    EXPECT_EQ(stats.taken_back, kMany);
}

TEST_F(UverbsEvents, ClientThatReadsNothingCostsNoMemoryWithoutBound) {
    auto channel = make(EventChannel::Kind::kAsync);
    const UniqueFd client = channel->give_client_end();
    for (int i = 0; i < 100'000; ++i) {
        std::ignore = channel->post({1, 9});
    }
    EXPECT_GT(stats.dropped, 80'000u);
}

// ibv_destroy_cq() waits until the client has acknowledged all events that the card has reported.
TEST_F(UverbsEvents, EventsThatWereDroppedAreNotReported) {
    auto completions = make(EventChannel::Kind::kCompletion);
    auto async = make(EventChannel::Kind::kAsync);
    const UniqueFd client = completions->give_client_end();
    const UniqueFd async_client = async->give_client_end();
    CqObject cq(1, {completions, client.get()}, {async, async_client.get()});
    constexpr std::uint32_t kMany = 40'000;
    for (std::uint32_t i = 0; i < kMany; ++i) {
        cq.on_completion();
    }
    EXPECT_GT(stats.dropped, 0U);
    EXPECT_EQ(cq.completion_events, kMany - stats.dropped);
    const auto before = stats.dropped;
    for (std::uint32_t i = 0; i < kMany; ++i) {
        cq.on_cq_error();
    }
    EXPECT_GT(stats.dropped, before);
    EXPECT_EQ(cq.async_reported(), kMany - (stats.dropped - before));
}

TEST_F(UverbsEvents, AnEventOfAnObjectThatHasNoneIsKeptHoweverMany) {
    auto channel = make(EventChannel::Kind::kCompletion);
    const UniqueFd client = channel->give_client_end();
    const HeldChannel hold(channel, client.get());
    constexpr std::uint32_t kMany = 40'000;
    for (std::uint32_t i = 0; i < kMany; ++i) {
        std::ignore = channel->post({1, 0});
    }
    ASSERT_GT(stats.dropped, 0U);
    EXPECT_TRUE(channel->post({2, 0})) << "its owner waits for this one alone";
    EXPECT_FALSE(channel->post({2, 0}));
    unsigned seen = 0;
    for (std::uint32_t i = 0; i < kMany; ++i) {
        const std::uint64_t element = read_completion(client.get());
        seen += element == 2 ? 1 : 0;
        if (element == 0) {
            poller.wait(0);
        }
    }
    EXPECT_EQ(seen, 1U);
    EXPECT_TRUE(channel->post({2, 0})) << "there is room again";
}

TEST_F(UverbsEvents, AnObjectWhoseEventsWereTakenBackHasNoneThatWaits) {
    auto channel = make(EventChannel::Kind::kCompletion);
    const UniqueFd client = channel->give_client_end();
    const HeldChannel hold(channel, client.get());
    const auto fill = [&](std::uint64_t element) {
        while (channel->post({element, 0})) {
        }
    };
    fill(1);
    EXPECT_GT(take_back(channel, [](const auto& e) { return e.element == 1; }), 0U);
    fill(2);
    EXPECT_TRUE(channel->post({1, 0})) << "its owner waits for this one alone";
    EXPECT_FALSE(channel->post({1, 0}));
}

TEST_F(UverbsEvents, ClosingTheLastCopyIsSeenButNotWhileTheChannelIsHeld) {
    auto channel = make(EventChannel::Kind::kCompletion);
    UniqueFd client = channel->give_client_end();
    {
        const HeldChannel hold(channel, client.get());
        client.reset();
        poller.wait(0);
        EXPECT_EQ(closed, 0);
    }
    poller.wait(0);
    EXPECT_EQ(closed, 1);
}

// As when the card is out of descriptors.
TEST_F(UverbsEvents, AHoldWithoutACopyIsNone) {
    auto channel = make(EventChannel::Kind::kCompletion);
    UniqueFd client = channel->give_client_end();
    EXPECT_THROW(HeldChannel(channel, -1), ErrnoError);
    std::ignore = channel->post({1, 0});
    EXPECT_EQ(take_back(channel, [](const auto& /*event*/) { return true; }), 0U);
    client.reset();
    poller.wait(0);
    EXPECT_EQ(closed, 1) << "nothing keeps it open";
}

TEST_F(UverbsEvents, WhatAClosedChannelHadWaitingIsDropped) {
    auto channel = make(EventChannel::Kind::kCompletion);
    UniqueFd client = channel->give_client_end();
    constexpr unsigned kMany = 5000;  // more than the socket takes
    for (unsigned i = 0; i < kMany; ++i) {
        std::ignore = channel->post({2, 0});
    }
    EXPECT_EQ(stats.dropped, 0U);
    unsigned read = 0;
    while (read_completion(client.get()) != 0) {
        ++read;
    }
    client.reset();
    poller.wait(0);
    EXPECT_EQ(closed, 1);
    EXPECT_EQ(stats.dropped, kMany - read);
    EXPECT_GT(stats.dropped, 0U);
}

TEST_F(UverbsEvents, AChannelIsNoOtherFile) {
    auto channel = make(EventChannel::Kind::kCompletion);
    auto other = make(EventChannel::Kind::kCompletion);
    const UniqueFd client = channel->give_client_end();
    const UniqueFd theirs = other->give_client_end();
    const UniqueFd copy(::dup(client.get()));
    EXPECT_TRUE(channel->is(client.get()));
    EXPECT_TRUE(channel->is(copy.get()));
    EXPECT_FALSE(channel->is(theirs.get()));
    EXPECT_FALSE(channel->is(-1));
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    EXPECT_FALSE(channel->is(pipe[0]));
    ::close(pipe[0]);
    ::close(pipe[1]);
}

TEST_F(UverbsEvents, ReadAndPollAreThoseOfTheKernelsDescriptor) {
    auto channel = make(EventChannel::Kind::kAsync);
    const UniqueFd client = channel->give_client_end();
    pollfd p{client.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&p, 1, 0), 0);
    std::ignore = channel->post({0x1122334455667788, 10});
    EXPECT_EQ(::poll(&p, 1, 0), 1);
    EXPECT_EQ(p.revents, POLLIN);
    ib_uverbs_async_event_desc desc{};
    EXPECT_EQ(::read(client.get(), &desc, sizeof desc), static_cast<ssize_t>(sizeof desc));
    EXPECT_EQ(desc.element, 0x1122334455667788u);
    EXPECT_EQ(desc.event_type, 10u);
}

TEST_F(UverbsEvents, ClientCannotFillTheCardsMemoryThroughItsEnd) {
    auto channel = make(EventChannel::Kind::kCompletion);
    const UniqueFd client = channel->give_client_end();
    EXPECT_LT(::send(client.get(), "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT), 0);
    EXPECT_EQ(errno, EPIPE);
}

struct Source final : EventSource {
    explicit Source(HeldChannel async) : EventSource(UVERBS_OBJECT_QP, 1, std::move(async)) {}
    using EventSource::post_async;
    void shut() override { take_back_async(); }
};

// ibv_get_async_event(3): events of the device and port carry a number that may equal an object's.
TEST_F(UverbsEvents, AnObjectTakesBackNoEventOfTheDevice) {
    auto channel = make(EventChannel::Kind::kAsync);
    const UniqueFd client = channel->give_client_end();
    Source source(HeldChannel(channel, client.get()));
    constexpr std::uint32_t kTypes = 20;  // more than exist
    for (std::uint32_t type = 0; type < kTypes; ++type) {
        std::ignore = channel->post({1, type});
    }
    source.post_async(3);
    EXPECT_EQ(source.async_reported(), 1U);
    std::ignore = channel->post({2, 3});
    {
        EventPause pause;
        source.pause(pause);
        wait_for(pause);
        source.shut();
    }
    std::vector<std::uint32_t> left;
    for (ib_uverbs_async_event_desc desc{};
         ::recv(client.get(), &desc, sizeof desc, MSG_DONTWAIT) == sizeof desc;) {
        left.push_back(desc.element == 1 ? desc.event_type : 100 + desc.event_type);
    }
    EXPECT_EQ(left, (std::vector<std::uint32_t>{8, 9, 10, 11, 12, 13, 17, 18, 103}));
}

struct Thing final : Object {
    explicit Thing(ObjectType type) : Object(type) {}
};

TEST(UverbsObjects, HandlesAreSmallAndUsedAgainAndTypesAreChecked) {
    ObjectTable table;
    std::vector<Object*> all;
    for (int i = 0; i < 4; ++i) {
        auto thing = std::make_unique<Thing>(static_cast<ObjectType>(UVERBS_OBJECT_AH));
        all.push_back(thing.get());
        table.add(std::move(thing));
        EXPECT_EQ(all.back()->handle(), static_cast<std::uint32_t>(i));
    }
    table.remove(*all[1]);
    table.remove(*all[0]);
    auto thing = std::make_unique<Thing>(static_cast<ObjectType>(UVERBS_OBJECT_MW));
    Object& again = *thing;
    table.add(std::move(thing));
    EXPECT_EQ(again.handle(), 0u);
    const auto code = [&](ObjectType type, std::uint64_t handle) {
        try {
            (void)table.lookup(type, handle);
            return 0;
        } catch (const ErrnoError& e) {
            return e.code();
        }
    };
    EXPECT_EQ(code(UVERBS_OBJECT_AH, 0), EINVAL);
    EXPECT_EQ(code(UVERBS_OBJECT_MW, 0), 0);
    EXPECT_EQ(code(UVERBS_OBJECT_AH, 1), ENOENT);
    EXPECT_EQ(code(UVERBS_OBJECT_AH, UINT64_MAX), ENOENT);
}

TEST(UverbsObjects, AClientHasAMillionAtMost) {
    ObjectTable table;
    const auto add = [&] {
        table.add(std::make_unique<Thing>(static_cast<ObjectType>(UVERBS_OBJECT_AH)));
    };
    for (std::size_t n = 0; n < std::size_t{1} << 20; ++n) {
        add();
    }
    EXPECT_THROW(add(), ErrnoError);
    table.remove(table.lookup(UVERBS_OBJECT_AH, 77));
    EXPECT_NO_THROW(add());
    EXPECT_THROW(add(), ErrnoError);
    EXPECT_EQ(table.size(), std::size_t{1} << 20);
}

TEST(UverbsObjects, WhatIsInUseIsBusyUntilItsUserGoes) {
    ObjectTable table;
    auto thing = std::make_unique<Thing>(static_cast<ObjectType>(UVERBS_OBJECT_AH));
    Thing& used = *thing;
    table.add(std::move(thing));
    {
        const Ref<Thing> ref(&used);
        EXPECT_THROW(table.remove(used), ErrnoError);
        EXPECT_EQ(&table.lookup(UVERBS_OBJECT_AH, 0), &used) << "it stays usable";
    }
    EXPECT_NE(table.remove(used), nullptr);
}

}  // namespace
}  // namespace dingo::uverbs
