// SPDX-License-Identifier: BSD-2-Clause
//
// A listener of a process that has no descriptors left: it must not be readable for ever.
#include "base/unix_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace dingo {
namespace {

bool readable(int fd) {
    pollfd p{fd, POLLIN, 0};
    return ::poll(&p, 1, 0) == 1;
}

TEST(UnixListener, WithoutDescriptorsConnectionsAreTurnedAway) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "UBSan looks at memory through a pipe, for which there are no descriptors";
#endif
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const std::string path = ::testing::TempDir() + "/listener." + std::to_string(::getpid());
    UnixListener listener(path);
    const UniqueFd first = connect_unix(path);
    const UniqueFd second = connect_unix(path);
    ASSERT_TRUE(first && second);
    std::vector<UniqueFd> all;
    rlimit few = before;
    few.rlim_cur = static_cast<rlim_t>(second.get()) + 8;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    for (int fd = 0; (fd = ::fcntl(first.get(), F_DUPFD_CLOEXEC, 0)) >= 0;) {
        all.emplace_back(fd);
    }
    for (int i = 0; i < 5000 && readable(listener.fd()); ++i) {
        EXPECT_FALSE(listener.accept());
        EXPECT_EQ(errno, EMFILE);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // closed on another thread
    }
    ASSERT_FALSE(readable(listener.fd()));
    char byte = 0;
    EXPECT_EQ(::recv(second.get(), &byte, 1, 0), 0) << "who was turned away knows it";
    all.clear();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    const UniqueFd third = connect_unix(path);
    EXPECT_TRUE(listener.accept());
    EXPECT_FALSE(listener.accept());
    EXPECT_EQ(errno, EAGAIN);
}

}  // namespace
}  // namespace dingo
