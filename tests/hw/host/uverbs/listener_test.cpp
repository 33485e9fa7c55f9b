// SPDX-License-Identifier: BSD-2-Clause
// Which clients may connect; and a client that is refused repeatedly must not fill the disk with
// log lines.
#include "host/uverbs/listener.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/errno_error.h"
#include "base/log.h"
#include "host/uverbs/accounts.h"
#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

TEST(UverbsListener, AFloodOfClientsThatAreTurnedAwayIsAFewLinesInTheLog) {
    constexpr unsigned kMany = 500;
    const std::string directory = fresh_directory();
    Listener listener(directory + "/uverbs.sock", false);
    start_log("warning");
    const UniqueFd file(::memfd_create("log", MFD_CLOEXEC));
    set_log(file.get());
    unsigned refused = 0;
    for (unsigned i = 0; i < kMany; ++i) {
        const Client client(directory, false);
        refused += listener
                       .accept("uverbs", "too many clients",
                               [](const Listener::Newcomer&) { throw ErrnoError(EMFILE); })
                       .refused;
    }
    set_log(STDERR_FILENO);
    EXPECT_EQ(refused, kMany);
    std::vector<char> text(1 << 20);
    const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
    const auto lines = std::count(text.begin(), text.begin() + std::max<ssize_t>(got, 0), '\n');
    EXPECT_GE(lines, 1);
    EXPECT_LE(lines, 2 * ssize_t{log::Limit::kAtOnce});
    std::filesystem::remove_all(directory);
}

TEST(UverbsListener, WhoMayConnectReachesThePath) {
    const std::string directory = fresh_directory();
    for (const bool share : {false, true}) {
        const Listener listener(directory + "/uverbs.sock", share);
        struct stat st {};
        ASSERT_EQ(::stat(listener.path().c_str(), &st), 0);
        EXPECT_EQ(st.st_mode & 07777U, share ? 0777U : 0600U);
    }
    std::filesystem::remove_all(directory);
}

/// Changes the user of this thread alone. Returns false if that is not possible.
bool become(uid_t user) {
    return ::syscall(SYS_setresuid, -1, user, -1) == 0;
}

TEST(UverbsListener, ACardThatIsNotSharedServesItsOwnerAndRoot) {
    constexpr uid_t kOwner = 65534, kStranger = 65533;
    if (::geteuid() != 0) {
        GTEST_SKIP() << "needs root";
    }
    const std::string directory = fresh_directory();
    for (const bool share : {false, true}) {
        Listener listener(directory + "/uverbs.sock", share);
        // So that the card, not the path's permissions, refuses.
        ASSERT_EQ(::chmod(listener.path().c_str(), 0777), 0);
        ASSERT_EQ(::chmod(directory.c_str(), 0777), 0);
        for (const uid_t user : {uid_t{0}, kOwner, kStranger}) {
            std::optional<Client> client;
            bool there = false;
            std::thread([&] {
                there = user == 0 || become(user);
                client.emplace(directory, false);
            }).join();
            if (!there) {
                GTEST_SKIP() << "no other users here";
            }
            ASSERT_TRUE(client->connected()) << user;
            Listener::Counts counts;
            uid_t seen = 77;
            std::thread([&] {
                there = become(kOwner);
                counts = listener.accept("uverbs", "too many clients",
                                         [&](const Listener::Newcomer& one) { seen = one.uid; });
            }).join();
            ASSERT_TRUE(there);
            const bool welcome = share || user != kStranger;
            EXPECT_EQ(counts.admitted, welcome ? 1U : 0U) << user;
            EXPECT_EQ(counts.refused, welcome ? 0U : 1U) << user;
            EXPECT_EQ(seen, welcome ? user : 77) << user;
            if (!welcome) {
                char byte = 0;
                EXPECT_EQ(::recv(client->socket(), &byte, 1, 0), 0) << "its connection has ended";
            }
        }
    }
    bool own = false, roots = false, foreign = false;
    std::thread([&] {
        become(kOwner);
        own = !Accounts::of(kOwner)->foreign();
        roots = !Accounts::of(0)->foreign();
        foreign = Accounts::of(kStranger)->foreign();
    }).join();
    EXPECT_TRUE(own);
    EXPECT_TRUE(roots);
    EXPECT_TRUE(foreign);
    std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace dingo::uverbs::test
