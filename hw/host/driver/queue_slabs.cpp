// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/queue_slabs.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <system_error>
#include <utility>

#include "base/elsewhere.h"
#include "base/errno_error.h"
#include "host/driver/queue_memory.h"

namespace dingo::uverbs {
namespace {

// Untouched pages take no memory, so a file may be far larger than its content.
constexpr std::size_t kSlabBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxSlots = 256;

}  // namespace

QueueSlabs::Slab::Slab(const MemoryOwner& owner, std::size_t slot_size, std::size_t count)
    : descriptor(owner.account.lock(), process_quotas().descriptors),
      mapping(owner.account.lock(), process_quotas().mappings),
      memory("dingo-queue", slot_size * count),
      owned(memory.bytes(), owner),
      slot_bytes(slot_size),
      free(count) {
    std::iota(free.rbegin(), free.rend(), 0U);
}

QueueSlabs::QueueSlabs(MemoryOwner owner) : owner_(std::move(owner)) {
    static std::atomic<std::uint64_t> last{0};
    number_ = ++last;
}

QueueSlabs::Piece QueueSlabs::take(std::size_t bytes) {
    take_cleared();
    const std::size_t size = page_align(bytes);
    const std::size_t slot_bytes = std::bit_ceil(size);
    List& slabs = sizes_[slot_bytes];
    if (slabs.empty() || slabs.front()->free.empty()) {
        try {
            slabs.push_front(std::make_shared<Slab>(
                owner_, slot_bytes,
                std::clamp<std::size_t>(kSlabBytes / slot_bytes, 1, kMaxSlots)));
        } catch (const std::system_error&) {
            throw ErrnoError(ENOMEM);  // the card, not the client, lacks memory or descriptors
        }
        slabs.front()->home = &slabs;
        slabs.front()->self = slabs.begin();
    }
    Slab& slab = *slabs.front();
    const std::uint32_t slot = slab.free.back();
    slab.free.pop_back();
    ++slab.used;
    if (slab.free.empty()) {
        slabs.splice(slabs.end(), slabs, slab.self);
    }
    return {*this, slab, slot, size};
}

QueueSlabs::Piece::~Piece() {
    slabs_.give_back(slab_, slot_);
}

void QueueSlabs::give_back(Slab& slab, std::uint32_t slot) {
    if (--slab.used == 0) {
        slab.dropped = true;
        slab.home->erase(slab.self);
        return;
    }
    {
        const std::scoped_lock lock(cleared_->mutex);
        ++cleared_->waiting;
    }
    const std::shared_ptr<Account> account = owner_.account.lock();
    call_elsewhere({account != nullptr ? account->user() : Sender{}.user, number_},
                   [cleared = cleared_, kept = *slab.self, slot]() mutable {
                       const std::weak_ptr<Slab> of = kept;
                       if (!kept->dropped) {
                           clear(*kept, slot);
                       }
                       kept.reset();  // may be the last
                       const std::scoped_lock lock(cleared->mutex);
                       --cleared->waiting;
                       cleared->slots.emplace_back(of, slot);
                   });
}

void QueueSlabs::clear(Slab& slab, std::uint32_t slot) {
    const std::size_t at = slot * slab.slot_bytes;
    if (::fallocate(slab.memory.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(at), static_cast<off_t>(slab.slot_bytes)) != 0) {
        std::memset(slab.memory.bytes().data() + at, 0, slab.slot_bytes);
    }
}

void QueueSlabs::take_cleared() {
    decltype(Cleared::slots) slots;
    {
        const std::scoped_lock lock(cleared_->mutex);
        slots.swap(cleared_->slots);
    }
    for (const auto& [of, slot] : slots) {
        const std::shared_ptr<Slab> slab = of.lock();
        if (slab != nullptr && !slab->dropped) {
            slab->free.push_back(slot);
            slab->home->splice(slab->home->begin(), *slab->home, slab->self);
        }
    }
}

std::size_t QueueSlabs::clearing() const {
    const std::scoped_lock lock(cleared_->mutex);
    return cleared_->waiting;
}

std::size_t QueueSlabs::files() const {
    std::size_t n = 0;
    for (const auto& [size, slabs] : sizes_) {
        n += slabs.size();
    }
    return n;
}

}  // namespace dingo::uverbs
