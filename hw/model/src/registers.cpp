// SPDX-License-Identifier: BSD-2-Clause
//
// Registers of BAR_REGS, and dispatch of accesses to the BARs.
#include "capabilities.h"
#include "card.h"

namespace dingo::model {
namespace {

constexpr std::uint32_t kMagic = 0x4f474e44;
constexpr std::uint64_t kRegistersEnd = 0x070;

constexpr bool in_kick_page(std::uint64_t offset) {
    return offset >= DINGO_KICK_PAGE_OFFSET && offset < DINGO_KICK_PAGE_OFFSET + 0x1000;
}

constexpr bool valid_access(std::uint64_t offset, unsigned size) {
    return (size == 4 || size == 8) && offset % size == 0;
}

}  // namespace

std::uint32_t ModelEngine::status() const {
    std::uint32_t value = DINGO_STATUS_READY_MASK;
    if (fatal_ != DINGO_FATAL_NONE) {
        value |= DINGO_STATUS_FATAL_MASK;
    }
    if (state_->port.up()) {
        value |= DINGO_STATUS_LINK_UP_MASK;
    }
    return value;
}

/// Returns the 64 bits at `offset`, a multiple of 8: two 32-bit registers or one of 64 bits.
std::uint64_t ModelEngine::register_value(std::uint64_t offset) const {
    const auto two = [](std::uint64_t low, std::uint64_t high) { return high << 32 | low; };
    switch (offset) {
        case DINGO_REG_MAGIC:
            return two(kMagic, DINGO_CONTRACT_MAJOR << 16 | DINGO_CONTRACT_MINOR);
        case DINGO_REG_CAPS:
            return capabilities(config_);
        case DINGO_REG_STATUS:  // CTRL is write-only
            return status();
        case DINGO_REG_DB_PAGES:
            return two(kDoorbellPages, kVectors);
        case DINGO_REG_ASQ_BASE:
            return asq_base_;
        case DINGO_REG_ACQ_BASE:
            return acq_base_;
        case DINGO_REG_AQ_CTRL:  // ASQ_DB is write-only
            return DINGO_PREP(DINGO_AQ_CTRL_LOG_DEPTH_MASK, admin_.log_depth()) |
                   (admin_.enabled() ? DINGO_AQ_CTRL_ENABLE_MASK : 0);
        case DINGO_REG_FATAL:
            return two(fatal_, resets_);
        case DINGO_REG_CLOCK:
            return card_.now;
        case DINGO_REG_MAC:
            return config_.mac & kBroadcastMac;
        case DINGO_REG_LINK_MBPS:
            return two(static_cast<std::uint32_t>(config_.link_mbps), DINGO_ENGINE_MODEL);
        case DINGO_REG_BUILD:
            return kBuild;
        case DINGO_REG_MEM_SIZE:
            return (capabilities(config_) & DINGO_CAP_DEVICE_MEMORY) != 0 ? config_.memory->size
                                                                          : 0;
        case DINGO_REG_PUSH_PAGES:
            return push_page_count();
        default:
            return 0;
    }
}

std::uint64_t ModelEngine::mmio_read(Bar bar, std::uint64_t offset, unsigned size) {
    if (bar != Bar::kRegisters || offset >= kRegistersEnd || !valid_access(offset, size)) {
        return 0;
    }
    const std::uint64_t value = register_value(offset & ~std::uint64_t{7});
    if (size == 8) {
        return value;
    }
    if (offset == DINGO_REG_CLOCK) {
        clock_high_ = static_cast<std::uint32_t>(value >> 32);
    }
    if (offset == DINGO_REG_CLOCK + 4) {
        return clock_high_;
    }
    return offset % 8 == 0 ? value & 0xffffffff : value >> 32;
}

/// Reads all registers except CLOCK, whose halves are latched.
std::optional<std::uint64_t> ModelEngine::peek(Bar bar, std::uint64_t offset, unsigned size) const {
    const std::uint64_t pair = offset & ~std::uint64_t{7};
    if (bar != Bar::kRegisters || offset >= kRegistersEnd || !valid_access(offset, size) ||
        pair == DINGO_REG_CLOCK) {
        return std::nullopt;
    }
    const std::uint64_t value = register_value(pair);
    if (size == 8) {
        return value;
    }
    return offset % 8 == 0 ? value & 0xffffffff : value >> 32;
}

void ModelEngine::mmio_write(Bar bar, std::uint64_t offset, std::uint64_t value, unsigned size) {
    if (bar == Bar::kDoorbells) {
        const std::uint64_t slot = offset % DINGO_DB_PAGE_SIZE / 8;
        const std::uint64_t page = offset / DINGO_DB_PAGE_SIZE;
        if (page >= kDoorbellPages && page - kDoorbellPages < push_page_count()) {
            if (!push_pages_.write(page - kDoorbellPages, offset % DINGO_DB_PAGE_SIZE, value, size))
                card_.count(DINGO_CARD_MMIO_DROPPED);
            return;
        }
        if (size != 8 || offset % 8 != 0 || slot < DINGO_DB_FIRST_SLOT || page >= kDoorbellPages ||
            fatal_ != DINGO_FATAL_NONE) {
            card_.count(DINGO_CARD_DB_DROPPED);
            return;
        }
        doorbell(static_cast<std::uint32_t>(page), static_cast<std::uint32_t>(value),
                 static_cast<std::uint32_t>(value >> 32));
        return;
    }
    if (bar != Bar::kRegisters || !valid_access(offset, size)) {
        card_.count(DINGO_CARD_MMIO_DROPPED);
        return;
    }
    if (in_kick_page(offset)) {
        return;  // the write only wakes the card's loop
    }
    write_register(offset, static_cast<std::uint32_t>(value));
    if (size == 8) {
        write_register(offset + 4, static_cast<std::uint32_t>(value >> 32));
    }
}

void ModelEngine::write_register(std::uint64_t offset, std::uint32_t value) {
    switch (offset) {
        case DINGO_REG_CTRL:
            if ((value & DINGO_CTRL_RESET_MASK) != 0) {
                reset();
            }
            return;
        case DINGO_REG_ASQ_BASE:
        case DINGO_REG_ASQ_BASE + 4:
            write_base(asq_base_, offset != DINGO_REG_ASQ_BASE, value);
            return;
        case DINGO_REG_ACQ_BASE:
        case DINGO_REG_ACQ_BASE + 4:
            write_base(acq_base_, offset != DINGO_REG_ACQ_BASE, value);
            return;
        case DINGO_REG_AQ_CTRL:
            write_admin_control(value);
            return;
        case DINGO_REG_ASQ_DB:
            if (!admin_.doorbell(value)) {
                card_.count(DINGO_CARD_MMIO_DROPPED);
            }
            return;
        default:
            card_.count(DINGO_CARD_MMIO_DROPPED);
            return;
    }
}

void ModelEngine::write_base(std::uint64_t& base, bool high_half, std::uint32_t value) {
    const unsigned shift = high_half ? 32 : 0;
    base = (base & ~(0xffffffffull << shift)) | std::uint64_t{value} << shift;
}

void ModelEngine::write_admin_control(std::uint32_t value) {
    constexpr std::uint32_t kKnown = DINGO_AQ_CTRL_LOG_DEPTH_MASK | DINGO_AQ_CTRL_ENABLE_MASK;
    if ((value & ~kKnown) != 0 || fatal_ != DINGO_FATAL_NONE) {
        card_.count(DINGO_CARD_MMIO_DROPPED);
        return;
    }
    if ((value & DINGO_AQ_CTRL_ENABLE_MASK) == 0) {
        admin_.disable();
        return;
    }
    if (!admin_.enable(asq_base_, acq_base_, DINGO_GET(DINGO_AQ_CTRL_LOG_DEPTH_MASK, value))) {
        card_.count(DINGO_CARD_MMIO_DROPPED);
    }
}

}  // namespace dingo::model
