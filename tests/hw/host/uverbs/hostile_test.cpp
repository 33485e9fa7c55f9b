// SPDX-License-Identifier: BSD-2-Clause
// Malformed messages from separate processes (which may crash; the card may not).
// DINGO_HOSTILE_REQUESTS sets their number, default 100000.
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>

#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

pid_t start(const std::string& directory, int seed, int count) {
    const std::string seed_word = std::to_string(seed);
    const std::string count_word = std::to_string(count);
    std::array<const char*, 5> words{DINGO_HOSTILE_CLIENT, directory.c_str(), seed_word.c_str(),
                                     count_word.c_str(), nullptr};
    pid_t pid = -1;
    EXPECT_EQ(::posix_spawn(&pid, words[0], nullptr, nullptr,
                            const_cast<char* const*>(words.data()), environ),
              0);
    return pid;
}

TEST(UverbsHostile, NonsenseNeitherKillsTheCardNorLeaksNorDisturbsOthers) {
    const char* const set = std::getenv("DINGO_HOSTILE_REQUESTS");
    const int requests = set != nullptr ? std::atoi(set) : 100'000;
    constexpr int kPart = 5000;
    RunningCard card;
    Client honest(card.directory);
    Verbs verbs(honest);
    ASSERT_EQ(verbs.get_context(), 0);
    const std::size_t before = open_descriptors();
    for (int seed = 1; seed * kPart <= std::max(requests, kPart); ++seed) {
        const pid_t a = start(card.directory, 2 * seed, kPart / 2);
        const pid_t b = start(card.directory, 2 * seed + 1, kPart / 2);
        for (const pid_t pid : {a, b}) {
            int status = 0;
            ASSERT_EQ(::waitpid(pid, &status, 0), pid);
            EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) != 0) << "seed " << seed;
        }
        ASSERT_EQ(verbs.alloc_pd(), 0) << "seed " << seed;
        ASSERT_EQ(verbs.destroy_pd(verbs.handle), 0);
    }
    ASSERT_TRUE(card.wait_for_clients(1));
    EXPECT_EQ(open_descriptors(), before);
    const auto stats = card.stats();
    EXPECT_TRUE(stats["qps"].empty());
    RecordProperty("requests", stats["host"]["requests"].dump());
    std::printf("%s\n", stats["host"].dump().c_str());
}

}  // namespace
}  // namespace dingo::uverbs::test
