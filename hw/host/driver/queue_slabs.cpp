// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/queue_slabs.h"

#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <system_error>

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
      slots(count),
      free(count) {
    std::iota(free.rbegin(), free.rend(), 0U);
}

QueueSlabs::Piece QueueSlabs::take(std::size_t bytes) {
    const std::size_t size = page_align(bytes);
    const std::size_t slot_bytes = std::bit_ceil(size);
    std::list<Slab>& slabs = sizes_[slot_bytes];
    if (slabs.empty() || slabs.front().free.empty()) {
        try {
            slabs.emplace_front(owner_, slot_bytes,
                                std::clamp<std::size_t>(kSlabBytes / slot_bytes, 1, kMaxSlots));
        } catch (const std::system_error&) {
            throw ErrnoError(ENOMEM);  // the card, not the client, lacks memory or descriptors
        }
        slabs.front().home = &slabs;
        slabs.front().self = slabs.begin();
    }
    Slab& slab = slabs.front();
    const std::uint32_t slot = slab.free.back();
    slab.free.pop_back();
    if (slab.free.empty()) {
        slabs.splice(slabs.end(), slabs, slab.self);
    }
    return {slab, slot, size};
}

QueueSlabs::Piece::~Piece() {
    std::list<Slab>& slabs = *slab_.home;
    slab_.free.push_back(slot_);
    if (slab_.free.size() == slab_.slots) {
        slabs.erase(slab_.self);
        return;
    }
    if (::fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset()),
                    static_cast<off_t>(slab_.slot_bytes)) != 0) {
        std::memset(bytes().data(), 0, size_);
    }
    slabs.splice(slabs.begin(), slabs, slab_.self);
}

std::size_t QueueSlabs::files() const {
    std::size_t n = 0;
    for (const auto& [size, slabs] : sizes_) {
        n += slabs.size();
    }
    return n;
}

}  // namespace dingo::uverbs
