// SPDX-License-Identifier: BSD-2-Clause
// Tests of groups over qpxd:// and tcp://, as programs use them.
#include <poll.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <future>
#include <map>

#include "running_server.h"

namespace qpx::service {
namespace {

using namespace std::chrono_literals;

std::vector<std::byte> bytes(std::string_view text) {
    const auto view = std::as_bytes(std::span(text.data(), text.size()));
    return {view.begin(), view.end()};
}
std::string text(const std::vector<std::byte>& value) {
    return {reinterpret_cast<const char*>(value.data()), value.size()};
}

GroupOptions member(uint32_t rank, uint32_t size) {
    GroupOptions options;
    options.rank = rank;
    options.size = size;
    return options;
}

Endpoint endpoint(uint32_t from, uint32_t to) {
    Endpoint e;
    e.device = "mock0";
    e.qpn = from * 1000 + to;
    e.psn = to;
    e.gid[15] = static_cast<uint8_t>(from);
    e.gid[10] = e.gid[11] = 0xff;
    e.regions.push_back({0x1000, 64, from, "mailbox"});
    return e;
}

/// Returns the code and text of the error that `call` throws; fails the test if it throws none.
template <typename Call>
std::pair<ErrorCode, std::string> thrown(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return {error.code(), error.what()};
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
}

TEST(Groups, ARedisUrlIsToldWhatToUseInstead) {
    for (const std::string scheme : {"redis", "rediss"}) {
        const auto [code, what] =
            thrown([&] { Group::join(scheme + "://:secret@host:6379/job", member(0, 1)); });
        EXPECT_EQ(code, ErrorCode::Unsupported);
        EXPECT_EQ(what, scheme +
                            "://: a group cannot use a Redis server; use qpxd://host:port/job, or "
                            "store the result of pack() there under a key");
    }
}

TEST(Groups, EndpointsOfAllToAll) {
    RunningServer server;
    constexpr uint32_t size = 12;
    for_each_rank(size, [&](uint32_t rank) {
        auto group = Group::join(server.url(), member(rank, size));
        std::vector<RankEndpoint> mine;
        for (uint32_t peer = 0; peer < size; ++peer) {
            if (peer != rank) {
                mine.push_back({peer, endpoint(rank, peer)});
            }
        }
        const auto theirs = group->exchange(mine);
        ASSERT_EQ(theirs.size(), size - 1);
        for (const RankEndpoint& one : theirs) {
            EXPECT_EQ(one.endpoint, endpoint(one.rank, rank));
        }
        group->barrier();
        group->leave();
    });
    EXPECT_TRUE(server.reaches("failures_total", 0));
    EXPECT_EQ(server.metric("endpoints_total"), size * (size - 1));
}

TEST(Groups, ValuesAreSharedAndCounted) {
    RunningServer server;
    auto a = Group::join(server.url()), b = Group::join(server.url());
    EXPECT_EQ(a->rank(), 0u);
    EXPECT_EQ(b->rank(), 1u);
    EXPECT_EQ(a->size(), 0u);
    a->put("k", "v");
    EXPECT_EQ(b->get_text("k"), "v");
    EXPECT_FALSE(b->put_once("k", bytes("w")));
    EXPECT_TRUE(b->put_once("l", bytes("w")));
    EXPECT_EQ(a->add("n", 40), 40);
    EXPECT_EQ(b->add("n", 2), 42);
    EXPECT_EQ(a->get_text("n"), "42");
    EXPECT_TRUE(a->erase("k"));
    EXPECT_FALSE(a->try_get("k"));
    const std::vector<std::byte> large(1 << 20, std::byte{7});
    a->put("large", large);
    EXPECT_EQ(b->get("large"), large);
    EXPECT_EQ(thrown([&] { a->put("larger", std::vector<std::byte>((1 << 20) + 1)); }).first,
              ErrorCode::Limit);
    b->put("after", "still served");
}

TEST(Groups, AMessageThatIsTooLongIsNotSent) {
    RunningServer server;
    auto group = Group::join(server.url(), member(0, 1));
    const std::vector<std::byte> large(2 << 20);
    const auto [code, what] = thrown([&] { group->put("k", large); });
    EXPECT_EQ(code, ErrorCode::Limit);
    EXPECT_NE(what.find("put: a message of 2097"), std::string::npos) << what;
    EXPECT_EQ(thrown([&] { group->all_gather(large); }).first, ErrorCode::Limit);
    const std::vector<std::string> keys(1200, std::string(1000, 'k'));
    EXPECT_EQ(thrown([&] { group->wait(keys); }).first, ErrorCode::Limit);
    group->barrier();
    EXPECT_FALSE(group->try_get("k"));
    EXPECT_EQ(server.metric("oversized_total"), 0u);
}

TEST(Groups, GetAndWaitBlockUntilTheKeysCome) {
    RunningServer server;
    for_each_rank(2, [&](uint32_t rank) {
        auto group = Group::join(server.url(), member(rank, 2));
        if (rank == 0) {
            EXPECT_EQ(group->get_text("late"), "x");
            const std::array<std::string, 2> keys = {"late", "later"};
            group->wait(keys);
        } else {
            std::this_thread::sleep_for(20ms);
            group->put("late", "x");
            group->put("later", "y");
        }
        group->barrier();  // a job's keys are erased when its last member leaves
        group->leave();
    });
}

TEST(Groups, ATimeoutNamesWhoIsMissingAndTheGroupGoesOn) {
    RunningServer server;
    auto a = Group::join(server.url(), member(0, 3));
    auto b = Group::join(server.url(), member(1, 3));
    auto [code, why] = thrown([&] { a->barrier(30ms); });
    EXPECT_EQ(code, ErrorCode::Timeout);
    EXPECT_EQ(why, "barrier: not done after 0.03 s; not in it: rank 1; not joined: rank 2");
    std::tie(code, why) = thrown([&] { a->get("nothing", 30ms); });
    EXPECT_EQ(code, ErrorCode::Timeout);
    EXPECT_NE(why.find("nobody has put 'nothing'"), std::string::npos) << why;
    const std::array<RankBytes, 1> mine = {{{2, bytes("x")}}};
    std::tie(code, why) = thrown([&] { a->exchange_bytes(mine, 30ms); });
    EXPECT_NE(why.find("not joined: rank 2"), std::string::npos) << why;
    a->put("k", "still good");
    EXPECT_EQ(b->get_text("k"), "still good");
}

TEST(Groups, GatheringsLargerThanAFrame) {
    RunningServer server;
    for_each_rank(4, [&](uint32_t rank) {
        auto group = Group::join(server.url(), member(rank, 4));
        const std::vector<std::byte> mine(500'000, static_cast<std::byte>(rank));
        const auto all = group->all_gather(mine);
        ASSERT_EQ(all.size(), 4u);
        for (uint32_t peer = 0; peer < 4; ++peer) {
            EXPECT_EQ(all[peer].rank, peer);
            EXPECT_EQ(all[peer].bytes,
                      std::vector<std::byte>(500'000, static_cast<std::byte>(peer)));
        }
        group->leave();
    });
}

TEST(Groups, OneEndpointForAll) {
    RunningServer server;
    for_each_rank(3, [&](uint32_t rank) {
        auto group = Group::join(server.url(), member(rank, 3));
        const auto others = group->all_gather(endpoint(rank, 0));
        ASSERT_EQ(others.size(), 2u);
        for (const RankEndpoint& other : others) {
            EXPECT_EQ(other.endpoint, endpoint(other.rank, 0));
        }
        group->leave();
    });
}

TEST(Groups, ExchangesLargerThanAFrame) {
    RunningServer server;
    for_each_rank(6, [&](uint32_t rank) {
        auto group = Group::join(server.url(), member(rank, 6));
        std::vector<RankBytes> mine;
        for (uint32_t peer = 0; peer < 6; ++peer) {
            mine.push_back(
                {peer, std::vector<std::byte>(400'000 + peer, static_cast<std::byte>(rank))});
        }
        const Exchanged got = group->exchange_bytes(mine);
        ASSERT_EQ(got.items.size(), 6u);
        for (const RankBytes& item : got.items) {
            EXPECT_EQ(item.bytes,
                      std::vector<std::byte>(400'000 + rank, static_cast<std::byte>(item.rank)));
        }
        group->leave();
    });
}

TEST(Groups, AnExchangeWithAnItemThatIsTooLongSendsNothing) {
    RunningServer server;
    auto group = Group::join(server.url(), member(0, 3));
    const std::vector<std::byte> first(200'000), last(2 << 20);
    const std::array<RankBytes, 3> wrong = {{{0, first}, {1, first}, {2, last}}};
    EXPECT_EQ(thrown([&] { group->exchange_bytes(wrong); }).first, ErrorCode::Limit);
    const std::array<RankBytes, 1> right = {{{0, bytes("to myself")}}};
    const Exchanged got = group->exchange_bytes(right);
    ASSERT_EQ(got.items.size(), 1u);
    EXPECT_EQ(text(got.items[0].bytes), "to myself");
}

TEST(Groups, MembersFindEachOtherByName) {
    RunningServer server;
    auto client = Group::join(server.url());  // rank 0, whose name the other looks up
    GroupOptions named;
    named.name = "storage";
    std::thread later([&] {
        std::this_thread::sleep_for(20ms);
        auto storage = Group::join(server.url(), named);
        const std::array<RankBytes, 1> mine = {{{0, bytes("from storage")}}};
        EXPECT_EQ(text(storage->exchange_bytes(mine).items.at(0).bytes), "from client");
        storage->leave();
    });
    const uint32_t rank = client->find("storage");
    const std::array<RankBytes, 1> mine = {{{rank, bytes("from client")}}};
    EXPECT_EQ(text(client->exchange_bytes(mine).items.at(0).bytes), "from storage");
    later.join();
    EXPECT_EQ(thrown([&] { client->find("nobody", 20ms); }).first, ErrorCode::Timeout);
}

/// Waits for an event of that kind for at most ten seconds.
GroupEvent await(Group& group, GroupEvent::Kind kind) {
    for (int i = 0; i < 1000; ++i) {
        while (auto event = group.poll_event()) {
            if (event->kind == kind) {
                return *event;
            }
        }
        std::this_thread::sleep_for(10ms);
    }
    ADD_FAILURE() << "no such event";
    return {};
}

bool readable(const Group& group, std::chrono::milliseconds time = 0ms) {
    pollfd ready = {group.fd(), POLLIN, 0};
    return poll(&ready, 1, static_cast<int>(time.count())) == 1;
}

TEST(Groups, TheDescriptorTellsOfEventsThatAnotherCallSetAside) {
    RunningServer server;
    auto a = Group::join(server.url(), member(0, 3));
    while (a->poll_event()) {
    }
    EXPECT_FALSE(readable(*a));
    auto b = Group::join(server.url(), member(1, 3));
    ASSERT_TRUE(readable(*a, 20s));
    a->put("k", "v");  // reads the event before the answer
    ASSERT_TRUE(readable(*a));
    EXPECT_EQ(a->poll_event()->rank, 1u);
    EXPECT_FALSE(a->poll_event().has_value());
    EXPECT_FALSE(readable(*a));
}

TEST(Groups, CancelEndsACallAndTheGroupGoesOn) {
    RunningServer server;
    auto group = Group::join(server.url(), member(0, 2));
    auto waiting = std::async(std::launch::async,
                              [&] { return thrown([&] { group->get("nobody puts it", -1ms); }); });
    std::this_thread::sleep_for(20ms);
    EXPECT_TRUE(group->cancel());
    EXPECT_EQ(waiting.get().first, ErrorCode::Cancelled);
    group->put("k", "v");
    EXPECT_EQ(group->get_text("k"), "v");
    group->cancel();
    EXPECT_EQ(thrown([&] { group->find("nobody", -1ms); }).first, ErrorCode::Cancelled);
    EXPECT_GE(server.metric("cancels_total"), 1u);
}

/// A member in its own process, which can be told to exit without leaving the group.
class Victim {
  public:
    Victim(const std::string& url, uint32_t rank, uint32_t size, bool exchange_first = false) {
        std::array<int, 2> pipe{};
        EXPECT_EQ(::pipe(pipe.data()), 0);
        pid_ = fork();
        if (pid_ == 0) {
            try {
                auto group = Group::join(url, member(rank, size));
                if (exchange_first) {
                    group->add("ready", 1);
                    const std::array<RankBytes, 1> to = {{{0, bytes("from the victim")}}};
                    group->exchange_bytes(to);
                }
                [[maybe_unused]] const ssize_t count = write(pipe[1], "x", 1);
                pause();
            } catch (...) {
                _exit(1);
            }
            _exit(0);
        }
        ::close(pipe[1]);
        char byte = 0;
        if (!exchange_first) {
            EXPECT_EQ(::read(pipe[0], &byte, 1), 1);
        }
        ::close(pipe[0]);
    }
    void kill() {
        ::kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }

  private:
    pid_t pid_;
};

TEST(Failures, AKilledMemberIsToldToTheOthers) {
    RunningServer server;
    Victim victim(server.url(), 1, 3);
    auto a = Group::join(server.url(), member(0, 3)), c = Group::join(server.url(), member(2, 3));
    victim.kill();
    for (Group* group : {a.get(), c.get()}) {
        const GroupEvent event = await(*group, GroupEvent::Kind::Failed);
        EXPECT_EQ(event.rank, 1u);
        EXPECT_FALSE(event.reason.empty());
    }
    EXPECT_EQ(thrown([&] { a->barrier(); }).first, ErrorCode::PeerGone);
    EXPECT_EQ(a->members().at(1).state, GroupMember::State::Failed);
    // A new member takes its place.
    auto again = Group::join(server.url(), member(1, 3));
    EXPECT_EQ(a->members().at(1).incarnation, 2u);
    std::thread others([&] { c->barrier(); });
    std::thread one([&] { again->barrier(); });
    a->barrier();
    others.join();
    one.join();
}

TEST(Failures, AMemberKilledInTheMiddleOfAMesh) {
    RunningServer server;
    Victim victim(server.url(), 3, 4, true);
    std::atomic<int> told = 0;
    std::thread killer([&] {
        auto watcher = Group::join(server.url(), member(2, 4));
        const std::array<std::string, 1> ready = {"ready"};
        watcher->wait(ready);
        std::this_thread::sleep_for(50ms);
        victim.kill();
        std::vector<uint32_t> gone;
        std::vector<RankEndpoint> mine = {
            {0, endpoint(2, 0)}, {1, endpoint(2, 1)}, {3, endpoint(2, 3)}};
        EXPECT_EQ(watcher->exchange_some(mine, gone).size(), 2u);
        EXPECT_EQ(gone, std::vector<uint32_t>{3});
        ++told;
    });
    for_each_rank(2, [&](uint32_t rank) {
        auto group = Group::join(server.url(), member(rank, 4));
        std::vector<RankEndpoint> mine;
        for (uint32_t peer = 0; peer < 4; ++peer) {
            if (peer != rank) {
                mine.push_back({peer, endpoint(rank, peer)});
            }
        }
        const auto [code, why] = thrown([&] { group->exchange(mine); });
        EXPECT_EQ(code, ErrorCode::PeerGone);
        EXPECT_NE(why.find("rank 3"), std::string::npos);
        ++told;
    });
    killer.join();
    EXPECT_EQ(told, 3);
}

TEST(Failures, AServiceThatEndsEndsTheCalls) {
    auto server = std::make_unique<RunningServer>();
    auto a = Group::join(server->url(), member(0, 2));
    std::thread stop([&] {
        std::this_thread::sleep_for(20ms);
        server->stop();
    });
    const ErrorCode code = thrown([&] { a->barrier(); }).first;
    EXPECT_TRUE(code == ErrorCode::Refused || code == ErrorCode::PeerGone);
    stop.join();
    EXPECT_EQ(thrown([&] { a->put("k", "v"); }).first, ErrorCode::PeerGone);
}

TEST(Failures, JobsThatShrinkGoOn) {
    RunningServer server;
    GroupOptions first = member(0, 2);
    first.shrink = true;
    auto a = Group::join(server.url(), first);
    Victim victim(server.url(), 1, 2);
    victim.kill();
    await(*a, GroupEvent::Kind::Failed);
    a->barrier();
}

TEST(Hosted, RankZeroServesAndLeavesLast) {
    // A port that was free a moment ago.
    const uint16_t port = RunningServer().port();
    const std::string url = "tcp://127.0.0.1:" + std::to_string(port) + "/job";
    std::atomic<int> left = 0;
    for_each_rank(5, [&](uint32_t rank) {
        if (rank == 0) {
            std::this_thread::sleep_for(100ms);  // the others try again until rank 0 listens
        }
        auto group = Group::join(url, member(rank, 5));
        EXPECT_EQ(group->all_gather(bytes(std::to_string(rank))).size(), 5u);
        if (rank == 0) {
            group->leave();
            EXPECT_EQ(left, 4);
        } else {
            std::this_thread::sleep_for(rank * 20ms);
            ++left;
            group->leave();
        }
    });
}

TEST(Hosted, ARestartAtOnceFindsThePortFree) {
    const uint16_t port = RunningServer().port();
    const std::string url = "tcp://127.0.0.1:" + std::to_string(port) + "/job";
    for (int round = 0; round < 3; ++round) {
        auto zero = Group::join(url, member(0, 2));
        auto one = Group::join(url, member(1, 2));
        // The side that serves closes first: its port is in TIME_WAIT.
        zero.reset();
        EXPECT_THROW(one->barrier(), Error);
    }
}

TEST(Urls, WhatIsWrongIsSaid) {
    RunningServer server;
    const std::string port = std::to_string(server.port());
    EXPECT_EQ(thrown([&] { Group::join("http://127.0.0.1/x"); }).first, ErrorCode::Argument);
    EXPECT_EQ(thrown([&] { Group::join("tcp://127.0.0.1:1/x"); }).first, ErrorCode::Argument);
    EXPECT_EQ(thrown([&] { Group::join("qpxd:///x"); }).first, ErrorCode::Argument);
    EXPECT_EQ(thrown([&] { Group::join("qpxd://127.0.0.1:1/x"); }).first, ErrorCode::Refused);
    EXPECT_EQ(thrown([&] { Group::join(server.url() + "?rank=x"); }).first, ErrorCode::Argument);
    EXPECT_EQ(thrown([&] { Group::join(server.url() + "?color=3"); }).first, ErrorCode::Argument);
    EXPECT_EQ(thrown([&] { Group::join(server.url() + "?rank=4&size=4"); }).first,
              ErrorCode::Argument);
    auto group = Group::join(server.url() + "?rank=2&size=4&name=me");
    EXPECT_EQ(group->rank(), 2u);
    EXPECT_EQ(group->size(), 4u);
    EXPECT_EQ(group->members().at(0).name, "me");
    EXPECT_EQ(thrown([&] { Group::join(server.url() + "?rank=2"); }).first, ErrorCode::Refused);
}

TEST(Urls, RanksOfLaunchers) {
    for (const char* name : {"RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                             "PMI_RANK", "PMI_SIZE", "SLURM_PROCID", "SLURM_NTASKS"}) {
        unsetenv(name);
    }
    EXPECT_FALSE(rank_from_environment());
    setenv("SLURM_PROCID", "3", 1);
    EXPECT_FALSE(rank_from_environment());
    setenv("SLURM_NTASKS", "8", 1);
    EXPECT_EQ(rank_from_environment()->rank, 3u);
    EXPECT_EQ(rank_from_environment()->size, 8u);
    setenv("SLURM_PROCID", "three", 1);
    EXPECT_EQ(thrown([] { rank_from_environment(); }).first, ErrorCode::Argument);
    unsetenv("SLURM_PROCID");
    unsetenv("SLURM_NTASKS");
}

}  // namespace
}  // namespace qpx::service
