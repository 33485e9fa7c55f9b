// SPDX-License-Identifier: BSD-2-Clause
#include "regular_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

namespace dingo {

UniqueFd open_regular(const std::filesystem::path& path, int flags, mode_t mode) {
    UniqueFd fd(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, mode));
    if (!fd) {
        errno = errno == ENXIO ? EINVAL : errno;  // a FIFO without a reader
        return fd;
    }
    struct stat st {};
    if (::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode)) {
        fd.reset();
        errno = EINVAL;
    }
    return fd;
}

std::string text_of(const std::filesystem::path& path, std::size_t most) {
    const UniqueFd fd = open_regular(path, O_RDONLY);
    std::string out;
    std::array<char, 4096> buffer;
    while (fd && out.size() < most) {
        const ssize_t n =
            ::read(fd.get(), buffer.data(), std::min(buffer.size(), most - out.size()));
        if (n <= 0) {
            break;
        }
        out.append(buffer.data(), static_cast<std::size_t>(n));
    }
    return out;
}

UniqueFd lock_regular(const std::filesystem::path& path, std::chrono::milliseconds limit) {
    constexpr std::chrono::milliseconds kLook{5};
    UniqueFd fd = open_regular(path, O_RDWR | O_CREAT | O_NOFOLLOW);
    const auto until = std::chrono::steady_clock::now() + limit;
    while (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK && std::chrono::steady_clock::now() < until) {
            std::this_thread::sleep_for(kLook);
        } else if (errno != EINTR) {
            const int error = errno;
            fd.reset();
            errno = error;
        }
    }
    return fd;
}

}  // namespace dingo
