// SPDX-License-Identifier: BSD-2-Clause
// What a card does with clients that have made its data thread wait (base/offenders.h).
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <fstream>
#include <list>
#include <sstream>

#include "base/offenders.h"
#include "still_card.h"

namespace dingo::uverbs::test {
namespace {

constexpr uid_t kStranger = 65533;

/// Where else than at `not_at` this process has mapped a file.
const std::byte* mapping_of(int file, const std::byte* not_at) {
    struct stat st {};
    EXPECT_EQ(::fstat(file, &st), 0);
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::istringstream fields(line);
        std::uintptr_t begin = 0;
        std::string rest, access, offset, device;
        ino_t inode = 0;
        fields >> std::hex >> begin >> rest >> access >> offset >> device >> std::dec >> inode;
        const auto* const at = reinterpret_cast<const std::byte*>(begin);
        if (inode == st.st_ino && at != not_at && offset == "00000000") {
            return at;
        }
    }
    return nullptr;
}

class OffencesTest : public StillCard {
  protected:
    struct Program {
        explicit Program(const std::string& directory) : client(directory, false), verbs(client) {}
        Client client;
        Verbs verbs;
        Ring ring;
    };

    OffencesTest() {
        attachment->unwatch();
        attachment.reset();
        attachment.emplace(UverbsAttachment::Options{.directory = directory, .share = true},
                           driver);
        attachment->watch(polls);
    }
    /// A client with a CQ; null if it cannot be another user's.
    Program* start(uid_t user) {
        bool there = true;
        std::thread([&] {
            there = user == ::geteuid() || ::syscall(SYS_setresuid, -1, user, -1) == 0;
            programs.emplace_back(directory);
        }).join();
        if (!there) {
            return nullptr;
        }
        Program& one = programs.back();
        EXPECT_EQ(serve([&] { return one.client.hello().result(); }), 0);
        EXPECT_EQ(serve([&] { return one.verbs.get_context(); }), 0);
        EXPECT_EQ(serve([&] { return one.verbs.create_cq(); }), 0);
        one.ring = serve([&] { return Ring(one.client, one.verbs.cq_map.ring); });
        EXPECT_TRUE(one.ring.mapped());
        return &one;
    }
    /// Punches a hole into its queue, as if that had held the card up for long. The time is such
    /// that no later test finds its user's memory far.
    static void offend(const Program& one) {
        const int file = one.ring.memory.file();
        struct stat st {};
        ASSERT_EQ(::fstat(file, &st), 0);
        ASSERT_EQ(::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, st.st_size), 0);
        const std::byte* const at = mapping_of(file, one.ring.memory.bytes().data());
        ASSERT_NE(at, nullptr);
        ASSERT_EQ(offenders().held(at, nullptr, 1, 2 * Offenders::kFree, 1),
                  Offenders::Verdict::kOffence);
    }
    bool is_served(Program& one) {
        return serve([&] { return one.verbs.alloc_pd(); }) == 0;
    }

    std::list<Program> programs;
};

TEST_F(OffencesTest, OfTheOwnersClientsOnlyTheOffenderIsCutOff) {
    Program* const bad = start(::geteuid());
    Program* const good = start(::geteuid());
    offend(*bad);
    turn();
    EXPECT_EQ(attachment->clients(), 1U);
    EXPECT_TRUE(is_served(*good));
    EXPECT_FALSE(is_served(*bad));
}

// Else they would take turns.
TEST_F(OffencesTest, AllClientsOfAnotherUserAreCutOff) {
    Program* const good = start(::geteuid());
    Program* const bad = start(kStranger);
    Program* const other = bad == nullptr ? nullptr : start(kStranger);
    if (other == nullptr) {
        GTEST_SKIP() << "no other users here";
    }
    EXPECT_EQ(attachment->clients(), 3U);
    offend(*bad);
    turn();
    EXPECT_EQ(attachment->clients(), 1U);
    EXPECT_TRUE(is_served(*good));
    EXPECT_FALSE(is_served(*other));
}

TEST_F(OffencesTest, IsJudgedBeforeARequestIsServed) {
    Program* const bad = start(::geteuid());
    Program* const good = start(::geteuid());
    offend(*bad);
    const std::uint64_t served = attachment->stats().requests;
    auto answer = std::async(std::launch::async, [&] { return good->verbs.alloc_pd(); });
    for (int i = 0; i < 20; ++i) {
        poller.wait(1'000'000);
        card.poll(now);
    }
    EXPECT_EQ(attachment->stats().requests, served);
    while (answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
        turn();
    }
    EXPECT_EQ(answer.get(), 0);
}

// A client may connect and offend as often as it likes.
TEST_F(OffencesTest, LogsAFewOffences) {
    start_log("warning");
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    const UniqueFd read_end(pipe[0]);
    const UniqueFd write_end(pipe[1]);
    const int log = current_log();
    for (unsigned i = 0; i < log::Limit::kAtOnce + 4; ++i) {
        offend(*start(::geteuid()));
        set_log(write_end.get());
        turn();
        set_log(log);
    }
    std::string text(1U << 16, ' ');
    text.resize(static_cast<std::size_t>(
        std::max<ssize_t>(0, ::read(read_end.get(), text.data(), text.size()))));
    EXPECT_EQ(std::ranges::count(text, '\n'), log::Limit::kAtOnce);
}

}  // namespace
}  // namespace dingo::uverbs::test
