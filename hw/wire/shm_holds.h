// SPDX-License-Identifier: BSD-2-Clause
//
// Payloads of received frames that are in a peer's buffers and still being read here, for example
// by a GPU's copy engine: the peer may not reuse them before they are released.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/lent_memory.h"
#include "dingo/held_memory.h"

namespace dingo {

class ShmHolds {
  public:
    /// Limit of bytes up to which consecutive payloads are held together: they become one copy.
    static constexpr std::size_t kMostJoined = std::size_t{256} << 10;
    /// Number of messages whose payloads may be joined at the same time.
    static constexpr std::size_t kMostRecent = 16;

    /// Keeps the payload at `at`, of the frame of `bytes` bytes at `position` of the ring, while
    /// the returned object exists. Returns null if it cannot be kept and must be copied.
    Held hold(const std::shared_ptr<LentMemory>& memory, const std::byte* at, std::size_t bytes,
              std::uint64_t position);

    /// Returns true if `position` has changed since the last call: the lent payloads of all frames
    /// before `position` are released. `tail`: the first frame that was not received.
    bool let_go(std::uint64_t tail, std::uint64_t& position);

  private:
    struct Lent final : HeldMemory {
        explicit Lent(std::shared_ptr<LentMemory> of) : memory(std::move(of)) {}
        [[nodiscard]] bool is_pinned() const override { return memory->is_pinned(); }
        const std::shared_ptr<LentMemory> memory;
    };
    struct Kept {
        std::uint64_t position;  ///< ring position of the first frame
        std::weak_ptr<const Lent> lent;
    };

    /// A held payload that may be extended by following ones.
    struct Recent {
        std::shared_ptr<const Lent> lent;
        const std::byte* first;  ///< first and last payload that it keeps
        const std::byte* last;
        std::size_t bytes;  ///< length of the last frame: upper limit of its payload's
    };

    /// Returns the entry that this payload directly follows, moved to the end; nullptr if none.
    const Recent* find(const LentMemory& memory, const std::byte* at, std::size_t bytes);

    std::deque<Kept> kept_;       ///< in order of position
    std::vector<Recent> recent_;  ///< newest last
    bool said_all_ = true;
    std::uint64_t said_ = 0;
};

}  // namespace dingo
