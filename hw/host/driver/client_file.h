// SPDX-License-Identifier: BSD-2-Clause
//
// A client's file that contains a region. It is accessed through its descriptor, so that the region
// keeps its memory whatever the client unmaps. It is not accessed through a mapping, as its owner
// may shrink it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/foreign_fd.h"
#include "base/offenders.h"
#include "base/quota.h"

namespace dingo::uverbs {

class ClientFile {
  public:
    /// Keeps a copy of `fd`, charged to `account`. Throws ErrnoError: EINVAL if it is not on tmpfs
    /// (where reading and writing never block) or lacks the access mode; ENOMEM; EMFILE if the
    /// account's share is used up. `pid`: the client, for the log.
    ClientFile(int fd, bool writable, const std::shared_ptr<Account>& account = nullptr,
               pid_t pid = 0);
    ~ClientFile();
    ClientFile(const ClientFile&) = delete;
    ClientFile& operator=(const ClientFile&) = delete;

    /// The thread that writes. The data thread waits for no mover, which the client can hold up.
    enum class Writer : std::uint8_t { kDataThread, kMover };

    /// These return false beyond the end of the file.
    bool read(std::uint64_t offset, std::span<std::byte> dst) const;
    bool write(std::uint64_t offset, std::span<const std::byte> src,
               Writer writer = Writer::kDataThread);
    /// Locks the file's atomics, of all who reach it in this process. The data thread tries for a
    /// short time only: then the lock may be empty.
    [[nodiscard]] std::unique_lock<std::mutex> lock_atomics(Writer writer) const;
    /// Another client has registered it, too. Does not wait for a write.
    void add_owner(const MemoryOwner& owner);

  private:
    /// Mapping of a part of the file that is being written. Only the kernel accesses it, for which
    /// missing pages are an error and no signal.
    struct View {
        std::mutex mutex;  ///< of the writers
        std::byte* bytes = nullptr;
        std::uint64_t at = 0;              ///< offset in the file
        std::optional<OwnedMemory> owned;  ///< guarded by owners_mutex_
    };
    bool show(View& view, std::uint64_t offset);
    void hide(View& view);

    Charge descriptor_;
    Charge mappings_;  ///< for the views
    ForeignFd fd_;
    std::shared_ptr<std::mutex> atomics_;
    std::array<View, 2> views_;  ///< one for each Writer
    std::mutex owners_mutex_;    ///< never held for long
    std::vector<MemoryOwner> owners_;
};

/// Part of a window that is in a file.
struct FilePart {
    std::uint64_t offset = 0;  ///< in the window
    std::uint64_t length = 0;
    std::shared_ptr<ClientFile> file;
    std::uint64_t file_offset = 0;
};

}  // namespace dingo::uverbs
