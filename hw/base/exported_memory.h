// SPDX-License-Identifier: BSD-2-Clause
//
// Memory of clients that is mapped here and that other processes of this user may map, too: which
// file holds it. The code that maps memory adds it; a wire that shows it to a peer looks it up.
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

/// A part of a file, and where it is mapped here.
struct ExportedPart {
    std::uint64_t id = 0;  ///< of this process, never used twice
    std::span<const std::byte> bytes;
    std::shared_ptr<const UniqueFd> file;  ///< open for reading only
    std::uint64_t offset = 0;              ///< where `bytes` begin in the file
    bool lent = false;
};

class ExportedMemory {
  public:
    /// `bytes` are the file's from `offset` on, until remove(). The file cannot shrink. `lent`:
    /// buffers, whose bytes stay as they are while something holds them (lent_memory.h).
    std::uint64_t add(std::span<const std::byte> bytes, UniqueFd file, std::uint64_t offset,
                      bool lent = false);
    void remove(std::uint64_t id);

    /// The part that has all of `bytes`.
    [[nodiscard]] std::optional<ExportedPart> find(std::span<const std::byte> bytes) const;
    [[nodiscard]] bool has(std::uint64_t id) const;

    /// Grows with each add() and remove(): while it is the same, find() answers the same.
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

/// Opens the same file for reading only, so that the descriptor's receiver cannot write. Empty: not
/// possible.
UniqueFd open_for_reading(int fd);

}  // namespace dingo
