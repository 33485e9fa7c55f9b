// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/client_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
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

/// Bytes of a file in memory whose size cannot change; 0: it is something else. A page of hugetlbfs
/// may be missing when it is touched.
std::size_t size_of_sealed_file(int fd) {
    constexpr int kSize = F_SEAL_SHRINK | F_SEAL_GROW;
    constexpr off_t kMost = 1 << 20;             // closing it frees its pages on our thread
    const int seals = ::fcntl(fd, F_GET_SEALS);  // only files in memory have seals
    struct stat st {};
    struct statfs fs {};
    const bool fits = seals >= 0 && (seals & kSize) == kSize && ::fstat(fd, &st) == 0 &&
                      st.st_size <= kMost && ::fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
    return fits ? static_cast<std::size_t>(st.st_size) : 0;
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

ClientMemory::ClientMemory(pid_t pid, ForeignFd mem, bool files, std::shared_ptr<Account> account)
    : pid_(pid), account_(std::move(account)), descriptor_(account_, process_quotas().descriptors) {
    if (pid < 0) {
        throw ErrnoError(EINVAL);
    }
    if (is_proc_mem(mem.get())) {
        mem_.reset(mem.release());
        return;
    }
    // Not read and written by its descriptor: the client can hold the file's lock.
    const std::size_t size = files ? size_of_sealed_file(mem.get()) : 0;
    if (size == 0) {
        throw ErrnoError(EINVAL);
    }
    mapping_ = Charge(account_, process_quotas().mappings);
    void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, mem.get(), 0);
    if (at == MAP_FAILED) {
        throw ErrnoError(EINVAL);
    }
    file_ = {static_cast<std::byte*>(at), size};
}

ClientMemory::~ClientMemory() {
    if (!file_.empty()) {
        ::munmap(file_.data(), file_.size());
    }
}

std::span<std::byte> ClientMemory::in_file(std::uint64_t va, std::size_t size) const {
    const bool inside = va <= file_.size() && size <= file_.size() - va;
    return inside ? file_.subspan(va, size) : std::span<std::byte>();
}

bool ClientMemory::read(std::uint64_t va, std::span<std::byte> dst) {
    if (mem_) {
        return copy(mem_.get(), va, dst, ::pread);
    }
    const auto bytes = in_file(va, dst.size());
    std::ranges::copy(bytes, dst.begin());
    return bytes.size() == dst.size();
}

bool ClientMemory::write(std::uint64_t va, std::span<const std::byte> src) {
    if (mem_) {
        return copy(mem_.get(), va, src, ::pwrite);
    }
    const auto bytes = in_file(va, src.size());
    std::ranges::copy(src.first(bytes.size()), bytes.begin());
    return bytes.size() == src.size();
}

}  // namespace dingo::uverbs
