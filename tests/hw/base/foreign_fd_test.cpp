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
#include <cstring>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "base/elsewhere.h"
#include "base/exported_memory.h"
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

// Who connects to it and is not accepted may have sent descriptors whose close() waits; Linux
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

    // It lingers over data that the peer does not read.
    auto [from, to] = test::tcp_pair(true);
    const linger wait{1, 30};
    ASSERT_EQ(::setsockopt(from.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof wait), 0);
    const std::array<char, 4096> data{};
    while (::send(from.get(), data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    char byte = 0;
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = from.get();
    std::memcpy(CMSG_DATA(rights), &number, sizeof number);
    ASSERT_EQ(::sendmsg(client.get(), &message, MSG_NOSIGNAL), 1);
    from.reset();

    const ClosesFor attacker({.user = 77, .client = 1});
    EXPECT_TRUE(returns_soon([n = listener.release()] { end_connection(n); },
                             [&peer = to] { peer.reset(); }));
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
