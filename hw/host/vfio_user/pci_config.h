// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "host/pci_function.h"

namespace dingo::vfio_user {

/// PCI configuration space of one endpoint: type 0 header, power management, PCI Express with
/// FLR, MSI-X. Registers as in <linux/pci_regs.h>.
class PciConfig {
  public:
    static constexpr std::size_t kSize = 4096;

    explicit PciConfig(const PciIdentity& id);

    /// Restores the reset values, except for the base addresses: a client that keeps a copy of them
    /// does not write them again after a function-level reset.
    void reset();

    /// Any offset and length inside the 4096 bytes.
    void read(std::size_t offset, std::span<std::byte> out) const;
    /// Read-only bits keep their value. Returns true if the write requests a function-level reset.
    bool write(std::size_t offset, std::span<const std::byte> in);

    /// Returns true if the function may access host memory and send interrupts.
    [[nodiscard]] bool bus_master() const;
    /// Bus address of BAR4; 0 if there is none or memory decoding is off.
    [[nodiscard]] std::uint64_t memory_window() const;

  private:
    void set8(std::size_t at, std::uint8_t value, std::uint8_t writable = 0);
    void set16(std::size_t at, std::uint16_t value, std::uint16_t writable = 0);
    void set32(std::size_t at, std::uint32_t value, std::uint32_t writable = 0);
    void add_power_management(std::size_t at, std::uint8_t next);
    void add_express(std::size_t at, std::uint8_t next);
    void add_msix(std::size_t at, std::uint8_t next);

    PciIdentity id_;
    std::array<std::uint8_t, kSize> value_{};
    std::array<std::uint8_t, kSize> writable_{};
    std::array<std::uint8_t, kSize> clear_by_one_{};
};

}  // namespace dingo::vfio_user
