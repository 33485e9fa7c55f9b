// SPDX-License-Identifier: BSD-2-Clause
//
// State of a send WQE between its first packet and its completion. All else is reread from the send
// queue if a packet must be repeated.
#pragma once

#include <cstdint>
#include <vector>

#include "dingo_hw.h"

namespace dingo::model {

struct SendRecord {
    std::uint32_t index = 0;  ///< first block, free running
    std::uint32_t first_psn = 0;
    std::uint32_t packets = 0;   ///< number of PSNs of the message; 0: local operation or error
    std::uint32_t length = 0;    ///< bytes of the message
    std::uint32_t received = 0;  ///< READ, atomic: responses received
    std::uint8_t opcode = 0;     ///< enum wr
    std::uint8_t blocks = 1;
    /// not SUCCESS: failed locally, completes when it is the oldest
    std::uint8_t status = DINGO_WCS_SUCCESS;
    std::uint8_t vendor_err = DINGO_VERR_NONE;
    bool signaled = false;

    [[nodiscard]] bool wants_response() const noexcept {
        return opcode == DINGO_WR_READ || opcode == DINGO_WR_CMP_SWAP ||
               opcode == DINGO_WR_FETCH_ADD;
    }
    /// Returns true for a READ or atomic that still waits for data.
    [[nodiscard]] bool waits() const noexcept {
        return wants_response() && packets > 0 && received < packets;
    }
};

/// Records in SQ order. Positions are free running; storage grows on demand up to kMax.
class RecordRing {
  public:
    static constexpr std::uint32_t kMax = 256;

    [[nodiscard]] bool empty() const noexcept { return head_ == tail_; }
    [[nodiscard]] bool full() const noexcept { return tail_ - head_ == kMax; }
    [[nodiscard]] std::uint32_t head() const noexcept { return head_; }
    [[nodiscard]] std::uint32_t tail() const noexcept { return tail_; }
    SendRecord& operator[](std::uint32_t position) noexcept { return slots_[position & mask()]; }
    const SendRecord& operator[](std::uint32_t position) const noexcept {
        return slots_[position & mask()];
    }
    SendRecord& front() noexcept { return (*this)[head_]; }
    [[nodiscard]] const SendRecord& front() const noexcept { return (*this)[head_]; }

    void push(const SendRecord& record) {
        if (tail_ - head_ == slots_.size())
            grow();
        (*this)[tail_++] = record;
    }
    void pop() noexcept { ++head_; }
    void clear() noexcept { head_ = tail_; }

  private:
    static constexpr std::size_t kFirstSize = 4;
    [[nodiscard]] std::uint32_t mask() const noexcept {
        return static_cast<std::uint32_t>(slots_.size()) - 1;
    }
    void grow() {
        std::vector<SendRecord> larger(slots_.empty() ? kFirstSize : slots_.size() * 2);
        for (std::uint32_t p = head_; p != tail_; ++p)
            larger[p & (larger.size() - 1)] = (*this)[p];
        slots_.swap(larger);
    }

    std::vector<SendRecord> slots_;
    std::uint32_t head_ = 0;
    std::uint32_t tail_ = 0;
};

}  // namespace dingo::model
