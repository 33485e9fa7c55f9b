// SPDX-License-Identifier: BSD-2-Clause
//
// What every part of one card shares: its ports, the time, its counters.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <random>

#include "dingo/engine.h"
#include "dingo_hw.h"
#include "loopback.h"

namespace dingo::model {

static_assert(std::endian::native == std::endian::little,
              "contract structures are little endian and are used in place");

inline constexpr Nanoseconds kWireRetry = 5'000;  ///< pause after the wire took no frame

/// The payload of the frame that is being received.
struct ReceivedPayload {
    std::span<const std::byte> bytes;
    const Held* held = nullptr;  ///< null: it must be copied

    /// What keeps `part`; null: nothing.
    [[nodiscard]] const Held* holder_of(std::span<const std::byte> part) const {
        const bool inside =
            part.data() >= bytes.data() && part.data() + part.size() <= bytes.data() + bytes.size();
        return inside ? held : nullptr;
    }
};

struct CardContext {
    const EngineConfig& config;
    HostPort& host;
    WirePort& wire;
    Loopback& loopback;  ///< the wire, but for frames to ourselves
    Nanoseconds now = 0;
    std::array<std::uint64_t, DINGO_CARD_COUNTERS> counters{};
    std::mt19937_64 random;
    std::uint64_t ring_pages = 0;  ///< page-list entries held by rings, see RingMemory
    ReceivedPayload received{};
    /// the frame being received came by loopback: its sender's share
    std::optional<std::uint32_t> looped{};

    void count(dingo_card_counter counter, std::uint64_t by = 1) noexcept {
        counters[counter] += by;
    }

    /// HostPort::dma_read, dma_atomic and dma_write with every bus error counted.
    bool dma_read(std::uint64_t addr, std::span<std::byte> dst) {
        const bool ok = host.dma_read(addr, dst);
        if (!ok) [[unlikely]] {
            count(DINGO_CARD_DMA_ERRORS);
        }
        return ok;
    }
    bool dma_atomic(std::uint64_t addr, const FarMemory::Atomic& request, std::uint64_t& before) {
        const bool ok = host.dma_atomic(addr, request, before);
        if (!ok) [[unlikely]] {
            count(DINGO_CARD_DMA_ERRORS);
        }
        return ok;
    }
    bool dma_write(std::uint64_t addr, std::span<const std::byte> src) {
        const bool ok = host.dma_write(addr, src);
        if (!ok) [[unlikely]] {
            count(DINGO_CARD_DMA_ERRORS);
        }
        return ok;
    }
};

}  // namespace dingo::model
