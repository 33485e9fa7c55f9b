// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Rings in this process, and a thread that consumes WQEs and writes CQEs like a card.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "dingo_gda.h"

namespace gda::test {

/// vendor_err of failed requests.
constexpr std::uint32_t kVendorError = 0x5a;

/// A complete WQE as read by the card.
struct Wqe {
    std::uint32_t index;  ///< index of its first block, as in a CQE
    std::array<std::uint64_t, DINGO_SQ_MAX_BLOCKS * DGDA_BLOCK_WORDS> words;

    [[nodiscard]] std::uint32_t opcode() const { return words[0] & 0xff; }
    [[nodiscard]] std::uint32_t flags() const { return words[0] >> 8 & 0xff; }
    [[nodiscard]] std::uint32_t blocks() const { return words[0] >> 16 & 0xff; }
    [[nodiscard]] std::uint32_t num_sge() const { return words[0] >> 24 & 0xff; }
    [[nodiscard]] std::uint64_t raddr() const { return words[2]; }
    [[nodiscard]] std::uint32_t rkey() const { return static_cast<std::uint32_t>(words[3]); }
    [[nodiscard]] const std::uint8_t* data() const {
        return reinterpret_cast<const std::uint8_t*>(&words[4]);
    }
};

class FakeCard {
  public:
    /// Executes a WQE and returns its status. After a status other than 0 all WQEs are flushed.
    using Execute = std::function<std::uint32_t(const Wqe&)>;

    /// `first`: number of blocks already used.
    FakeCard(unsigned log_sq, unsigned log_cq, Execute execute, std::uint64_t first = 0);
    ~FakeCard() { stop(); }
    FakeCard(const FakeCard&) = delete;
    FakeCard& operator=(const FakeCard&) = delete;

    /// Stops consuming WQEs and sets the status accordingly.
    void die();
    void stop();
    [[nodiscard]] dingo_gda_qp* qp() { return &qp_; }
    /// Returns a protocol violation that was detected, or "".
    [[nodiscard]] std::string complaint() const;
    [[nodiscard]] std::uint32_t doorbells() const { return doorbells_; }
    [[nodiscard]] std::uint32_t completions() const { return producer_; }

  private:
    void run();
    void take(std::uint32_t to);
    void complete(std::uint32_t index, std::uint32_t status);
    void complain(const char* text);

    std::vector<std::uint64_t> sq_, cq_;
    std::vector<std::uint32_t> sizes_;
    std::uint64_t sq_doorbell_ = 0, cq_doorbell_ = 0;
    std::uint32_t status_ = 0;
    Execute execute_;
    std::uint32_t at_;            ///< blocks consumed
    std::uint32_t producer_ = 0;  ///< CQEs written
    std::atomic<std::uint32_t> doorbells_ = 0;
    bool failed_ = false;
    mutable std::mutex mutex_;
    std::string complaint_;
    dingo_gda_qp qp_{};
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

}  // namespace gda::test
