// SPDX-License-Identifier: BSD-2-Clause
//
// A descriptor whose close() waits, and how it is sent to somebody else.
#pragma once

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstring>
#include <tuple>
#include <vector>

#include "base/unique_fd.h"
#include "tcp_pair.h"

namespace dingo::test {

/// Sends bytes and copies of descriptors on a UNIX socket. False: the other end is closed.
inline bool send_with(int socket, const void* bytes, std::size_t size,
                      const std::vector<int>& fds) {
    iovec iov{const_cast<void*>(bytes), size};
    std::vector<std::byte> control(CMSG_SPACE(fds.size() * sizeof(int)));
    msghdr msg{};
    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    msg.msg_control = control.data();
    msg.msg_controllen = control.size();
    cmsghdr* const c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(c), fds.data(), fds.size() * sizeof(int));
    return ::sendmsg(socket, &msg, MSG_NOSIGNAL) >= 0;
}

/// A TCP connection whose sender's end holds data that the other end does not take, and lingers:
/// the last close() of the sender's end waits until the receiver's end goes.
class Lingering {
  public:
    Lingering() {
        // Hundreds of them in each of several tests beside each other: with the usual buffers, of
        // megabytes, the kernel's memory for TCP runs out, and a connection holds no data.
        std::tie(sender_, receiver_) = tcp_pair(true);
        const linger wait{1, 60};
        EXPECT_EQ(::setsockopt(sender_.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof wait), 0);
        const std::vector<char> data(1 << 20);
        while (::send(sender_.get(), data.data(), data.size(), MSG_DONTWAIT) > 0) {
        }
        int held = 0;
        EXPECT_EQ(::ioctl(sender_.get(), SIOCOUTQ, &held), 0);
        EXPECT_NE(held, 0) << "close() will not wait";
    }
    /// The kernel resets the connection, and a close() that waits returns.
    void let_go() { receiver_.reset(); }
    /// Closes our copy, so that the receiver of sender() has the last one. There must be one.
    void forget() { sender_.reset(); }
    [[nodiscard]] int sender() const { return sender_.get(); }

  private:
    UniqueFd sender_;
    UniqueFd receiver_;
};

}  // namespace dingo::test
