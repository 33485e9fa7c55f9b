// SPDX-License-Identifier: BSD-2-Clause
//
// The host behind the card's AXI4 master: bursts become DMA of a HostPort.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "Vdingo_card.h"
#include "dingo/engine.h"
#include "dingo/rtl.h"
#include "stalls.h"

namespace dingo::rtl {

class AxiMemory {
  public:
    AxiMemory(Vdingo_card& card, HostPort& host) : card_(card), host_(host) {}

    /// Drives the slave's side of all channels; before the clock rises.
    void drive();
    /// Executes the handshakes of this cycle; after eval() with the inputs, before the clock rises.
    void sample();
    /// See dingo/rtl.h; without it there are no delays.
    void set_timing(const Timing& timing) { timing_ = timing; }
    /// An interrupt, behind what was written before it.
    void raise_msix(unsigned vector);
    /// Accounts for a write of the host to the card, which shares the link with read answers.
    void posted_tlp() { down_.bytes -= kHeader + 8; }
    /// Number of writes of the host to the card so far, and how many of them the card has taken. On
    /// PCIe the answer to a read does not pass the writes that were issued before it.
    void set_posted(std::uint64_t issued, std::uint64_t taken) {
        issued_ = issued;
        taken_ = taken;
    }
    /// Every channel waits in `percent` of the cycles; bursts of different IDs overtake each other.
    void set_stalls(unsigned percent, std::uint64_t seed);
    /// Nothing is outstanding.
    [[nodiscard]] bool idle() const {
        return reads_.empty() && !writing_ && addresses_.empty() && answers_.empty() &&
               to_host_.empty();
    }

  private:
    static constexpr std::size_t kBeat = 64;
    // Header, framing and LCRC of a TLP in bytes: request with a 64-bit address, completion.
    static constexpr double kHeader = 24;
    static constexpr double kAnswerHeader = 20;

    struct Read {
        std::uint8_t id = 0;
        bool error = false;
        std::uint64_t address = 0;
        std::uint64_t sent = UINT64_MAX;    // cycle in which the host sends the answer
        std::uint64_t behind = UINT64_MAX;  // number of the host's writes before the answer
        std::size_t next = 0;               // byte of the next beat
        std::vector<std::byte> data;        // whole beats
    };
    struct Write {
        std::uint64_t address;
        std::vector<std::byte> data;
        std::size_t begin = SIZE_MAX;  // first and behind the last enabled byte
        std::size_t end = 0;
    };
    // A request on its way to the host: a read, a write or an interrupt.
    struct ToHost {
        std::uint64_t due = 0;
        Read* read = nullptr;
        std::uint64_t address = 0;
        std::vector<std::byte> data;
        unsigned vector = 0;
    };

    [[nodiscard]] bool arrived();
    void overtake();
    void take_read();
    void take_write_beat();
    void finish_write();
    void at_host();
    [[nodiscard]] bool new_tlp(std::uint64_t address) const {
        return timing_.payload_bytes != 0 && address % timing_.payload_bytes == 0;
    }

    // Token bucket of bytes, of at most 512: filled every cycle, emptied by beats.
    struct Budget {
        double bytes = 0;
        void refill(double rate) { bytes = std::min(bytes + rate, 512.0); }
        [[nodiscard]] bool has() const { return bytes > 0; }
    };

    Timing timing_{
        .read_cycles = 0, .way_cycles = 0, .payload_bytes = 0, .pcie_bytes_per_cycle = 1e9};
    std::uint64_t cycle_ = 0;
    std::uint64_t issued_ = 0;
    std::uint64_t taken_ = 0;
    Budget down_;  // to the card
    Budget up_;    // to the host
    Vdingo_card& card_;
    HostPort& host_;
    std::deque<std::unique_ptr<Read>> reads_;
    std::deque<ToHost> to_host_;
    std::deque<Read*> answered_;   // answers that the host has not sent yet
    std::deque<Write> addresses_;  // write bursts whose data has not come
    bool writing_ = false;
    std::deque<std::uint8_t> answers_;  // B responses
    bool stalls_ = false;
    Stall ar_, r_, aw_, w_, b_;
    std::minstd_rand random_;
};

}  // namespace dingo::rtl
