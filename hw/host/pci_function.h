// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "dingo/engine.h"

namespace dingo {

/// What the config space says about the card.
struct PciIdentity {
    std::uint16_t vendor = 0;
    std::uint16_t device = 0;
    std::uint32_t class_code = 0;  ///< 24 bits
    std::uint8_t revision = 0;
    std::uint32_t bar0_size = 0;          ///< 32-bit memory BAR, power of two
    std::uint64_t bar2_size = 0;          ///< 64-bit prefetchable memory BAR, power of two
    unsigned msix_vectors = 0;            ///< 1..2048
    std::uint32_t msix_table_offset = 0;  ///< in BAR0, 8-byte aligned
    std::uint32_t msix_pba_offset = 0;    ///< in BAR0, 8-byte aligned
};

/// What is behind the BARs.
class PciFunction {
  public:
    virtual ~PciFunction() = default;
    /// 1, 2, 4 or 8 bytes, naturally aligned, inside the BAR. The MSI-X table and PBA never come
    /// here.
    virtual std::uint64_t read(Bar bar, std::uint64_t offset, unsigned size) = 0;
    virtual void write(Bar bar, std::uint64_t offset, std::uint64_t value, unsigned size) = 0;
    /// Function-level reset, or the client is gone.
    virtual void reset() = 0;
    /// Memory that is BAR2, for the client to map; -1 = accesses to BAR2 come as read and write.
    [[nodiscard]] virtual int doorbell_fd() const = 0;
};

}  // namespace dingo
