// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/file_kinds.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include <string>

#include "base/regular_file.h"
#include "base/unique_fd.h"

namespace dingo::uverbs {
namespace {

bool is_open(int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_PATH) == 0;
}

/// Returns the block size of the file system, which the kernel knows without asking it; 0 if
/// unknown.
int block_size(int fd) {
    int size = 0;
    return ::ioctl(fd, FIGETBSZ, &size) == 0 ? size : 0;
}

bool is_on(int fd, long type) {
    struct statfs fs {};
    return ::fstatfs(fd, &fs) == 0 && fs.f_type == type;
}

}  // namespace

bool is_open_for(int fd, int mode) {
    const int flags = ::fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_PATH) == 0 && (flags & O_ACCMODE) == mode;
}

// No file system that a user can mount has procfs's block size (1024; FUSE has a page).
bool is_on_procfs(int fd) {
    static const int size = [] {
        const UniqueFd known(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
        return known ? block_size(known.get()) : 0;
    }();
    return size != 0 && is_open(fd) && block_size(fd) == size && is_on(fd, PROC_SUPER_MAGIC);
}

// Only DMABufs have their exporter's name in /proc.
bool is_dmabuf(int fd) {
    return is_open(fd) &&
           text_of("/proc/self/fdinfo/" + std::to_string(fd)).find("\nexp_name:\t") !=
               std::string::npos &&
           is_on(fd, DMA_BUF_MAGIC);
}

}  // namespace dingo::uverbs
