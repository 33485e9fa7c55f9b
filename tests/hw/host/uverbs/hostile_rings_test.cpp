// SPDX-License-Identifier: BSD-2-Clause
// Garbage in queues and doorbell pages from separate processes, while a well-behaved client must be
// served and its memory must not be accessed. DINGO_HOSTILE_DEEDS sets the number of actions,
// default 40000.
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>

#include "honest.h"
#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

pid_t start(const std::string& directory, int seed, int deeds, const Honest& victim) {
    const std::array<std::string, 7> words{
        DINGO_HOSTILE_RINGS,
        directory,
        std::to_string(seed),
        std::to_string(deeds),
        std::to_string(reinterpret_cast<std::uintptr_t>(victim.secret.data())),
        std::to_string(victim.secret_key),
        std::to_string(kSecret)};
    std::array<char*, 8> argv{};
    for (std::size_t i = 0; i < words.size(); ++i) {
        argv[i] = const_cast<char*>(words[i].c_str());
    }
    pid_t pid = -1;
    EXPECT_EQ(::posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ), 0);
    return pid;
}

TEST(UverbsHostile, NonsenseInRingsAndDoorbellsNeitherKillsTheCardNorStarvesNorReachesOthers) {
    const char* const set = std::getenv("DINGO_HOSTILE_DEEDS");
    const int deeds = set != nullptr ? std::atoi(set) : 40'000;
    constexpr int kPart = 10'000;
    RunningCard card;
    Honest honest(card.directory);
    const std::size_t before = open_descriptors();
    std::uint64_t rounds = 0;
    for (int seed = 1; seed * kPart <= std::max(deeds, kPart); ++seed) {
        const pid_t a = start(card.directory, 2 * seed, kPart / 2, honest);
        const pid_t b = start(card.directory, 2 * seed + 1, kPart / 2, honest);
        std::uint64_t beside = 0;
        for (int living = 2; living > 0;) {
            ASSERT_EQ(honest.round(++rounds), "") << "seed " << seed;
            ++beside;
            int status = 0;
            for (const pid_t pid : {a, b}) {
                if (::waitpid(pid, &status, WNOHANG) == pid) {
                    --living;
                    ASSERT_TRUE(WIFEXITED(status)) << "seed " << seed << " status " << status;
                    ASSERT_EQ(WEXITSTATUS(status), 0) << "seed " << seed;
                }
            }
        }
        EXPECT_GE(beside, 2U) << "it was served while the others wrote";
        for (const std::uint64_t word : honest.secret) {
            ASSERT_EQ(word, kSecret) << "seed " << seed;
        }
    }
    ASSERT_TRUE(card.wait_for_clients(1));
    EXPECT_EQ(open_descriptors(), before);
    const auto stats = card.stats();
    EXPECT_EQ(stats["qps"].size(), 2U);
    std::printf("%llu honest rounds, %s\n", static_cast<unsigned long long>(rounds),
                stats["doorbells"].dump().c_str());
}

}  // namespace
}  // namespace dingo::uverbs::test
