// SPDX-License-Identifier: BSD-2-Clause
//
// A client's file that contains a region. It is accessed through its descriptor, so that the region
// keeps its memory whatever the client unmaps. It is not accessed through a mapping, as its owner
// may shrink it.
#pragma once

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

    /// These return false beyond the end of the file.
    bool read(std::uint64_t offset, std::span<std::byte> dst) const;
    bool write(std::uint64_t offset, std::span<const std::byte> src);
    /// Another client has registered it, too.
    void add_owner(const MemoryOwner& owner);

  private:
    bool show(std::uint64_t offset);
    void hide();

    Charge descriptor_;
    Charge mapping_;  ///< for the mapping of the view
    ForeignFd fd_;
    std::mutex mutex_;           ///< the data thread and a mover write
    std::byte* view_ = nullptr;  ///< mapping of the part being written; only the kernel accesses
                                 ///< it, for which missing pages are an error and no signal
    std::uint64_t view_at_ = 0;  ///< offset in the file
    std::vector<MemoryOwner> owners_;
    std::optional<OwnedMemory> owned_;  ///< the view
};

/// Part of a window that is in a file.
struct FilePart {
    std::uint64_t offset = 0;  ///< in the window
    std::uint64_t length = 0;
    std::shared_ptr<ClientFile> file;
    std::uint64_t file_offset = 0;
};

}  // namespace dingo::uverbs
