// SPDX-License-Identifier: BSD-2-Clause
#include "wire/shm_net.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include "base/regular_file.h"
#include "base/run_dir.h"
#include "wire/socket.h"
#include "wire/wire_system_error.h"

namespace dingo {

namespace fs = std::filesystem;

namespace {

/// A joining card holds the lock for some milliseconds. This process serves other clients
/// meanwhile.
constexpr std::chrono::milliseconds kLockTime{500};

/// Returns why the segment's lock cannot be taken, and advice.
std::string lock_error(const fs::path& lock, int error) {
    struct stat owner {};
    const bool there =
        ::stat(lock.c_str(), &owner) == 0 || ::stat(lock.parent_path().c_str(), &owner) == 0;
    if (error == EWOULDBLOCK)
        return fmt::format(
            "shm wire: another process has held the lock {} for {} ms; to find it: fuser -v {}",
            lock.string(), kLockTime.count(), lock.string());
    if ((error != EACCES && error != EPERM) || !there || owner.st_uid == ::geteuid())
        return fmt::format("shm wire: cannot lock {}: {}", lock.string(), std::strerror(error));
    return fmt::format(
        "shm wire: the segment {} belongs to user {}, and you are user {}: cards on one segment "
        "map each other's memory, so they must have one owner. Connect cards of two users by UDP: "
        "--wire "
        "roce:127.0.0.2 --ip 127.0.0.2/8 for one, roce:127.0.0.3 --ip 127.0.0.3/8 for the other; "
        "or two users share one card: dingo card start NAME --share",
        lock.parent_path().string(), owner.st_uid, ::geteuid());
}

}  // namespace

fs::path shm_net_directory(std::string_view net) {
    fs::path dir;
    if (!net.empty() && net[0] == '/') {
        dir = net;
    } else {
        const bool good = !net.empty() && net.size() <= 32 &&
                          std::all_of(net.begin(), net.end(), [](unsigned char c) {
                              return std::isalnum(c) != 0 || c == '-' || c == '_';
                          });
        if (!good)
            throw WireError(
                fmt::format("shm wire: '{}' is not a valid name of a network: use at most 32 "
                            "letters, digits, - and _, or an absolute path",
                            net));
        dir = run_dir() / "nets" / net;
    }
    const mode_t old = ::umask(077);
    std::error_code error;
    fs::create_directories(dir, error);
    ::umask(old);
    if (error)
        throw WireError(fmt::format("shm wire: cannot make {}: {}; set DINGO_RUN to another place",
                                    dir.string(), error.message()));
    return dir;
}

UniqueFd lock_shm_net(const fs::path& dir) {
    const fs::path path = dir / ".lock";
    UniqueFd lock = lock_regular(path, kLockTime);
    if (!lock)
        throw WireSystemError(lock_error(path, errno));
    return lock;
}

UniqueFd listen_shm(const fs::path& path, int backlog) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.native().size() >= sizeof address.sun_path)
        throw WireError(fmt::format(
            "shm wire: the path {} is too long for a socket: set DINGO_RUN to a shorter one",
            path.string()));
    std::memcpy(address.sun_path, path.c_str(), path.native().size() + 1);
    ::unlink(path.c_str());  // left by an earlier process with our PID
    UniqueFd out(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const mode_t old = ::umask(0177);
    const int bound =
        ::bind(out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    const int error = errno;
    ::umask(old);
    if (bound != 0 || ::listen(out.get(), backlog) != 0)
        throw_errno(fmt::format("shm wire: cannot listen at {}", path.string()),
                    bound != 0 ? error : errno);
    return out;
}

}  // namespace dingo
