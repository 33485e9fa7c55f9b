// SPDX-License-Identifier: BSD-2-Clause
#include "uverbs/client_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include <cerrno>
#include <climits>
#include <string>
#include <string_view>

#include "uverbs/errno_error.h"

namespace dingo::card::uverbs {
namespace {

/// From this size on one copy by process_vm_readv is faster than two through /proc/PID/mem.
constexpr std::size_t kLarge = 64 * 1024;

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
    // procfs forgets names that nobody looks up, and then calls an open file deleted.
    return name.ends_with("/mem") || name.ends_with("/mem (deleted)");
}

}  // namespace

ClientMemory::ClientMemory(pid_t pid, UniqueFd mem)
    : pid_(pid), mem_(std::move(mem)), vm_calls_(pid > 0) {
    if (pid < 0 || !is_proc_mem(mem_.get())) {
        throw ErrnoError(EINVAL);
    }
}

// A number may be another process by now, the descriptor never is: ask it first.
bool ClientMemory::vm_usable(std::uint64_t va, std::size_t size) {
    std::byte probe{};
    return vm_calls_ && size >= kLarge &&
           ::pread(mem_.get(), &probe, 1, static_cast<off_t>(va)) == 1;
}

template <typename VmCall, typename FileCall>
bool ClientMemory::copy(std::uint64_t va, std::byte* here, std::size_t size, VmCall vm_call,
                        FileCall file_call) {
    if (va + size < va) {
        return false;
    }
    if (vm_usable(va, size)) {
        const iovec local{here, size};
        // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the client's
        const iovec remote{reinterpret_cast<void*>(va), size};
        const ssize_t n = vm_call(pid_, &local, 1, &remote, 1, 0);
        if (n == static_cast<ssize_t>(size)) {
            return true;
        }
        vm_calls_ = n >= 0 || errno == EFAULT;
    }
    std::size_t done = 0;
    while (done < size) {
        const ssize_t n =
            file_call(mem_.get(), here + done, size - done, static_cast<off_t>(va + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        done += static_cast<std::size_t>(n);
    }
    return true;
}

bool ClientMemory::read(std::uint64_t va, std::span<std::byte> dst) {
    return copy(va, dst.data(), dst.size(), ::process_vm_readv, ::pread);
}

bool ClientMemory::write(std::uint64_t va, std::span<const std::byte> src) {
    // Both calls only read what is here; their common shape with reading is not const.
    return copy(va, const_cast<std::byte*>(src.data()), src.size(), ::process_vm_writev, ::pwrite);
}

}  // namespace dingo::card::uverbs
