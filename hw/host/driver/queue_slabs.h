// SPDX-License-Identifier: BSD-2-Clause
//
// Memory of a context's queues: many queues in one file, so that a queue costs no descriptor and no
// mapping of the card. Each context has files of its own, so that no client can map another's
// queues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/offenders.h"
#include "base/quota.h"
#include "base/shared_memory.h"

namespace dingo::uverbs {

class QueueSlabs {
  public:
    struct Slab {
        Slab(const MemoryOwner& owner, std::size_t slot_bytes, std::size_t slots);
        Charge descriptor;
        Charge mapping;
        SharedMemory memory;
        OwnedMemory owned;
        std::size_t slot_bytes;
        std::size_t slots;
        std::vector<std::uint32_t> free;
        std::list<Slab>* home = nullptr;  ///< slabs of this size
        std::list<Slab>::iterator self;
    };

    /// Zeroed pages, freed by the destructor.
    class Piece {
      public:
        Piece(Slab& slab, std::uint32_t slot, std::size_t size)
            : slab_(slab), slot_(slot), size_(size) {}
        ~Piece();
        Piece(const Piece&) = delete;
        Piece& operator=(const Piece&) = delete;

        [[nodiscard]] int fd() const { return slab_.memory.fd(); }
        [[nodiscard]] std::uint64_t offset() const { return slot_ * slab_.slot_bytes; }
        [[nodiscard]] std::span<std::byte> bytes() const {
            return slab_.memory.bytes().subspan(offset(), size_);
        }

      private:
        Slab& slab_;
        std::uint32_t slot_;
        std::size_t size_;
    };

    /// Files are charged to the owner's account.
    explicit QueueSlabs(MemoryOwner owner = {}) : owner_(std::move(owner)) {}
    QueueSlabs(const QueueSlabs&) = delete;
    QueueSlabs& operator=(const QueueSlabs&) = delete;

    /// `bytes` is rounded up to pages. Throws ErrnoError: ENOMEM; EMFILE if the account's share is
    /// used up.
    [[nodiscard]] Piece take(std::size_t bytes);

    /// Files, each a descriptor and a mapping.
    [[nodiscard]] std::size_t files() const;

  private:
    MemoryOwner owner_;
    std::map<std::size_t, std::list<Slab>> sizes_;  ///< slabs with free slots come first
};

}  // namespace dingo::uverbs
