// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/client_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <string>
#include <string_view>
#include <utility>

#include "base/errno_error.h"
#include "host/driver/file_kinds.h"

namespace dingo::uverbs {
namespace {

bool is_proc_mem(int fd) {
    if (!is_open_for(fd, O_RDWR) || !is_on_procfs(fd)) {
        return false;
    }
    char path[PATH_MAX];
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const ssize_t n = ::readlink(link.c_str(), path, sizeof path);
    const std::string_view name(path, n > 0 ? static_cast<std::size_t>(n) : 0);
    // procfs drops unused names from its cache and then reports an open file as deleted.
    return name.ends_with("/mem") || name.ends_with("/mem (deleted)");
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

ClientMemory::ClientMemory(pid_t pid, ForeignFd mem, std::shared_ptr<Account> account)
    : pid_(pid), account_(std::move(account)) {
    if (pid < 0 || (mem && !is_proc_mem(mem.get()))) {
        throw ErrnoError(EINVAL);
    }
    if (mem) {
        descriptor_ = Charge(account_, process_quotas().descriptors);
        mem_.reset(mem.release());
    }
}

bool ClientMemory::read(std::uint64_t va, std::span<std::byte> dst) {
    return copy(mem_.get(), va, dst, ::pread);
}

bool ClientMemory::write(std::uint64_t va, std::span<const std::byte> src) {
    return copy(mem_.get(), va, src, ::pwrite);
}

}  // namespace dingo::uverbs
