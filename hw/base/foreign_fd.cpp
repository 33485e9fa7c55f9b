// SPDX-License-Identifier: BSD-2-Clause
#include "foreign_fd.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "elsewhere.h"

namespace dingo {
namespace {

/// Freeing this much memory takes no noticeable time.
constexpr std::int64_t kSmallFile = 16 << 20;

/// Keeps errno when a descriptor goes out of scope between a failed call and the check of errno.
class KeepErrno {
  public:
    ~KeepErrno() { errno = saved_; }

  private:
    int saved_ = errno;
};

/// Shuts a UNIX socket down, so that no one can send to it any more. True: its queue is empty, so
/// no descriptors wait in it.
bool end_and_look(int fd) {
    int type = 0;
    socklen_t length = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_SEQPACKET) {
        return false;
    }
    int domain = 0;
    length = sizeof domain;
    // With SO_PASSCRED every message has control data. Its truncation (MSG_CTRUNC) tells an empty
    // message from the end of the stream.
    const int on = 1;
    if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 || domain != AF_UNIX ||
        ::shutdown(fd, SHUT_RD) != 0 ||
        ::setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
        return false;
    }
    char byte = 0;
    iovec iov{&byte, sizeof byte};
    msghdr message{};
    message.msg_iov = &iov;
    message.msg_iovlen = 1;
    return ::recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT) == 0 &&
           (message.msg_flags & MSG_CTRUNC) == 0;
}

/// A file in memory, which no file system has to be asked about.
bool is_small_memory(int fd) {
    struct stat st {};
    return ::fcntl(fd, F_GET_SEALS) >= 0 && ::fstat(fd, &st) == 0 &&
           st.st_blocks * 512 <= kSmallFile;
}

}  // namespace

void close_elsewhere(int fd) {
    const KeepErrno keep;
    if (is_small_memory(fd)) {
        ::close(fd);
    } else {
        close_on_another_thread(fd);
    }
}

void end_connection(int fd) {
    const KeepErrno keep;
    if (end_and_look(fd)) {
        ::close(fd);
    } else {
        close_on_another_thread(fd);
    }
}

void hang_up(int fd) {
    const KeepErrno keep;
    ::shutdown(fd, SHUT_RDWR);
    end_connection(fd);
}

}  // namespace dingo
