// SPDX-License-Identifier: BSD-2-Clause
//
// Implementation of MemoryTable: regions and windows by index, and the admin commands' operations.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "memory_region.h"
#include "page_list.h"

namespace dingo::model {

constexpr std::uint32_t key_index(std::uint32_t key) noexcept {
    return key >> DINGO_MR_INDEX_SHIFT;
}

/// Returns true if two keys differ at most in the low 8 bits, which BIND_MW and REG_MR may change.
/// The driver destroys a key by the other bits, so no work request may change those.
constexpr bool same_owner(std::uint32_t a, std::uint32_t b) noexcept {
    return ((a ^ b) & ~0xffu) == 0;
}

constexpr std::uint32_t kRemoteAccess =
    DINGO_ACC_REMOTE_WRITE | DINGO_ACC_REMOTE_READ | DINGO_ACC_REMOTE_ATOMIC;

class MemoryRegion {
  public:
    enum class Kind : std::uint8_t {
        kMr = DINGO_MRT_MR,
        kPhys = DINGO_MRT_PHYS,
        kFrwr = DINGO_MRT_FRWR,
        kMw1 = DINGO_MRT_MW1,
        kMw2 = DINGO_MRT_MW2,
    };
    enum class State : std::uint8_t {
        kValid,
        kFree /* FRWR invalidated, window unbound */,
        kPaused
    };

    std::uint32_t key = 0;
    std::uint32_t pdn = 0;
    std::uint32_t access = 0;
    Kind kind = Kind::kMr;
    State state = State::kValid;
    std::uint64_t iova = 0;
    std::uint64_t length = 0;
    PageList pages;    ///< of regions
    bool far = false;  ///< a part of it may be far memory

    std::uint32_t frwr_pages = 0;  ///< FRWR: most pages of a REG_MR
    std::uint32_t windows = 0;     ///< region: windows bound to it

    MemoryRegion* target = nullptr;   ///< bound window
    std::uint64_t target_offset = 0;  ///< offset of the window's first byte in the region
    std::uint32_t bound_qpn = 0;      ///< type 2

    [[nodiscard]] bool is_window() const noexcept {
        return kind == Kind::kMw1 || kind == Kind::kMw2;
    }
    /// Returns true if `address`, `size` is inside [iova, iova + length), without overflow.
    [[nodiscard]] bool contains(std::uint64_t address, std::uint64_t size) const noexcept {
        return address >= iova && size <= length && address - iova <= length - size;
    }
};

struct MemoryTable::Impl {
    explicit Impl(CardContext& context) : card(context) {}

    [[nodiscard]] MemoryRegion* find(std::uint32_t key) const noexcept {
        const std::uint32_t index = key_index(key);
        MemoryRegion* region = index < regions.size() ? regions[index].get() : nullptr;
        return region != nullptr && region->key == key ? region : nullptr;
    }
    /// As find(), but ignores the low 8 bits, which REG_MR and BIND_MW change.
    [[nodiscard]] MemoryRegion* find_owner(std::uint32_t key) const noexcept {
        const std::uint32_t index = key_index(key);
        MemoryRegion* region = index < regions.size() ? regions[index].get() : nullptr;
        return region != nullptr && same_owner(region->key, key) ? region : nullptr;
    }
    /// Sets the memory given by CREATE_MR or REREG_MR.
    void set_memory(MemoryRegion& region, const dingo_cmd_create_mr& command);
    void look_for_far(MemoryRegion& region, std::uint64_t bus);
    [[nodiscard]] bool index_used(std::uint32_t index) const noexcept {
        return index < regions.size() && regions[index] != nullptr;
    }

    /// CREATE_MR and REREG_MR; the command was validated.
    void create(const dingo_cmd_create_mr& command);
    void reregister(MemoryRegion& region, const dingo_cmd_create_mr& command);
    /// DESTROY_MR; no window is bound to the region.
    void destroy(MemoryRegion& region);
    void unbind(MemoryRegion& window);
    /// Called when access ends: copies payloads that frames in flight still refer to.
    void take_back();

    CardContext& card;
    std::vector<std::unique_ptr<MemoryRegion>> regions;  // by index, grows with use
    std::unordered_map<std::uint32_t, std::unordered_set<MemoryRegion*>>
        bound_windows;  // type 2, by QPN
};

/// Returns true if a region may have these rights: remote write and atomics need local write (as
/// ib_check_mr_access() of the kernel); only windows have ZERO_BASED.
constexpr bool region_access_ok(std::uint32_t access) noexcept {
    constexpr std::uint32_t all = DINGO_ACC_LOCAL_WRITE | kRemoteAccess | DINGO_ACC_MW_BIND;
    constexpr std::uint32_t writes = DINGO_ACC_REMOTE_WRITE | DINGO_ACC_REMOTE_ATOMIC;
    return (access & ~all) == 0 &&
           ((access & writes) == 0 || (access & DINGO_ACC_LOCAL_WRITE) != 0);
}

}  // namespace dingo::model
