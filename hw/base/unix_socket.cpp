// SPDX-License-Identifier: BSD-2-Clause
#include "unix_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "foreign_fd.h"

namespace dingo {
namespace {

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return address;
}

bool fits(const std::string& path) {
    return !path.empty() && path.size() < sizeof(sockaddr_un::sun_path);
}

/// Returns true if a process listens: accepts a connection, or has a full queue (EAGAIN).
bool somebody_listens(const std::string& path, int type) {
    const UniqueFd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un address = address_of(path);
    return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
           errno == EAGAIN;
}

}  // namespace

UniqueFd connect_unix(const std::string& path) {
    if (!fits(path)) {
        errno = ENAMETOOLONG;
        return {};
    }
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = address_of(path);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        const int error = errno;
        fd.reset();
        errno = error;
    }
    return fd;
}

UnixListener::UnixListener(std::string path) : UnixListener(std::move(path), Options{}) {}

UnixListener::UnixListener(std::string path, const Options& options) : path_(std::move(path)) {
    if (!fits(path_)) {
        throw std::runtime_error(fmt::format(
            "socket path '{}' is empty or longer than {} bytes: choose a shorter one, e.g. in /tmp",
            path_, sizeof(sockaddr_un::sun_path) - 1));
    }
    struct stat st {};
    if (::lstat(path_.c_str(), &st) == 0) {
        if (!S_ISSOCK(st.st_mode)) {
            throw std::runtime_error(fmt::format(
                "'{}' exists and is no socket: choose another path, or remove it", path_));
        }
        if (somebody_listens(path_, options.type)) {
            throw std::runtime_error(fmt::format(
                "'{}' is in use by another process: stop it, or choose another path", path_));
        }
        ::unlink(path_.c_str());
    }
    fd_.reset(::socket(AF_UNIX, options.type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // Accepted sockets inherit it. Set on them later, it would miss a message that arrives earlier.
    const int on = 1;
    if (options.credentials &&
        ::setsockopt(fd_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
        throw std::runtime_error(fmt::format("SO_PASSCRED: {}", std::strerror(errno)));
    }
    const sockaddr_un address = address_of(path_);
    const mode_t old = ::umask(options.mask);
    const int bound =
        ::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    const int error = errno;
    ::umask(old);
    if (bound != 0) {
        throw std::runtime_error(fmt::format("cannot make socket '{}': {}{}", path_,
                                             std::strerror(error),
                                             error == ENOENT ? ": make its directory first" : ""));
    }
    spare_.reset(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
    if (::listen(fd_.get(), options.backlog) != 0) {
        const int why = errno;
        ::unlink(path_.c_str());
        throw std::runtime_error(fmt::format("listen on '{}': {}", path_, std::strerror(why)));
    }
}

UnixListener::~UnixListener() {
    ::unlink(path_.c_str());
}

UniqueFd UnixListener::accept() {
    const auto take = [this] {
        return ::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    };
    if (!spare_) {  // it was used, and that connection is closed by now
        spare_.reset(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
    }
    UniqueFd taken(take());
    const int error = errno;
    if (!taken && (error == EMFILE || error == ENFILE) && spare_) {
        spare_.reset();
        ClientSocket(take()).reset();
        errno = error;
    }
    return taken;
}

}  // namespace dingo
