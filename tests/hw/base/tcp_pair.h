// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <utility>

#include "base/unique_fd.h"

namespace dingo::test {

/// A TCP connection within this host: the connecting and the accepting end. `small`: data wait in
/// the smallest buffers that the kernel has.
inline std::pair<UniqueFd, UniqueFd> tcp_pair(bool small = false) {
    const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    UniqueFd from(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (small) {
        const int least = 1;
        EXPECT_EQ(::setsockopt(listener.get(), SOL_SOCKET, SO_RCVBUF, &least, sizeof least), 0);
        EXPECT_EQ(::setsockopt(from.get(), SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const at = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener.get(), at, length), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener.get(), at, &length), 0);
    EXPECT_EQ(::connect(from.get(), at, length), 0);
    return {std::move(from), UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC))};
}

}  // namespace dingo::test
