// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dingo/engine.h"

namespace dingo {

/// The card as its PCI configuration space describes it. Sizes and offsets are bytes.
struct PciIdentity {
    std::uint16_t vendor = 0;
    std::uint16_t device = 0;
    std::uint32_t class_code = 0;  ///< 24 bits
    std::uint8_t revision = 0;
    std::uint32_t bar0_size = 0;          ///< 32-bit memory BAR, power of two
    std::uint64_t bar2_size = 0;          ///< 64-bit prefetchable memory BAR, power of two
    std::uint64_t bar4_size = 0;          ///< the same; 0: there is none
    unsigned msix_vectors = 0;            ///< 1..2048
    std::uint32_t msix_table_offset = 0;  ///< in BAR0, 8-byte aligned
    std::uint32_t msix_pba_offset = 0;    ///< in BAR0, 8-byte aligned
};

/// A card behind its BARs, as a PCI bus sees it.
class PciFunction {
  public:
    virtual ~PciFunction() = default;
    /// Reads `size` bytes (1, 2, 4 or 8) at `offset` of a BAR: naturally aligned and inside the
    /// BAR. Accesses to the MSI-X table and PBA are handled before. Little endian.
    virtual std::uint64_t read(Bar bar, std::uint64_t offset, unsigned size) = 0;
    /// read(), while the card waits for its host in a DMA access; nullopt: not now.
    virtual std::optional<std::uint64_t> peek(Bar /*bar*/, std::uint64_t /*offset*/,
                                              unsigned /*size*/) {
        return std::nullopt;
    }
    /// Writes the low `size` bytes of `value`, by the same rules.
    virtual void write(Bar bar, std::uint64_t offset, std::uint64_t value, unsigned size) = 0;
    /// Function-level reset; also called when the client is gone.
    virtual void reset() = 0;
    /// A descriptor of the memory that is BAR2, for the client to map; -1: accesses to BAR2 come as
    /// read() and write().
    [[nodiscard]] virtual int doorbell_fd() const = 0;
    /// The memory that is BAR4, as long as the identity's bar4_size. The bus serves accesses to it
    /// itself: read() and write() get none.
    [[nodiscard]] virtual std::span<std::byte> memory() const { return {}; }
    /// A descriptor of memory(), for the client to map; -1: accesses come as messages.
    [[nodiscard]] virtual int memory_fd() const { return -1; }
    /// An access of that many bytes came as a message.
    virtual void count_memory_access(bool /*write*/, std::uint64_t /*bytes*/) {}
};

}  // namespace dingo
