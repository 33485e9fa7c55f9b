// SPDX-License-Identifier: BSD-2-Clause
//
// Cuts one long TCP frame into segments (eth_desc flag TSO).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "frame_headers.h"

namespace dingo::model {

class Segmentation {
  public:
    /// Room for a frame of `length` bytes; none is under way.
    std::span<std::byte> begin(std::size_t length);
    /// The frame is in the room: its TCP header begins at `start`, segments have `mss` bytes of
    /// payload. False: it is no TCP frame of that kind; none is under way.
    bool accept(std::size_t start, std::size_t mss);

    [[nodiscard]] bool under_way() const noexcept { return sent_ < payload_; }
    /// Bytes of the next segment with its headers. Only while a frame is being segmented.
    [[nodiscard]] std::size_t next_bytes() const noexcept {
        return headers_bytes_ + next_payload();
    }
    [[nodiscard]] bool tagged() const noexcept { return headers_.l3 != packet::kEthernetBytes; }
    /// Writes the next segment to `out`, which has room for next_bytes(), and goes on.
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
    std::size_t sent_ = 0;  ///< bytes of payload
    std::uint16_t segments_ = 0;
};

}  // namespace dingo::model
