// SPDX-License-Identifier: BSD-2-Clause
//
// What another process has sent may make a system call wait as long as that process likes.
#include "base/foreign_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "base/elsewhere.h"
#include "base/exported_memory.h"
#include "lingering.h"
#include "tcp_pair.h"
#include "trap.h"

namespace dingo {
namespace {

using test::returns_soon;
using test::Trap;

TEST(ForeignFd, ASocketThatItsSenderHasLockedIsClosedWithoutWaiting) {
    const Trap trap;
    if (!trap.works()) {
        GTEST_SKIP() << "no userfaultfd";
    }
    const auto [from, to] = test::tcp_pair();
    std::thread sender(
        [&, fd = from.get()] { ::send(fd, trap.page(), Trap::kBytes, MSG_NOSIGNAL); });
    ASSERT_TRUE(trap.wait_until_used());
    const int copy = ::dup(from.get());
    EXPECT_TRUE(returns_soon([copy] { close_elsewhere(copy); }, [&] { trap.let_go(); }));
    sender.join();
}

/// A pair of UNIX sockets.
std::pair<UniqueFd, UniqueFd> unix_pair() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

TEST(ForeignFd, AUnixSocketIsEndedWithoutWaitingForWhoReadsThere) {
    const Trap trap;
    if (!trap.works()) {
        GTEST_SKIP() << "no userfaultfd";
    }
    const auto [near, far] = unix_pair();
    ASSERT_EQ(::send(near.get(), "x", 1, 0), 1);
    std::thread reader(
        [&, fd = far.get()] { std::ignore = ::recv(fd, trap.page(), Trap::kBytes, 0); });
    ASSERT_TRUE(trap.wait_until_used());
    const int copy = ::dup(far.get());
    EXPECT_TRUE(returns_soon([copy] { end_connection(copy); }, [&] { trap.let_go(); }));
    reader.join();
}

TEST(ForeignFd, AUnixSocketWithoutDescriptorsInItIsClosedAtOnce) {
    constexpr unsigned kMany = 500;  // another thread is not always quicker than this one
    for (unsigned n = 0; n < kMany; ++n) {
        auto [near, far] = unix_pair();
        ASSERT_EQ(::send(near.get(), "", 0, 0), 0);
        const int number = far.release();
        end_connection(number);
        ASSERT_EQ(::fcntl(number, F_GETFD), -1);
        ASSERT_EQ(closing_elsewhere(), 0U);
        ASSERT_EQ(::send(near.get(), "x", 1, MSG_NOSIGNAL), -1);
    }
}

// A peer that connects and is not accepted may have sent descriptors whose close() waits; Linux
// before 6.3 does not count them.
TEST(ForeignFd, AListenerIsEndedWithoutWaitingForWhatCameToIt) {
    UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const UniqueFd client(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    auto* const at = reinterpret_cast<sockaddr*>(&name);
    ASSERT_EQ(::bind(listener.get(), at, sizeof(sa_family_t)), 0);  // the kernel finds a name
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    socklen_t length = sizeof name;
    ASSERT_EQ(::getsockname(listener.get(), at, &length), 0);
    ASSERT_EQ(::connect(client.get(), at, length), 0);

    test::Lingering slow;
    ASSERT_TRUE(test::send_with(client.get(), "x", 1, {slow.sender()}));
    slow.forget();
    const ClosesFor attacker({.user = 77, .client = 1});
    EXPECT_TRUE(
        returns_soon([n = listener.release()] { end_connection(n); }, [&] { slow.let_go(); }));
}

TEST(ForeignFd, AFileWithALeaseIsNotWaitedFor) {
    ::signal(SIGIO, SIG_IGN);
    const UniqueFd memory(::memfd_create("leased", MFD_CLOEXEC));
    const std::string path = "/proc/self/fd/" + std::to_string(memory.get());
    const UniqueFd holder(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (::fcntl(holder.get(), F_SETLEASE, F_WRLCK) != 0) {
        GTEST_SKIP() << "no leases";
    }
    EXPECT_TRUE(returns_soon([fd = memory.get()] { open_for_reading(fd); },
                             [&] { ::fcntl(holder.get(), F_SETLEASE, F_UNLCK); }));
    EXPECT_TRUE(open_for_reading(memory.get()));
}

}  // namespace
}  // namespace dingo
