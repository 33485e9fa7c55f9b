// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/client_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <string>
#include <string_view>

#include "base/errno_error.h"

namespace dingo::uverbs {
namespace {

bool is_proc_mem(int fd) {
    struct statfs fs {};
    if (::fstatfs(fd, &fs) != 0 || fs.f_type != PROC_SUPER_MAGIC) {
        return false;
    }
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) != O_RDWR || (flags & O_PATH) != 0) {
        return false;
    }
    char path[PATH_MAX];
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const ssize_t n = ::readlink(link.c_str(), path, sizeof path);
    const std::string_view name(path, n > 0 ? static_cast<std::size_t>(n) : 0);
    // procfs drops unused names from its cache and then reports an open file as deleted.
    return name.ends_with("/mem") || name.ends_with("/mem (deleted)");
}

bool is_sealed_file(int fd) {
    constexpr int kSize = F_SEAL_SHRINK | F_SEAL_GROW;
    constexpr off_t kMost = 1 << 20;             // closing it frees its pages on our thread
    const int seals = ::fcntl(fd, F_GET_SEALS);  // only files in memory have seals
    struct stat st {};
    return seals >= 0 && (seals & kSize) == kSize && ::fstat(fd, &st) == 0 && st.st_size <= kMost;
}

template <typename Byte, typename FileCall>
bool copy(int fd, std::uint64_t va, std::span<Byte> here, FileCall file_call) {
    if (va + here.size() < va) {
        return false;
    }
    while (!here.empty()) {
        const ssize_t n = file_call(fd, here.data(), here.size(), static_cast<off_t>(va));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        here = here.subspan(static_cast<std::size_t>(n));
        va += static_cast<std::uint64_t>(n);
    }
    return true;
}

}  // namespace

ClientMemory::ClientMemory(pid_t pid, ForeignFd mem, bool files) : pid_(pid) {
    if (pid < 0 || !(is_proc_mem(mem.get()) || (files && is_sealed_file(mem.get())))) {
        throw ErrnoError(EINVAL);
    }
    mem_.reset(mem.release());
}

bool ClientMemory::read(std::uint64_t va, std::span<std::byte> dst) {
    return copy(mem_.get(), va, dst, ::pread);
}

bool ClientMemory::write(std::uint64_t va, std::span<const std::byte> src) {
    return copy(mem_.get(), va, src, ::pwrite);
}

}  // namespace dingo::uverbs
