// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "unique_fd.h"

namespace dingo {

/// Zeroed shared memory: a memfd, sealed against resizing, whose descriptor others can map.
class SharedMemory {
  public:
    enum class Writers { kAll, kUs };

    /// Throws std::system_error. kUs: no other process can map it writable, even with the
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

/// Returns true if another process's file is on tmpfs and contains [offset, offset + length) for
/// good (sealed against shrinking): touching its mapped pages cannot raise SIGBUS. False for huge
/// pages, which may be missing at the time of access.
[[nodiscard]] bool memory_file_has(int fd, std::uint64_t offset, std::uint64_t length);

}  // namespace dingo
