// SPDX-License-Identifier: BSD-2-Clause
#include "uverbs/listener.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace dingo::card::uverbs {
namespace {

constexpr int kBacklog = 128;

bool is_in_use(const sockaddr_un& address) {
    const UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
           errno == EAGAIN;
}

}  // namespace

Listener::Listener(std::string path, bool share) : path_(std::move(path)), share_(share) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path_.empty() || path_.size() >= sizeof address.sun_path) {
        throw std::runtime_error(fmt::format(
            "socket path '{}' is empty or longer than {} bytes: choose a shorter directory", path_,
            sizeof address.sun_path - 1));
    }
    std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
    struct stat st {};
    if (::lstat(path_.c_str(), &st) == 0) {
        if (!S_ISSOCK(st.st_mode)) {
            throw std::runtime_error(fmt::format(
                "'{}' exists and is no socket: choose another directory, or remove it", path_));
        }
        if (is_in_use(address)) {
            throw std::runtime_error(fmt::format(
                "'{}' is in use by another card: stop it, or choose another directory", path_));
        }
        ::unlink(path_.c_str());
    }
    fd_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // Accepted sockets inherit it. Set on them it would miss a message that is faster.
    const int on = 1;
    if (::setsockopt(fd_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
        throw std::runtime_error(fmt::format("SO_PASSCRED: {}", std::strerror(errno)));
    }
    const mode_t old = ::umask(share ? 0 : 0177);
    const int bound =
        ::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    const int error = errno;
    ::umask(old);
    if (bound != 0) {
        throw std::runtime_error(fmt::format("cannot make socket '{}': {}{}", path_,
                                             std::strerror(error),
                                             error == ENOENT ? ": make its directory first" : ""));
    }
    if (::listen(fd_.get(), kBacklog) != 0) {
        throw std::runtime_error(fmt::format("listen on '{}': {}", path_, std::strerror(errno)));
    }
}

Listener::~Listener() {
    ::unlink(path_.c_str());
}

Listener::Accepted Listener::accept() const {
    Accepted result;
    result.socket.reset(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!result.socket) {
        result.exhausted =
            errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        return result;
    }
    ucred peer{};
    socklen_t len = sizeof peer;
    if (::getsockopt(result.socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0) {
        return result;
    }
    result.pid = peer.pid;
    result.allowed = share_ || peer.uid == ::geteuid() || peer.uid == 0;
    return result;
}

}  // namespace dingo::card::uverbs
