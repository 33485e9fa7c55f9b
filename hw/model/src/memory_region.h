// SPDX-License-Identifier: BSD-2-Clause
//
// Memory regions and windows: key checks in the order of reliability.md section 1, and access
// through the page list. Never accesses host memory outside the region.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "card_context.h"

namespace dingo::model {

struct QueuePair;

/// Result of a key check; kOk and kPaused are no errors. The values are the contract's vendor
/// errors.
enum class KeyVerdict : std::uint8_t {
    kOk = DINGO_VERR_NONE,
    kNoKey = DINGO_VERR_KEY,
    kWrongPd = DINGO_VERR_KEY_PD,
    kNoAccess = DINGO_VERR_KEY_ACCESS,
    kBounds = DINGO_VERR_KEY_BOUNDS,
    kState = DINGO_VERR_KEY_STATE,
    kPaused = 0xFF,  ///< PAUSE_MR: try again later
};

class MemoryRegion;

/// A range that check() has granted. Valid until the next call into the engine.
struct MemoryRange {
    MemoryRegion* region = nullptr;
    std::uint64_t offset = 0;  ///< bytes from the region's first byte
    std::uint64_t length = 0;
    bool far = false;  ///< a part of the region may be far memory: MemoryTable::is_far()
};

/// All regions and windows of a card, by key.
class MemoryTable {
  public:
    explicit MemoryTable(CardContext& card);
    ~MemoryTable();

    /// Checks in this order: key, PD, state, access (all bits of `access`, enum acc; 0 = local
    /// read), bounds without overflow. Length 0 is granted with any key. `qp` determines the PD,
    /// privileged rights and the QP that type 2 windows must match.
    KeyVerdict check(const QueuePair& qp, std::uint32_t key, std::uint64_t address,
                     std::uint64_t length, std::uint32_t access, MemoryRange& range);
    /// The same with another PD: receive entries of an SRQ use keys of the SRQ's PD.
    KeyVerdict check(const QueuePair& qp, std::uint32_t pdn, std::uint32_t key,
                     std::uint64_t address, std::uint64_t length, std::uint32_t access,
                     MemoryRange& range);

    /// Copies between a granted range, from byte `at` on, and `data`. Returns false on a bus error.
    bool read(const MemoryRange& range, std::uint64_t at, std::span<std::byte> data);
    bool write(const MemoryRange& range, std::uint64_t at, std::span<const std::byte> data);
    /// Executes an atomic on the range of 8 bytes; `before` receives the old value. Returns false
    /// on a bus error.
    bool atomic(const MemoryRange& range, const FarMemory::Atomic& request, std::uint64_t& before);
    /// Gets the bus address of byte `at` of the range, and the number of contiguous bytes from
    /// there. Returns false on a bus error.
    bool locate(const MemoryRange& range, std::uint64_t at, std::uint64_t& bus,
                std::uint64_t& contiguous) const;
    /// Returns true if a part of the range is far memory.
    [[nodiscard]] bool is_far(const MemoryRange& range) const {
        return range.far && has_far_part(range);
    }
    /// Returns a pointer through which the whole range can be read until the engine's call ends;
    /// nullptr: use read().
    const std::byte* pointer(const MemoryRange& range);

    /// Work requests on keys. Return kOk or the reason of refusal.
    /// LOCAL_INV, SEND_INV: FRWR regions and type 2 windows.
    KeyVerdict invalidate(const QueuePair& qp, std::uint32_t key);
    KeyVerdict bind(const QueuePair& qp, const dingo_wqe_bind& request);
    KeyVerdict fast_register(const QueuePair& qp, const dingo_wqe_reg& request);

    /// Looks for regions that were near and are far now.
    void look_for_far();

    /// Unbinds the type 2 windows of a QP that is destroyed or moved to RESET.
    void unbind_windows_of(const QueuePair& qp);

    struct Impl;  // hides the implementation from the transport
    Impl& impl() noexcept { return *impl_; }

  private:
    [[nodiscard]] bool has_far_part(const MemoryRange& range) const;

    std::unique_ptr<Impl> impl_;
};

}  // namespace dingo::model
