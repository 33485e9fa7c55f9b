// SPDX-License-Identifier: BSD-2-Clause
//
// Key checks, access through granted ranges, and the admin commands' operations on regions.
#include <algorithm>

#include "memory_table_impl.h"
#include "queue_pair.h"

namespace dingo::model {

MemoryTable::MemoryTable(CardContext& card) : impl_(std::make_unique<Impl>(card)) {}
MemoryTable::~MemoryTable() = default;

KeyVerdict MemoryTable::check(const QueuePair& qp, std::uint32_t key, std::uint64_t address,
                              std::uint64_t length, std::uint32_t access, MemoryRange& range) {
    return check(qp, qp.pdn, key, address, length, access, range);
}

KeyVerdict MemoryTable::check(const QueuePair& qp, std::uint32_t pdn, std::uint32_t key,
                              std::uint64_t address, std::uint64_t length, std::uint32_t access,
                              MemoryRange& range) {
    range = MemoryRange{};
    if (length == 0) {
        return KeyVerdict::kOk;  // no access, so no key is needed
    }
    MemoryRegion* region = impl_->find(key);
    if (region == nullptr) {
        return KeyVerdict::kNoKey;
    }
    if (region->pdn != pdn) {
        return KeyVerdict::kWrongPd;
    }
    if (region->state == MemoryRegion::State::kFree) {
        return KeyVerdict::kState;
    }
    if ((region->access & access) != access ||
        (region->kind == MemoryRegion::Kind::kPhys && !qp.privileged)) {
        return KeyVerdict::kNoAccess;
    }
    std::uint64_t base = 0;
    MemoryRegion* target = region;
    if (region->is_window()) {
        // A window is a remote key only; one of type 2 belongs to the QP that bound it.
        if ((access & kRemoteAccess) == 0 ||
            (region->kind == MemoryRegion::Kind::kMw2 && region->bound_qpn != qp.qpn)) {
            return KeyVerdict::kNoAccess;
        }
        target = region->target;
        base = region->target_offset;
    }
    if (!region->contains(address, length)) {
        return KeyVerdict::kBounds;
    }
    if (target->state == MemoryRegion::State::kPaused) {
        return KeyVerdict::kPaused;
    }
    range = MemoryRange{target, base + (address - region->iova), length, target->far};
    return KeyVerdict::kOk;
}

namespace {

/// Calls move(bus address, part of `data`) for each contiguous piece of the range from `at` on.
/// Returns false if a piece is outside the range, cannot be translated, or was not moved.
template <class Byte, class Move>
bool each_piece(CardContext& card, const MemoryRange& range, std::uint64_t at, std::span<Byte> data,
                Move move) {
    if (at > range.length || data.size() > range.length - at) {
        return false;
    }
    std::uint64_t offset = range.offset + at;
    while (!data.empty()) {
        std::uint64_t bus = 0;
        std::uint64_t contiguous = 0;
        if (!range.region->pages.translate(card, offset, bus, contiguous)) {
            return false;
        }
        const std::size_t piece = std::min<std::uint64_t>(data.size(), contiguous);
        if (!move(bus, data.first(piece))) {
            return false;
        }
        offset += piece;
        data = data.subspan(piece);
    }
    return true;
}

}  // namespace

bool MemoryTable::read(const MemoryRange& range, std::uint64_t at, std::span<std::byte> data) {
    return each_piece(impl_->card, range, at, data,
                      [&](std::uint64_t bus, std::span<std::byte> piece) {
                          return impl_->card.dma_read(bus, piece);
                      });
}

bool MemoryTable::write(const MemoryRange& range, std::uint64_t at,
                        std::span<const std::byte> data) {
    return each_piece(impl_->card, range, at, data,
                      [&](std::uint64_t bus, std::span<const std::byte> piece) {
                          return impl_->card.dma_write(bus, piece);
                      });
}

bool MemoryTable::atomic(const MemoryRange& range, const FarMemory::Atomic& request,
                         std::uint64_t& before) {
    std::uint64_t bus = 0;
    std::uint64_t contiguous = 0;
    return locate(range, 0, bus, contiguous) && contiguous >= sizeof before &&
           impl_->card.dma_atomic(bus, request, before);
}

bool MemoryTable::locate(const MemoryRange& range, std::uint64_t at, std::uint64_t& bus,
                         std::uint64_t& contiguous) const {
    return at < range.length &&
           range.region->pages.translate(impl_->card, range.offset + at, bus, contiguous);
}

// Only contiguous regions have far parts: set_memory().
bool MemoryTable::has_far_part(const MemoryRange& range) const {
    std::uint64_t bus = 0;
    std::uint64_t contiguous = 0;
    return locate(range, 0, bus, contiguous) &&
           impl_->card.host.far_memory()->is_far(bus, range.length);
}

const std::byte* MemoryTable::pointer(const MemoryRange& range) {
    std::uint64_t bus = 0;
    std::uint64_t contiguous = 0;
    if (range.length == 0 || is_far(range) ||
        !range.region->pages.translate(impl_->card, range.offset, bus, contiguous) ||
        contiguous < range.length) {
        return nullptr;
    }
    return impl_->card.host.dma_pointer(bus, range.length);
}

void MemoryTable::Impl::create(const dingo_cmd_create_mr& command) {
    auto region = std::make_unique<MemoryRegion>();
    region->key = command.key;
    region->pdn = command.pdn;
    region->access = command.access;
    region->kind = static_cast<MemoryRegion::Kind>(command.kind);
    switch (region->kind) {
        case MemoryRegion::Kind::kMr:
        case MemoryRegion::Kind::kPhys:
            set_memory(*region, command);
            break;
        case MemoryRegion::Kind::kFrwr:
            region->state = MemoryRegion::State::kFree;
            region->frwr_pages = static_cast<std::uint32_t>(command.length >> 12);
            break;
        case MemoryRegion::Kind::kMw1:
        case MemoryRegion::Kind::kMw2:
            region->state = MemoryRegion::State::kFree;
            break;
    }
    const std::uint32_t index = key_index(command.key);
    if (index >= regions.size()) {
        regions.resize(index + 1);
    }
    regions[index] = std::move(region);
}

void MemoryTable::Impl::reregister(MemoryRegion& region, const dingo_cmd_create_mr& command) {
    region.key = command.key;
    region.pdn = command.pdn;
    region.access = command.access;
    region.state = MemoryRegion::State::kValid;
    set_memory(region, command);
}

void MemoryTable::Impl::set_memory(MemoryRegion& region, const dingo_cmd_create_mr& command) {
    region.iova = command.iova;
    region.length = command.length;
    region.pages.assign(command.mem, command.length);
    look_for_far(region, command.mem.levels == 0 ? command.mem.addr : 0);
}

/// `bus`: of a region of one piece; 0: another one, which is never far.
void MemoryTable::Impl::look_for_far(MemoryRegion& region, std::uint64_t bus) {
    FarMemory* const far = card.host.far_memory();
    region.far =
        far != nullptr && bus != 0 && region.length != 0 && far->is_far(bus, region.length);
}

void MemoryTable::look_for_far() {
    for (const auto& region : impl_->regions) {
        std::uint64_t bus = 0;
        std::uint64_t contiguous = 0;
        if (region != nullptr && !region->is_window() && !region->far && region->length != 0 &&
            region->pages.translate(impl_->card, 0, bus, contiguous) &&
            contiguous >= region->length) {
            impl_->look_for_far(*region, bus);
        }
    }
}

void MemoryTable::Impl::destroy(MemoryRegion& region) {
    if (region.is_window()) {
        unbind(region);
    }
    regions[key_index(region.key)].reset();
}

}  // namespace dingo::model
