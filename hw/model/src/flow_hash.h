// SPDX-License-Identifier: BSD-2-Clause
//
// Which receive ring a frame goes to.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "dingo_hw.h"
#include "frame_headers.h"

namespace dingo::model {

/// Hash of IP addresses and, for TCP and UDP without fragmentation, ports, as the card spreads
/// flows without SET_RSS. 0 for everything else, so that what is not IP stays in order on one ring.
std::uint32_t flow_hash(const FrameHeaders& headers, std::span<const std::byte> frame) noexcept;

/// SET_RSS: a key, and a table from hash to ring.
class ReceiveSideScaling {
  public:
    struct Hash {
        std::uint32_t value = 0;
        bool has_ports = false;
    };

    [[nodiscard]] bool enabled() const noexcept { return enabled_; }
    void disable() noexcept { enabled_ = false; }
    void set(std::span<const std::uint8_t, DINGO_RSS_KEY> key,
             std::span<const std::uint8_t, DINGO_RSS_TABLE> table) noexcept;

    /// The Toeplitz hash of an IP frame ("Introduction to Receive Side Scaling", Windows drivers).
    [[nodiscard]] Hash hash(const FrameHeaders& headers,
                            std::span<const std::byte> frame) const noexcept;
    [[nodiscard]] std::uint8_t ring(Hash hash) const noexcept {
        return table_[hash.value % DINGO_RSS_TABLE];
    }

  private:
    [[nodiscard]] std::uint32_t toeplitz(std::span<const std::byte> bytes, std::size_t at,
                                         std::uint32_t hash) const noexcept;

    bool enabled_ = false;
    std::array<std::uint8_t, DINGO_RSS_TABLE> table_{};
    /// What each value of each byte of the input adds: 36 bytes are the longest, IPv6 with ports.
    static constexpr std::size_t kLongest = 36;
    std::array<std::array<std::uint32_t, 256>, kLongest> parts_{};
};

}  // namespace dingo::model
