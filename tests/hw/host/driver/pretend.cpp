// SPDX-License-Identifier: BSD-2-Clause
#include "pretend.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <string>
#include <string_view>

namespace {

int dmabuf = -1;
int no_vm_write = 0;
unsigned refused = 0;
int processors = -1;

}  // namespace

// The C library declares it with attributes of its own.
extern "C" int fstatfs(int fd, struct statfs* out) noexcept {
    const auto result = static_cast<int>(::syscall(SYS_fstatfs, fd, out));
    if (result == 0 && fd == dmabuf) {
        out->f_type = DMA_BUF_MAGIC;
    }
    return result;
}

extern "C" int open(const char* path, int flags, ...) {
    if (dmabuf >= 0 && path == "/proc/self/fdinfo/" + std::to_string(dmabuf)) {
        constexpr std::string_view kText = "pos:\t0\nflags:\t02\nexp_name:\tpretended\n";
        const int file = ::memfd_create("fdinfo", MFD_CLOEXEC);
        if (::pwrite(file, kText.data(), kText.size(), 0) < 0) {
            return -1;
        }
        return file;
    }
    std::va_list arguments;
    va_start(arguments, flags);
    const auto mode = static_cast<unsigned>(va_arg(arguments, int));
    va_end(arguments);
    return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

extern "C" ssize_t process_vm_writev(pid_t pid, const iovec* from, unsigned long from_count,
                                     const iovec* to, unsigned long to_count,
                                     unsigned long flags) noexcept {
    if (no_vm_write != 0) {
        errno = no_vm_write;
        ++refused;
        return -1;
    }
    return ::syscall(SYS_process_vm_writev, pid, from, from_count, to, to_count, flags);
}

// Called by std::thread::hardware_concurrency().
extern "C" int get_nprocs() noexcept {
    return processors >= 0 ? processors : static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
}

namespace dingo::uverbs::test {

PretendProcessors::PretendProcessors(int count) {
    processors = count;
}

PretendProcessors::~PretendProcessors() {
    processors = -1;
}

PretendDmaBuf::PretendDmaBuf(int fd) {
    dmabuf = fd;
}

PretendDmaBuf::~PretendDmaBuf() {
    dmabuf = -1;
}

PretendNoVmWrite::PretendNoVmWrite(int error) {
    no_vm_write = error;
    refused = 0;
}

unsigned PretendNoVmWrite::calls() {
    return refused;
}

PretendNoVmWrite::~PretendNoVmWrite() {
    no_vm_write = 0;
}

}  // namespace dingo::uverbs::test
