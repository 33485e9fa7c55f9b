// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <span>

#include "unique_fd.h"

namespace dingo {

/// Zeroed memory with a descriptor that others can map (memfd, sealed against resizing).
class SharedMemory {
  public:
    /// Throws std::system_error.
    SharedMemory(const char* name, std::size_t size);
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
    [[nodiscard]] int fd() const { return fd_.get(); }

  private:
    UniqueFd fd_;
    std::span<std::byte> bytes_;
};

}  // namespace dingo
