// SPDX-License-Identifier: BSD-2-Clause
//
// Work requests on keys: window binding, fast registration, invalidation.
#include "capabilities.h"
#include "memory_table_impl.h"
#include "queue_pair.h"
#include "ring_memory.h"

namespace dingo::model {

void MemoryTable::Impl::take_back() {
    card.wire.gather();
    card.loopback.gather_frames();
}

void MemoryTable::Impl::unbind(MemoryRegion& window) {
    if (window.target == nullptr) {
        return;
    }
    take_back();
    --window.target->windows;
    window.target = nullptr;
    window.state = MemoryRegion::State::kFree;
    window.access = 0;
    if (window.kind == MemoryRegion::Kind::kMw2) {
        const auto it = bound_windows.find(window.bound_qpn);
        it->second.erase(&window);
        if (it->second.empty()) {
            bound_windows.erase(it);
        }
    }
}

KeyVerdict MemoryTable::invalidate(const QueuePair& qp, std::uint32_t key) {
    MemoryRegion* region = impl_->find(key);
    if (region == nullptr) {
        return KeyVerdict::kNoKey;
    }
    if (region->pdn != qp.pdn) {
        return KeyVerdict::kWrongPd;
    }
    switch (region->kind) {
        case MemoryRegion::Kind::kFrwr:
            impl_->take_back();
            region->state = MemoryRegion::State::kFree;
            return KeyVerdict::kOk;
        case MemoryRegion::Kind::kMw2:
            if (region->target != nullptr && region->bound_qpn != qp.qpn) {
                return KeyVerdict::kNoAccess;
            }
            impl_->unbind(*region);
            return KeyVerdict::kOk;
        default:
            return KeyVerdict::kNoAccess;  // other kinds cannot be invalidated by a work request
    }
}

KeyVerdict MemoryTable::bind(const QueuePair& qp, const dingo_wqe_bind& request) {
    // By owner: the key of a bind that failed or was flushed is that of the next bind.
    MemoryRegion* window = impl_->find_owner(request.mw_key);
    if (window == nullptr || !window->is_window()) {
        return KeyVerdict::kNoKey;
    }
    if (window->pdn != qp.pdn) {
        return KeyVerdict::kWrongPd;
    }
    const bool type2 = window->kind == MemoryRegion::Kind::kMw2;
    if (!same_owner(request.new_key, request.mw_key)) {
        return KeyVerdict::kNoKey;
    }
    if ((request.access & ~(kRemoteAccess | DINGO_ACC_ZERO_BASED)) != 0) {
        return KeyVerdict::kNoAccess;
    }
    if (type2 && window->target != nullptr) {
        return KeyVerdict::kState;  // a bound type 2 window must be invalidated first
    }
    if (request.length == 0) {
        impl_->unbind(*window);
        window->key = request.new_key;
        return KeyVerdict::kOk;
    }
    MemoryRegion* region = impl_->find(request.mr_key);
    if (region == nullptr || region->kind != MemoryRegion::Kind::kMr) {
        return KeyVerdict::kNoKey;
    }
    if (region->pdn != qp.pdn) {
        return KeyVerdict::kWrongPd;
    }
    const std::uint32_t rights = request.access & kRemoteAccess;
    constexpr std::uint32_t writes = DINGO_ACC_REMOTE_WRITE | DINGO_ACC_REMOTE_ATOMIC;
    if ((region->access & DINGO_ACC_MW_BIND) == 0 ||
        ((rights & writes) != 0 && (region->access & DINGO_ACC_LOCAL_WRITE) == 0)) {
        return KeyVerdict::kNoAccess;
    }
    if (!region->contains(request.addr, request.length)) {
        return KeyVerdict::kBounds;
    }
    impl_->unbind(*window);  // a bound type 1 window may be rebound
    window->key = request.new_key;
    window->access = rights;
    window->iova = (request.access & DINGO_ACC_ZERO_BASED) != 0 ? 0 : request.addr;
    window->length = request.length;
    window->target = region;
    window->target_offset = request.addr - region->iova;
    window->state = MemoryRegion::State::kValid;
    ++region->windows;
    if (type2) {
        window->bound_qpn = qp.qpn;
        impl_->bound_windows[qp.qpn].insert(window);
    }
    return KeyVerdict::kOk;
}

KeyVerdict MemoryTable::fast_register(const QueuePair& qp, const dingo_wqe_reg& request) {
    MemoryRegion* region = impl_->find_owner(request.key);
    if (region == nullptr || region->kind != MemoryRegion::Kind::kFrwr) {
        return KeyVerdict::kNoKey;
    }
    if (region->pdn != qp.pdn) {
        return KeyVerdict::kWrongPd;
    }
    if (!qp.privileged || !region_access_ok(request.access)) {
        return KeyVerdict::kNoAccess;
    }
    if (region->state != MemoryRegion::State::kFree) {
        return KeyVerdict::kState;
    }
    dingo_mem mem{};
    mem.addr = request.pbl_addr;
    mem.offset = request.offset;
    mem.levels = 1;
    mem.page_shift = request.page_shift;
    if (request.length == 0 || request.length > kMaxMrSize || request.length - 1 > ~request.iova ||
        bad_mem_field(mem, request.length, 8)) {
        return KeyVerdict::kBounds;
    }
    if (((request.offset + request.length - 1) >> request.page_shift) + 1 > region->frwr_pages) {
        return KeyVerdict::kBounds;
    }
    region->key = request.key;
    region->access = request.access;
    region->iova = request.iova;
    region->length = request.length;
    region->pages.assign(mem, request.length);
    region->state = MemoryRegion::State::kValid;
    return KeyVerdict::kOk;
}

void MemoryTable::unbind_windows_of(const QueuePair& qp) {
    while (true) {
        const auto it = impl_->bound_windows.find(qp.qpn);
        if (it == impl_->bound_windows.end()) {
            return;
        }
        impl_->unbind(**it->second.begin());
    }
}

}  // namespace dingo::model
