// SPDX-License-Identifier: BSD-2-Clause
#include "foreign_fd.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include "elsewhere.h"

namespace dingo {
namespace {

/// Freeing this much memory takes no noticeable time.
constexpr std::int64_t kSmallFile = 16 << 20;

/// Preserves errno when a descriptor is destroyed between a failed call and the check of errno.
class KeepErrno {
  public:
    ~KeepErrno() { errno = saved_; }

  private:
    int saved_ = errno;
};

/// Returns true if no descriptors are queued in the UNIX socket (read from /proc/self/fdinfo).
/// Peeking into the socket itself could block on a thread that receives there into faulting memory.
bool holds_none(int fd) {
    constexpr std::string_view kNone = "scm_fds: 0\n";
    std::array<char, 32> path{};
    *fmt::format_to(path.data(), "/proc/self/fdinfo/{}", fd) = '\0';
    const UniqueFd info(::open(path.data(), O_RDONLY | O_CLOEXEC));
    std::array<char, 512> text{};
    const ssize_t got = info ? ::read(info.get(), text.data(), text.size()) : -1;
    return got > 0 && std::string_view(text.data(), static_cast<std::size_t>(got)).find(kNone) !=
                          std::string_view::npos;
}

/// Shuts a UNIX socket down, so that nobody can send to it any more. Returns true if no descriptors
/// are queued in it. False for a listener: its queued connections may have some.
bool end_and_look(int fd) {
    int type = 0;
    socklen_t length = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_SEQPACKET) {
        return false;
    }
    int domain = 0;
    int listens = 1;
    length = sizeof domain;
    return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_UNIX &&
           ::shutdown(fd, SHUT_RD) == 0 &&
           ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens == 0 &&
           holds_none(fd);
}

/// Returns true for a memfd of limited size: closing it involves no file system.
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
