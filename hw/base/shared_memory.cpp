// SPDX-License-Identifier: BSD-2-Clause
#include "shared_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <system_error>

namespace dingo {

SharedMemory::SharedMemory(const char* name, std::size_t size, Writers writers)
    : fd_(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    const auto fail = [](const char* what) {
        throw std::system_error(errno, std::generic_category(), what);
    };
    if (!fd_) {
        fail("memfd_create");
    }
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) {
        fail("ftruncate of shared memory");
    }
    void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (at == MAP_FAILED) {
        fail("mmap of shared memory");
    }
    // A process that receives the descriptor must not be able to remove the pages that are mapped
    // here.
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL |
                      (writers == Writers::kUs ? F_SEAL_FUTURE_WRITE : 0);
    if (::fcntl(fd_.get(), F_ADD_SEALS, seals) != 0) {
        const int error = errno;
        ::munmap(at, size);
        errno = error;
        fail("sealing of shared memory");
    }
    bytes_ = {static_cast<std::byte*>(at), size};
}

SharedMemory::~SharedMemory() {
    ::munmap(bytes_.data(), bytes_.size());
}

bool memory_file_has(int fd, std::uint64_t offset, std::uint64_t length) {
    struct stat st {};
    struct statfs fs {};
    const int seals = ::fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && ::fstatfs(fd, &fs) == 0 &&
           fs.f_type == TMPFS_MAGIC && ::fstat(fd, &st) == 0 &&
           offset <= static_cast<std::uint64_t>(st.st_size) &&
           length <= static_cast<std::uint64_t>(st.st_size) - offset;
}

}  // namespace dingo
