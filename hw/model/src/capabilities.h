// SPDX-License-Identifier: BSD-2-Clause
//
// Capabilities and limits of the model: registers CAPS, DB_PAGES, VECTORS and QUERY_DEVICE.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dingo/engine.h"
#include "dingo_hw.h"

namespace dingo::model {

/// Without DB_MEMORY and PUSH, of which a card has one, depending on the attachment.
inline constexpr std::uint64_t kImplemented =
    DINGO_CAP_RC | DINGO_CAP_UC | DINGO_CAP_UD | DINGO_CAP_SRQ | DINGO_CAP_ATOMIC |
    DINGO_CAP_SEND_INV | DINGO_CAP_MW | DINGO_CAP_FRWR | DINGO_CAP_RESIZE_CQ | DINGO_CAP_REREG_MR |
    DINGO_CAP_TIMESTAMP | DINGO_CAP_ETH | DINGO_CAP_COMPUTE | DINGO_CAP_PAUSE_MR | DINGO_CAP_MCAST |
    DINGO_CAP_SHARES | DINGO_CAP_COMPUTE_RX | DINGO_CAP_ETH_OFFLOAD | DINGO_CAP_ETH_RSS |
    DINGO_CAP_CQ_MODERATION | DINGO_CAP_SHARE_INDEXES | DINGO_CAP_GID_DOMAINS;

inline constexpr std::uint32_t kDoorbellPages = 1024;
inline constexpr std::uint32_t kVectors = DINGO_MSIX_MAX;
inline constexpr std::uint32_t kMaxEq = 128;
inline constexpr std::uint32_t kMaxPd = 65536;
inline constexpr std::uint32_t kEthRings = 4;        ///< rings of each kind
inline constexpr std::uint32_t kMaxRdAtomic = 128;   ///< as requester and as responder
inline constexpr std::uint32_t kMaxFrwrPages = 512;  ///< pages of one REG_MR
inline constexpr std::uint8_t kAckDelay = 15;        ///< 4.096 us * 2^15
inline constexpr std::uint32_t kMaxMcast = 4096;     ///< multicast groups
inline constexpr std::uint32_t kMaxMcastQp = 256;    ///< QPs per multicast group
inline constexpr std::uint64_t kMaxMrSize = 1ull << 48;
inline constexpr unsigned kMinPageShift = 12;
inline constexpr unsigned kMaxPageShift = 30;
inline constexpr std::uint32_t kFirstQpIndex = 2;  ///< index 0 is reserved, 1 is the GSI QP
inline constexpr std::uint32_t kBuild = 0x000100;  ///< major << 16 | minor << 8 | patch

/// Returns the value of register CAPS.
inline std::uint64_t capabilities(const EngineConfig& config) {
    std::uint64_t withheld = config.withheld;
    if ((withheld & DINGO_CAP_COMPUTE) != 0)
        withheld |= DINGO_CAP_COMPUTE_RX;
    const std::uint64_t doorbells =
        config.memory_doorbells ? DINGO_CAP_DB_MEMORY | DINGO_CAP_DB_WATCH : DINGO_CAP_PUSH;
    std::uint64_t card_memory = 0;
    if (config.memory != nullptr && config.memory->size != 0) {
        card_memory = DINGO_CAP_DEVICE_MEMORY;
        card_memory |= config.memory->counted ? DINGO_CAP_MEM_COUNTS : 0;
    }
    return (kImplemented | doorbells | card_memory) & ~withheld;
}

/// Limited also by the number spaces: 24 bits in doorbells, 16 bits in QPNs and keys.
inline std::uint32_t max_qp(const EngineConfig& config) {
    return std::min(config.max_qp, (1u << DINGO_QPN_INDEX_BITS) - kFirstQpIndex);
}
inline std::uint32_t max_cq(const EngineConfig& config) {
    return std::min(config.max_cq, 1u << 24);
}
inline std::uint32_t max_mr(const EngineConfig& config) {
    return std::min(config.max_mr, 1u << DINGO_MR_INDEX_SHIFT);
}
inline std::uint32_t max_srq(const EngineConfig& config) {
    return std::min(config.max_srq, 1u << 24);
}

}  // namespace dingo::model
