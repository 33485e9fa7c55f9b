// SPDX-License-Identifier: BSD-2-Clause
//
// A file of a client's that a region lies in: reached by its descriptor, so that the region keeps
// its memory whatever the client unmaps, and not mapped, as its owner may make it shorter.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "foreign_fd.h"

namespace dingo::card::uverbs {

class ClientFile {
  public:
    /// Keeps a copy of `fd`. ErrnoError: EINVAL when it is no file in memory (tmpfs), where reading
    /// and writing wait for nobody, or was not opened for that; ENOMEM.
    ClientFile(int fd, bool writable);

    /// False: the file ends before.
    bool read(std::uint64_t offset, std::span<std::byte> dst) const;
    bool write(std::uint64_t offset, std::span<const std::byte> src) const;

  private:
    ForeignFd fd_;
};

/// Part of a window that is in a file.
struct FilePart {
    std::uint64_t offset = 0;  ///< in the window
    std::uint64_t length = 0;
    std::shared_ptr<ClientFile> file;
    std::uint64_t file_offset = 0;
};

}  // namespace dingo::card::uverbs
