// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "unique_fd.h"

namespace dingo {

/// Zeroed memory with a descriptor that others can map (memfd, sealed against resizing).
class SharedMemory {
  public:
    enum class Writers { kAll, kUs };

    /// Throws std::system_error. kUs: no other process can map it for writing, even with its
    /// descriptor.
    SharedMemory(const char* name, std::size_t size, Writers writers = Writers::kAll);
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
    [[nodiscard]] int fd() const { return fd_.get(); }

  private:
    UniqueFd fd_;
    std::span<std::byte> bytes_;
};

/// Another process's file is in memory and has [offset, offset + length) for good: its pages can be
/// touched where they are mapped. Not so with huge pages, which may be missing then: SIGBUS.
[[nodiscard]] bool memory_file_has(int fd, std::uint64_t offset, std::uint64_t length);

}  // namespace dingo
