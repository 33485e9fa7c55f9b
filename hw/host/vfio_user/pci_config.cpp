// SPDX-License-Identifier: BSD-2-Clause
#include "pci_config.h"

#include <linux/pci_regs.h>

#include <algorithm>

namespace dingo::vfio_user {
namespace {

constexpr std::size_t kPowerManagement = 0x40;
constexpr std::size_t kExpress = 0x50;
constexpr std::size_t kMsix = 0x90;
constexpr std::size_t kBars = PCI_BASE_ADDRESS_0;
constexpr std::size_t kBarsEnd = PCI_BASE_ADDRESS_5 + 4;

constexpr std::uint16_t kLinkGen3 = PCI_EXP_LNKSTA_CLS_8_0GB;
constexpr std::uint16_t kLinkX16 = 16u << PCI_EXP_LNKSTA_NLW_SHIFT;
constexpr std::uint16_t kPayload512 = 2;  // encoding of DEVCAP.PAYLOAD

}  // namespace

PciConfig::PciConfig(const PciIdentity& id) : id_(id) {
    reset();
}

void PciConfig::set8(std::size_t at, std::uint8_t value, std::uint8_t writable) {
    value_[at] = value;
    writable_[at] = writable;
}

void PciConfig::set16(std::size_t at, std::uint16_t value, std::uint16_t writable) {
    set8(at, value & 0xFF, writable & 0xFF);
    set8(at + 1, value >> 8, static_cast<std::uint8_t>(writable >> 8));
}

void PciConfig::set32(std::size_t at, std::uint32_t value, std::uint32_t writable) {
    set16(at, value & 0xFFFF, writable & 0xFFFF);
    set16(at + 2, value >> 16, static_cast<std::uint16_t>(writable >> 16));
}

void PciConfig::reset() {
    std::array<std::uint8_t, kBarsEnd - kBars> bars;
    std::copy_n(value_.begin() + kBars, bars.size(), bars.begin());
    value_.fill(0);
    writable_.fill(0);
    clear_by_one_.fill(0);
    set16(PCI_VENDOR_ID, id_.vendor);
    set16(PCI_DEVICE_ID, id_.device);
    set16(PCI_COMMAND, 0,
          PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
              PCI_COMMAND_INTX_DISABLE);
    set16(PCI_STATUS, PCI_STATUS_CAP_LIST);
    set32(PCI_CLASS_REVISION, id_.class_code << 8 | id_.revision);
    set8(PCI_CACHE_LINE_SIZE, 0, 0xFF);
    set32(PCI_BASE_ADDRESS_0, PCI_BASE_ADDRESS_MEM_TYPE_32, ~(id_.bar0_size - 1));
    set32(PCI_BASE_ADDRESS_2, PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH,
          static_cast<std::uint32_t>(~(id_.bar2_size - 1)));
    set32(PCI_BASE_ADDRESS_3, 0, static_cast<std::uint32_t>(~(id_.bar2_size - 1) >> 32));
    if (id_.bar4_size != 0) {
        set32(PCI_BASE_ADDRESS_4, PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH,
              static_cast<std::uint32_t>(~(id_.bar4_size - 1)));
        set32(PCI_BASE_ADDRESS_5, 0, static_cast<std::uint32_t>(~(id_.bar4_size - 1) >> 32));
    }
    for (std::size_t i = 0; i < bars.size(); ++i) {
        value_[kBars + i] = static_cast<std::uint8_t>(value_[kBars + i] | bars[i]);
    }
    set16(PCI_SUBSYSTEM_VENDOR_ID, id_.vendor);
    set16(PCI_SUBSYSTEM_ID, id_.device);
    set8(PCI_CAPABILITY_LIST, kPowerManagement);
    set8(PCI_INTERRUPT_LINE, 0, 0xFF);
    add_power_management(kPowerManagement, kExpress);
    add_express(kExpress, kMsix);
    add_msix(kMsix, 0);
}

void PciConfig::add_power_management(std::size_t at, std::uint8_t next) {
    set8(at + PCI_CAP_LIST_ID, PCI_CAP_ID_PM);
    set8(at + PCI_CAP_LIST_NEXT, next);
    set16(at + PCI_PM_PMC, 3);  // version 1.2, D0 and D3hot only
    set16(at + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET, PCI_PM_CTRL_STATE_MASK);
}

void PciConfig::add_express(std::size_t at, std::uint8_t next) {
    set8(at + PCI_CAP_LIST_ID, PCI_CAP_ID_EXP);
    set8(at + PCI_CAP_LIST_NEXT, next);
    set16(at + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_ENDPOINT << 4);  // capability version 2
    set32(at + PCI_EXP_DEVCAP,
          kPayload512 | PCI_EXP_DEVCAP_EXT_TAG | PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR);
    set16(at + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN,
          0x7FFF & ~(PCI_EXP_DEVCTL_PHANTOM | PCI_EXP_DEVCTL_AUX_PME));
    clear_by_one_[at + PCI_EXP_DEVSTA] =
        PCI_EXP_DEVSTA_CED | PCI_EXP_DEVSTA_NFED | PCI_EXP_DEVSTA_FED | PCI_EXP_DEVSTA_URD;
    set32(at + PCI_EXP_LNKCAP, kLinkGen3 | kLinkX16);
    set16(at + PCI_EXP_LNKCTL, 0, PCI_EXP_LNKCTL_RCB | PCI_EXP_LNKCTL_CCC | PCI_EXP_LNKCTL_ES);
    set16(at + PCI_EXP_LNKSTA, kLinkGen3 | kLinkX16);
    set16(at + PCI_EXP_DEVCTL2, 0, PCI_EXP_DEVCTL2_COMP_TMOUT_DIS);
    set32(at + PCI_EXP_LNKCAP2,
          PCI_EXP_LNKCAP2_SLS_2_5GB | PCI_EXP_LNKCAP2_SLS_5_0GB | PCI_EXP_LNKCAP2_SLS_8_0GB);
    set16(at + PCI_EXP_LNKCTL2, kLinkGen3, PCI_EXP_LNKCTL2_TLS);
}

void PciConfig::add_msix(std::size_t at, std::uint8_t next) {
    set8(at + PCI_CAP_LIST_ID, PCI_CAP_ID_MSIX);
    set8(at + PCI_CAP_LIST_NEXT, next);
    set16(at + PCI_MSIX_FLAGS, static_cast<std::uint16_t>(id_.msix_vectors - 1),
          PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
    set32(at + PCI_MSIX_TABLE, id_.msix_table_offset);  // BIR 0 in the low bits
    set32(at + PCI_MSIX_PBA, id_.msix_pba_offset);
}

void PciConfig::read(std::size_t offset, std::span<std::byte> out) const {
    for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = static_cast<std::byte>(value_[offset + i]);
    }
}

bool PciConfig::write(std::size_t offset, std::span<const std::byte> in) {
    bool reset_wanted = false;
    for (std::size_t i = 0; i < in.size(); ++i) {
        const std::size_t at = offset + i;
        const auto v = static_cast<std::uint8_t>(in[i]);
        value_[at] = static_cast<std::uint8_t>((value_[at] & ~writable_[at]) | (v & writable_[at]));
        value_[at] = static_cast<std::uint8_t>(value_[at] & ~(v & clear_by_one_[at]));
        // The bit always reads as 0, so it is not among the writable ones.
        reset_wanted |= at == kExpress + PCI_EXP_DEVCTL + 1 && (v & PCI_EXP_DEVCTL_BCR_FLR >> 8);
    }
    return reset_wanted;
}

bool PciConfig::bus_master() const {
    return (value_[PCI_COMMAND] & PCI_COMMAND_MASTER) != 0;
}

std::uint64_t PciConfig::memory_window() const {
    if (id_.bar4_size == 0 || (value_[PCI_COMMAND] & PCI_COMMAND_MEMORY) == 0) {
        return 0;
    }
    std::uint64_t address = 0;
    for (std::size_t i = 8; i-- > 0;) {
        address = address << 8 | value_[PCI_BASE_ADDRESS_4 + i];
    }
    return address & ~(id_.bar4_size - 1);
}

}  // namespace dingo::vfio_user
