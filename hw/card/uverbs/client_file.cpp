// SPDX-License-Identifier: BSD-2-Clause
#include "uverbs/client_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "uverbs/errno_error.h"

namespace dingo::card::uverbs {
namespace {

template <typename Byte, typename FileCall>
bool copy_at(int fd, std::uint64_t offset, std::span<Byte> here, FileCall file_call) {
    while (!here.empty()) {
        const ssize_t n = file_call(fd, here.data(), here.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        here = here.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
    return true;
}

bool serves(int fd, bool writable) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & (O_PATH | O_APPEND)) != 0) {
        return false;
    }
    const int mode = flags & O_ACCMODE;
    if (mode != O_RDWR && (writable || mode != O_RDONLY)) {
        return false;
    }
    // Only files in memory have seals: no other file system is asked anything, as it might not
    // answer. Those of huge pages cannot be written to.
    struct statfs fs {};
    struct stat st {};
    return ::fcntl(fd, F_GET_SEALS) >= 0 && ::fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC &&
           ::fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

}  // namespace

ClientFile::ClientFile(int fd, bool writable) {
    if (!serves(fd, writable)) {
        throw ErrnoError(EINVAL);
    }
    fd_ = ForeignFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!fd_) {
        throw ErrnoError(ENOMEM);
    }
}

bool ClientFile::read(std::uint64_t offset, std::span<std::byte> dst) const {
    return copy_at(fd_.get(), offset, dst, ::pread);
}

bool ClientFile::write(std::uint64_t offset, std::span<const std::byte> src) const {
    struct stat st {};
    // Nobody asked for a longer file.
    if (::fstat(fd_.get(), &st) != 0 ||
        offset + src.size() > static_cast<std::uint64_t>(st.st_size)) {
        return false;
    }
    return copy_at(fd_.get(), offset, src, ::pwrite);
}

}  // namespace dingo::card::uverbs
