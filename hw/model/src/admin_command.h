// SPDX-License-Identifier: BSD-2-Clause
//
// An admin command, its result, and a helper that checks fields.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "dingo_hw.h"
#include "ring_memory.h"

namespace dingo::model {

struct AdminCommand {
    alignas(8) std::array<std::byte, DINGO_ADMIN_CMD_SIZE> bytes{};

    /// Returns the command as one of the contract's structures.
    template <typename T>
    [[nodiscard]] T as() const noexcept {
        static_assert(sizeof(T) <= DINGO_ADMIN_CMD_SIZE);
        T value;
        std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }
};

struct AdminResult {
    std::uint32_t status = DINGO_ST_OK;
    std::uint32_t detail = 0;
    std::array<std::uint64_t, 5> result{};

    [[nodiscard]] bool ok() const noexcept { return status == DINGO_ST_OK; }
};

inline AdminResult refuse(std::uint32_t status) {
    return AdminResult{status, 0, {}};
}
inline AdminResult bad_field(std::size_t offset) {
    return AdminResult{DINGO_ST_BAD_FIELD, static_cast<std::uint32_t>(offset), {}};
}

/// Checks fields of a command and remembers the first invalid one.
class FieldCheck {
  public:
    /// Records an error for the field at byte `offset` unless `good`.
    FieldCheck& require(bool good, std::size_t offset) {
        if (!good && !failed_) {
            failed_ = true;
            offset_ = offset;
        }
        return *this;
    }
    FieldCheck& zero(std::uint64_t value, std::size_t offset) {
        return require(value == 0, offset);
    }
    FieldCheck& zero(std::span<const std::uint8_t> bytes, std::size_t offset) {
        return require(std::ranges::all_of(bytes, [](std::uint8_t b) { return b == 0; }), offset);
    }
    /// Rejects `value` if it has bits outside `known`.
    FieldCheck& flags(std::uint64_t value, std::uint64_t known, std::size_t offset) {
        return require((value & ~known) == 0, offset);
    }
    /// Checks the memory of a ring: it must not begin at an offset in its first page.
    FieldCheck& ring(const dingo_mem& mem, std::uint64_t bytes, std::size_t offset) {
        if (const auto bad = bad_mem_field(mem, bytes, RingMemory::kAlign)) {
            return require(false, offset + *bad);
        }
        return zero(mem.offset, offset + offsetof(dingo_mem, offset));
    }
    /// All fields must be zero: the command takes no memory.
    FieldCheck& no_mem(const dingo_mem& mem, std::size_t offset) {
        return zero(mem.addr, offset + offsetof(dingo_mem, addr))
            .zero(mem.offset, offset + offsetof(dingo_mem, offset))
            .zero(mem.levels, offset + offsetof(dingo_mem, levels))
            .zero(mem.page_shift, offset + offsetof(dingo_mem, page_shift))
            .zero(mem.rsvd, offset + offsetof(dingo_mem, rsvd));
    }

    [[nodiscard]] bool failed() const noexcept { return failed_; }
    [[nodiscard]] AdminResult result() const { return bad_field(offset_); }

  private:
    bool failed_ = false;
    std::size_t offset_ = 0;
};

/// Converts the result of attaching a ring. Its struct mem, at `offset`, was checked before; left
/// are misaligned page addresses, bus errors and the limit on page lists.
inline AdminResult from_attach(RingMemory::Result result, std::size_t offset) {
    switch (result) {
        case RingMemory::Result::kOk:
            return {};
        case RingMemory::Result::kBadField:
            return bad_field(offset);
        case RingMemory::Result::kBusError:
            return refuse(DINGO_ST_BUS_ERROR);
        case RingMemory::Result::kNoResource:
            return refuse(DINGO_ST_NO_RESOURCE);
    }
    return refuse(DINGO_ST_BAD_STATE);
}

}  // namespace dingo::model
