// SPDX-License-Identifier: BSD-2-Clause
//
// Model of AMD's UltraScale+ PCIe block (PG213) at its user interface, with a host: memory that the
// card reads and writes; completions that are split, mixed, late or failed; requests to the card.
// violation() has the first breach of the interface.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "Vdingo_pcie.h"

namespace dingo::rtl {

using Line = std::array<std::uint32_t, 16>;

struct CoreTiming {
    unsigned mps = 256, mrrs = 512, rcb = 64;
    unsigned latency = 20, jitter = 0;  ///< cycles from a read to its first completion
    unsigned stall = 0;                 ///< percent of cycles in which a stream stalls
    bool reorder = false;               ///< completions of different reads overtake and mix
    unsigned fail = 0;                  ///< percent of reads that fail; ways to fail take turns
    unsigned stray = 0;                 ///< percent: completions of no outstanding read
    unsigned credits = 15;              ///< reads that the host has room for; 15: unlimited
    bool all_tags = true;
    std::uint32_t seed = 1;
};

/// A request of the host to the card.
struct HostRequest {
    unsigned kind = 1;  ///< 0 read, 1 write, 2 I/O read, ...
    unsigned bar = 0;
    std::uint64_t address = 0;        ///< multiple of 4
    std::vector<std::uint32_t> data;  ///< of a write
    unsigned dwords = 1;
    unsigned first_be = 0xf, last_be = 0;
    unsigned tag = 0;
    bool discontinue = false;
    [[nodiscard]] bool posted() const { return kind == 1 || kind >= 12; }
};

struct Answer {
    unsigned tag, status, bytes, lower, locked;
    std::vector<std::uint32_t> data;
};

class PcieCore {
  public:
    PcieCore(Vdingo_pcie& dut, const CoreTiming& timing);

    void sample();  ///< outputs are settled, before the rising edge
    void drive();   ///< the inputs of the next cycle, after it

    std::uint8_t& byte(std::uint64_t address) { return memory_[address]; }
    [[nodiscard]] std::size_t bytes() const { return memory_.size(); }  ///< bytes touched so far
    void ask(HostRequest request) { requests_.push_back(std::move(request)); }

    CoreTiming timing;
    std::vector<Answer> answers;
    /// Called for each read request in the order of the stream; `failed`: it will fail.
    std::function<void(std::uint64_t address, unsigned bytes, bool failed)> on_read;
    std::function<void(std::uint64_t address, unsigned bytes)> on_write;
    [[nodiscard]] const std::string& violation() const { return violation_; }
    [[nodiscard]] bool idle() const { return reads_.empty() && requests_.empty() && cq_.empty(); }
    std::size_t most_reads = 0, splits = 0, mixed = 0;
    bool hold_completions = false;
    bool hold_rq = false;  ///< rq_tready is low
    bool hold_cc = false;  ///< cc_tready is low

  private:
    struct Read {
        unsigned tag, bytes, done = 0;
        std::uint64_t address, due;
        unsigned failure = 0;  ///< 0: none, else the way in which it fails
        std::vector<std::uint8_t> data;
    };
    struct Beat {
        Line data{};
        bool last = false, discontinue = false;
        std::array<std::uint32_t, 1> be{};
        bool posted = true, first = false;
    };
    void check(bool ok, const char* what) {
        if (!ok && violation_.empty()) {
            violation_ = what;
        }
    }
    bool moves() { return random_() % 100 >= timing.stall; }
    void take_request();
    void take_write(std::uint64_t address, unsigned dwords, unsigned first_be, unsigned last_be);
    void complete();
    void stray();
    void send(std::deque<Beat>& to, const std::vector<std::uint32_t>& words, bool discontinue);
    void next_host_request();
    void take_answer();

    Vdingo_pcie& dut_;
    std::mt19937 random_;
    std::uint64_t now_ = 0;
    std::string violation_;
    std::unordered_map<std::uint64_t, std::uint8_t> memory_;
    // requester
    std::vector<std::uint32_t> packet_;
    unsigned packet_be_ = 0;
    bool waits_ = false;
    Line waits_data_{};
    std::deque<Read> reads_;
    std::vector<bool> busy_ = std::vector<bool>(256);
    unsigned last_tag_ = 999, free_tag_age_ = 0;
    std::deque<Beat> beats_;
    bool rc_sent_ = false;
    std::deque<std::uint64_t> returns_;  // times at which credits come back
    unsigned used_ = 0;
    std::array<unsigned, 3> late_{};  // delay of the credit port
    unsigned failures_ = 0;
    // completer
    std::deque<HostRequest> requests_;
    std::deque<Beat> cq_;
    bool cq_sent_ = false;
    unsigned np_credit_ = 0;
    bool np_now_ = false;
};

}  // namespace dingo::rtl
