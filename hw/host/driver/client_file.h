// SPDX-License-Identifier: BSD-2-Clause
//
// A file of a client that holds a region. It is accessed through its descriptor, so that the region
// keeps its memory whatever the client unmaps. It is never accessed through a mapping, as its owner
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
    /// Keeps a copy of `fd`. ErrnoError: EINVAL when it is not a file in memory (tmpfs, where
    /// reading and writing never block) or was not opened for that; ENOMEM.
    /// Charged to `account`; EMFILE when that has its share. `pid`: of the client, for the log.
    ClientFile(int fd, bool writable, const std::shared_ptr<Account>& account = nullptr,
               pid_t pid = 0);
    ~ClientFile();
    ClientFile(const ClientFile&) = delete;
    ClientFile& operator=(const ClientFile&) = delete;

    /// False: the file ends before.
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
    std::byte* view_ = nullptr;  ///< a mapping of the part that is being written; only the kernel
                                 ///< goes there, to which missing pages are an error, no signal
    std::uint64_t view_at_ = 0;  ///< in the file
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
