// SPDX-License-Identifier: BSD-2-Clause
//
// Memory of a context's queues: many queues in one file, so that a queue costs no descriptor and no
// mapping of the card. Each context has files of its own, so that no client can map another's
// queues. Another thread clears what a queue leaves behind, as a client can hold its file's lock
// with a write() whose data never arrive: then the rest of the file is not used again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/offenders.h"
#include "base/quota.h"
#include "base/shared_memory.h"

namespace dingo::uverbs {

class QueueSlabs {
  public:
    struct Slab;
    using List = std::list<std::shared_ptr<Slab>>;
    struct Slab {
        Slab(const MemoryOwner& owner, std::size_t slot_bytes, std::size_t slots);
        Charge descriptor;
        Charge mapping;
        SharedMemory memory;
        OwnedMemory owned;
        std::size_t slot_bytes;
        std::size_t used = 0;             ///< slots
        std::vector<std::uint32_t> free;  ///< cleared slots
        List* home = nullptr;             ///< slabs of this size
        List::iterator self;
        std::atomic<bool> dropped = false;
    };

    /// Zeroed pages, freed by the destructor, which does not wait for the client.
    class Piece {
      public:
        Piece(QueueSlabs& slabs, Slab& slab, std::uint32_t slot, std::size_t size)
            : slabs_(slabs), slab_(slab), slot_(slot), size_(size) {}
        ~Piece();
        Piece(const Piece&) = delete;
        Piece& operator=(const Piece&) = delete;

        [[nodiscard]] int fd() const { return slab_.memory.fd(); }
        [[nodiscard]] std::uint64_t offset() const { return slot_ * slab_.slot_bytes; }
        [[nodiscard]] std::span<std::byte> bytes() const {
            return slab_.memory.bytes().subspan(offset(), size_);
        }

      private:
        QueueSlabs& slabs_;
        Slab& slab_;
        std::uint32_t slot_;
        std::size_t size_;
    };

    /// Files are charged to the owner's account.
    explicit QueueSlabs(MemoryOwner owner = {});
    QueueSlabs(const QueueSlabs&) = delete;
    QueueSlabs& operator=(const QueueSlabs&) = delete;

    /// `bytes` is rounded up to pages. Throws ErrnoError: ENOMEM; EMFILE if the account's share is
    /// used up.
    [[nodiscard]] Piece take(std::size_t bytes);

    /// Files, each a descriptor and a mapping.
    [[nodiscard]] std::size_t files() const;
    /// Slots that are not cleared yet.
    [[nodiscard]] std::size_t clearing() const;

  private:
    /// Shared with the thread that clears slots.
    struct Cleared {
        std::mutex mutex;
        std::vector<std::pair<std::weak_ptr<Slab>, std::uint32_t>> slots;  ///< not taken back yet
        std::size_t waiting = 0;  ///< slots that are not cleared yet
    };
    void give_back(Slab& slab, std::uint32_t slot);
    static void clear(Slab& slab, std::uint32_t slot);
    void take_cleared();

    MemoryOwner owner_;
    std::uint64_t number_;               ///< of these, in this process
    std::map<std::size_t, List> sizes_;  ///< slabs with free slots come first
    std::shared_ptr<Cleared> cleared_ = std::make_shared<Cleared>();
};

}  // namespace dingo::uverbs
