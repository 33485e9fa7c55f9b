// SPDX-License-Identifier: BSD-2-Clause
//
// A range of host memory for benches, and an AXI slave in front of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "axi_slave.h"

namespace dingo::rtl {

class HostMemory {
  public:
    /// Random bytes at bus addresses [base, base + size).
    HostMemory(std::uint64_t base, std::size_t size, std::uint32_t seed)
        : base_(base), bytes_(size) {
        std::mt19937_64 random(seed);
        for (std::size_t i = 0; i + 8 <= size; i += 8) {
            const std::uint64_t word = random();
            std::memcpy(bytes_.data() + i, &word, sizeof word);
        }
    }

    [[nodiscard]] std::uint64_t base() const { return base_; }
    [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
    [[nodiscard]] bool holds(std::uint64_t address, std::size_t n) const {
        return address >= base_ && n <= bytes_.size() && address - base_ <= bytes_.size() - n;
    }
    /// `address` must be inside: see holds().
    std::uint8_t* at(std::uint64_t address) { return bytes_.data() + (address - base_); }
    void put64(std::uint64_t address, std::uint64_t value) {
        std::memcpy(at(address), &value, sizeof value);
    }

    /// Bus addresses with this bit are aliases of the same memory, as an IOMMU can map it.
    static constexpr std::uint64_t kMirror = 1ULL << 62;
    bool read(std::uint64_t address, std::span<std::byte> into) {
        address &= ~kMirror;
        if (!holds(address, into.size())) {
            return false;
        }
        std::memcpy(into.data(), at(address), into.size());
        return true;
    }
    bool write(std::uint64_t address, std::span<const std::byte> from) {
        address &= ~kMirror;
        if (!holds(address, from.size())) {
            return false;
        }
        std::memcpy(at(address), from.data(), from.size());
        return true;
    }
    /// An AXI slave in front of this memory, which must outlive the slave.
    AxiSlave slave(AxiPins pins, const AxiTiming& timing) {
        return {pins, [this](std::uint64_t a, std::span<std::byte> b) { return read(a, b); },
                [this](std::uint64_t a, std::span<const std::byte> b) { return write(a, b); },
                timing};
    }
    bool operator==(const HostMemory& other) const { return bytes_ == other.bytes_; }

  private:
    std::uint64_t base_;
    std::vector<std::uint8_t> bytes_;
};

}  // namespace dingo::rtl
