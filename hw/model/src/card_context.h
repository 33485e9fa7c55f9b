// SPDX-License-Identifier: BSD-2-Clause
//
// Shared by all parts of one card: its ports, the time, its counters.
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

inline constexpr Nanoseconds kWireRetry = 5'000;  ///< retry interval after the wire was full

/// The payload of the frame that is being received.
struct ReceivedPayload {
    std::span<const std::byte> bytes;
    const Held* held = nullptr;  ///< null: the payload must be copied

    /// Returns what holds `part`, or null.
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
    Loopback& loopback;  ///< the wire, plus loopback of frames to the card itself
    Nanoseconds now = 0;
    std::array<std::uint64_t, DINGO_CARD_COUNTERS> counters{};
    std::mt19937_64 random;
    std::uint64_t ring_pages = 0;  ///< page-list entries of all rings, see RingMemory
    ReceivedPayload received{};
    /// share of the sender if the frame being received is looped back
    std::optional<std::uint32_t> looped{};

    void count(dingo_card_counter counter, std::uint64_t by = 1) noexcept {
        counters[counter] += by;
    }

    /// HostPort::dma_read, dma_atomic and dma_write that count bus errors.
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
