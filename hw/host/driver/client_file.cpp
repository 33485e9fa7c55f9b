// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/client_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "base/errno_error.h"
#include "base/monotonic_clock.h"
#include "dingo/touch.h"

namespace dingo::uverbs {
namespace {

/// Size of a mapping. It takes address space, but no memory.
constexpr std::uint64_t kView = std::uint64_t{64} << 20;

/// How long the data thread waits for another's atomic.
constexpr Nanoseconds kAtomicTime = 100'000;

/// One mutex for each file, which several cards may reach.
std::shared_ptr<std::mutex> atomics_of_file(int fd) {
    static std::mutex mutex;
    static std::map<std::pair<dev_t, ino_t>, std::weak_ptr<std::mutex>> files;
    struct stat st {};
    if (::fstat(fd, &st) != 0) {
        throw ErrnoError(EINVAL);
    }
    const std::scoped_lock lock(mutex);
    std::erase_if(files, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<std::mutex>& known = files[{st.st_dev, st.st_ino}];
    std::shared_ptr<std::mutex> atomics = known.lock();
    if (atomics == nullptr) {
        atomics = std::make_shared<std::mutex>();
        known = atomics;
    }
    return atomics;
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
    // Only regular files in memory have seals. This is checked first, as a file system that does
    // not respond must not be queried. Files of huge pages cannot be written with write().
    struct statfs fs {};
    return ::fcntl(fd, F_GET_SEALS) >= 0 && ::fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

}  // namespace

ClientFile::ClientFile(int fd, bool writable, const std::shared_ptr<Account>& account, pid_t pid)
    : descriptor_(account, process_quotas().descriptors),
      mappings_(account, process_quotas().mappings, views_.size()),
      owners_{{account, pid, nullptr}} {
    if (!serves(fd, writable)) {
        throw ErrnoError(EINVAL);
    }
    fd_ = ForeignFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!fd_) {
        throw ErrnoError(ENOMEM);
    }
    atomics_ = atomics_of_file(fd_.get());
}

ClientFile::~ClientFile() {
    for (View& view : views_) {
        hide(view);
    }
}

bool ClientFile::read(std::uint64_t offset, std::span<std::byte> dst) const {
    while (!dst.empty()) {
        const ssize_t n = ::pread(fd_.get(), dst.data(), dst.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        dst = dst.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
    return true;
}

// Not by pwrite(), which would wait for the file's lock: a client can hold it arbitrarily long with
// a write() whose data never arrives. A page fault does not need that lock.
bool ClientFile::write(std::uint64_t offset, std::span<const std::byte> src, Writer writer) {
    struct stat st {};
    // Writing must not extend the file.
    if (::fstat(fd_.get(), &st) != 0 ||
        offset + src.size() > static_cast<std::uint64_t>(st.st_size)) {
        return false;
    }
    View& view = views_[static_cast<std::size_t>(writer)];
    const std::scoped_lock lock(view.mutex);
    while (!src.empty()) {
        if (!show(view, offset)) {
            return false;
        }
        const std::uint64_t in_view = offset - view.at;
        const std::size_t want = std::min<std::uint64_t>(src.size(), kView - in_view);
        const iovec from{const_cast<std::byte*>(src.data()), want};
        const iovec to{view.bytes + in_view, want};
        if (writer == Writer::kDataThread) {
            touches(view.bytes + in_view, want, src.data());
        }
        ssize_t n = ::process_vm_writev(::getpid(), &from, 1, &to, 1, 0);
        if (n < 0 && (errno == ENOSYS || errno == EPERM)) {  // some containers forbid the call
            n = ::pwrite(fd_.get(), src.data(), want, static_cast<off_t>(offset));
        }
        if (n <= 0) {
            return false;
        }
        src = src.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
    return true;
}

/// Makes the view one that holds `offset`.
bool ClientFile::show(View& view, std::uint64_t offset) {
    const std::uint64_t at = offset / kView * kView;
    if (view.bytes != nullptr && view.at == at) {
        return true;
    }
    hide(view);
    void* const bytes = ::mmap(nullptr, kView, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                               fd_.get(), static_cast<off_t>(at));
    if (bytes == MAP_FAILED) {
        return false;
    }
    view.bytes = static_cast<std::byte*>(bytes);
    view.at = at;
    const std::scoped_lock lock(owners_mutex_);
    view.owned.emplace(std::span(view.bytes, kView), owners_);
    return true;
}

std::unique_lock<std::mutex> ClientFile::lock_atomics(Writer writer) const {
    if (writer == Writer::kMover) {
        return std::unique_lock(*atomics_);
    }
    std::unique_lock lock(*atomics_, std::try_to_lock);
    for (const Nanoseconds begin = clock_now(); !lock && clock_now() - begin < kAtomicTime;) {
        static_cast<void>(lock.try_lock());
    }
    return lock;
}

void ClientFile::add_owner(const MemoryOwner& owner) {
    const std::scoped_lock lock(owners_mutex_);
    dingo::add_owner(owners_, owner);
    for (const View& view : views_) {
        if (view.owned) {
            view.owned->add_owner(owner);
        }
    }
}

void ClientFile::hide(View& view) {
    {
        const std::scoped_lock lock(owners_mutex_);
        view.owned.reset();
    }
    if (view.bytes != nullptr) {
        ::munmap(view.bytes, kView);
        view.bytes = nullptr;
    }
}

}  // namespace dingo::uverbs
