// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dingo/engine.h"

namespace dingo {

/// The card's PCI configuration space. Sizes and offsets are in bytes.
struct PciIdentity {
    std::uint16_t vendor = 0;
    std::uint16_t device = 0;
    std::uint32_t class_code = 0;  ///< 24 bits
    std::uint8_t revision = 0;
    std::uint32_t bar0_size = 0;          ///< 32-bit memory BAR, power of two
    std::uint64_t bar2_size = 0;          ///< 64-bit prefetchable memory BAR, power of two
    std::uint64_t bar4_size = 0;          ///< the same; 0: no BAR4
    unsigned msix_vectors = 0;            ///< 1..2048
    std::uint32_t msix_table_offset = 0;  ///< in BAR0, 8-byte aligned
    std::uint32_t msix_pba_offset = 0;    ///< in BAR0, 8-byte aligned
};

/// A card behind its BARs, as seen from the PCI bus.
class PciFunction {
  public:
    virtual ~PciFunction() = default;
    /// Reads `size` bytes (1, 2, 4 or 8) at `offset` of a BAR, little endian. The access is
    /// naturally aligned and inside the BAR. Accesses to the MSI-X table and PBA do not get here.
    virtual std::uint64_t read(Bar bar, std::uint64_t offset, unsigned size) = 0;
    /// As read(), while the card waits for its host in a DMA access. Returns nullopt if that is not
    /// possible now.
    virtual std::optional<std::uint64_t> peek(Bar /*bar*/, std::uint64_t /*offset*/,
                                              unsigned /*size*/) {
        return std::nullopt;
    }
    /// Writes the low `size` bytes of `value`, under the same conditions.
    virtual void write(Bar bar, std::uint64_t offset, std::uint64_t value, unsigned size) = 0;
    /// Function-level reset; also called when the client disconnects.
    virtual void reset() = 0;
    /// Descriptor of the memory of BAR2 for the client to map. -1: accesses to BAR2 arrive as
    /// read() and write().
    [[nodiscard]] virtual int doorbell_fd() const = 0;
    /// Memory of BAR4, bar4_size bytes. The bus serves accesses to it itself; they do not arrive as
    /// read() and write().
    [[nodiscard]] virtual std::span<std::byte> memory() const { return {}; }
    /// Descriptor of memory() for the client to map. -1: accesses arrive as messages.
    [[nodiscard]] virtual int memory_fd() const { return -1; }
    /// Counts an access of `bytes` bytes to memory() that arrived as a message.
    virtual void count_memory_access(bool /*write*/, std::uint64_t /*bytes*/) {}
};

}  // namespace dingo
