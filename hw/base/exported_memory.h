// SPDX-License-Identifier: BSD-2-Clause
//
// Registry of client memory that is mapped here and that other processes of this user may map, too:
// says which file holds it. The code that maps memory adds it; a wire that shares it with a peer
// looks it up. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "base/unique_fd.h"

namespace dingo {

/// A part of a file and its mapping in this process.
struct ExportedPart {
    std::uint64_t id = 0;  ///< unique in this process, never reused
    std::span<const std::byte> bytes;
    std::shared_ptr<const UniqueFd> file;  ///< open for reading only
    std::uint64_t offset = 0;              ///< of `bytes` in the file
    bool lent = false;
};

class ExportedMemory {
  public:
    /// Registers `bytes`, which map the file from `offset` on, until remove(). The file must never
    /// shrink. `lent`: buffers whose content stays unchanged while something holds them
    /// (lent_memory.h).
    std::uint64_t add(std::span<const std::byte> bytes, UniqueFd file, std::uint64_t offset,
                      bool lent = false);
    void remove(std::uint64_t id);

    /// Returns the part that contains all of `bytes`.
    [[nodiscard]] std::optional<ExportedPart> find(std::span<const std::byte> bytes) const;
    [[nodiscard]] bool has(std::uint64_t id) const;

    /// Increases with each add() and remove(): results of find() stay valid while it is unchanged.
    [[nodiscard]] std::uint64_t generation() const {
        return generation_.load(std::memory_order_acquire);
    }

  private:
    mutable std::mutex mutex_;
    std::map<const std::byte*, ExportedPart> by_address_;
    std::map<std::uint64_t, const std::byte*> by_id_;
    std::uint64_t last_id_ = 0;
    std::atomic<std::uint64_t> generation_ = 0;
};

/// The registry of this process. Never destroyed: detached threads use it until the process ends.
ExportedMemory& exported_memory();

/// Opens the same file read-only, so that a process that receives the descriptor cannot write.
/// Empty on failure.
UniqueFd open_for_reading(int fd);

}  // namespace dingo
