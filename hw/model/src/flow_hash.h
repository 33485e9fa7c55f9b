// SPDX-License-Identifier: BSD-2-Clause
//
// Selects the receive ring of a frame.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "dingo_hw.h"
#include "frame_headers.h"

namespace dingo::model {

/// Returns the hash by which the card distributes flows without SET_RSS: of IP addresses and, for
/// unfragmented TCP and UDP, ports. 0 for all other frames, which so stay in order on one ring.
std::uint32_t flow_hash(const FrameHeaders& headers, std::span<const std::byte> frame) noexcept;

/// SET_RSS: a hash key, and a table from hash to ring.
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

    /// Returns the Toeplitz hash of an IP frame ("Introduction to Receive Side Scaling", Windows
    /// drivers).
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
    /// Contribution of each value of each input byte; the longest input is 36 bytes, IPv6 with
    /// ports.
    static constexpr std::size_t kLongest = 36;
    std::array<std::array<std::uint32_t, 256>, kLongest> parts_{};
};

}  // namespace dingo::model
