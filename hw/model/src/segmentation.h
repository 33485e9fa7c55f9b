// SPDX-License-Identifier: BSD-2-Clause
//
// Splits a long TCP frame into segments (eth_desc flag TSO).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "frame_headers.h"

namespace dingo::model {

class Segmentation {
  public:
    /// Returns room for a frame of `length` bytes; drops a frame that is being segmented.
    std::span<std::byte> begin(std::size_t length);
    /// The frame is in the room, its TCP header begins at `start`, and segments carry `mss` bytes
    /// of payload. Returns false if it is no TCP frame that can be segmented.
    bool accept(std::size_t start, std::size_t mss);

    [[nodiscard]] bool under_way() const noexcept { return sent_ < payload_; }
    /// Length of the next segment with its headers. Only while under_way().
    [[nodiscard]] std::size_t next_bytes() const noexcept {
        return headers_bytes_ + next_payload();
    }
    [[nodiscard]] bool tagged() const noexcept { return headers_.l3 != packet::kEthernetBytes; }
    /// Writes the next segment to `out`, which has room for next_bytes().
    void next(std::span<std::byte> out);
    void end() noexcept { sent_ = payload_ = 0; }

  private:
    [[nodiscard]] std::size_t next_payload() const noexcept {
        return std::min(mss_, payload_ - sent_);
    }

    std::vector<std::byte> frame_;
    FrameHeaders headers_;
    std::size_t headers_bytes_ = 0;
    std::size_t payload_ = 0;
    std::size_t mss_ = 0;
    std::size_t sent_ = 0;  ///< payload bytes sent
    std::uint16_t segments_ = 0;
};

}  // namespace dingo::model
