// SPDX-License-Identifier: BSD-2-Clause
//
// Two cards in SystemVerilog on a stated PCIe and a 100G link, and what loads them, cycle by cycle.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <vector>

#include "dingo/rtl.h"
#include "two_cards.h"

namespace dingo::test {

/// What is kept going.
struct RtlLoad {
    std::uint8_t opcode = DINGO_WR_WRITE;  ///< WRITE, READ, SEND or FETCH_ADD (of 8 bytes)
    unsigned qps = 1;
    unsigned outstanding = 16;  ///< on each QP
    std::uint32_t bytes = 64;
    std::uint8_t path_mtu = 5;  ///< 128 << it
    bool both = false;          ///< in both directions
    bool inlined = false;
    bool pushed = false;  ///< to the card's push page, too
    unsigned sges = 1;
    unsigned list = 1;                ///< requests that a doorbell tells of
    unsigned levels = 0;              ///< of the peer's page list
    std::uint64_t region = 4U << 20;  ///< peer's memory; with a list it is 4 MiB that repeat
    bool random = false;              ///< a place of it chosen for each request; else the first
    rtl::Timing timing{};
};

/// Two connected cards whose clocks run together.
class RtlPair {
  public:
    explicit RtlPair(const RtlLoad& load);

    /// Cycles that `count` completions took after as many to warm up; `at_start`: called when they
    /// begin to count. @throws std::runtime_error: one is in error, or none comes
    std::uint64_t stream(unsigned count, const std::function<void()>& at_start = {});

    /// Nanoseconds from the doorbell to the last byte in the peer's memory (READ: in one's own), or
    /// to the completion's entry in host memory.
    struct Latency {
        Nanoseconds memory = 0;
        Nanoseconds completion = 0;
    };
    Latency once(std::uint8_t opcode, std::uint32_t bytes, bool inlined, bool pushed = false);

    /// Waveforms of a card, from now on. @throws std::runtime_error
    void trace(unsigned card, rtl::Trace window, Nanoseconds length);
    TwoCards& cards() { return cards_; }

  private:
    struct Travelling {
        Nanoseconds due;
        unsigned to;
        std::vector<std::byte> bytes;
    };
    struct Region {
        Mr local;
        Mr remote;
        std::uint64_t first = 0;  // bus addresses of `remote`, one 4 MiB
    };

    [[nodiscard]] unsigned senders() const { return load_.both ? 2 : 1; }
    void make_region(unsigned card);
    void connect(unsigned qps);
    void post(unsigned card, TwoCards::Connection& link, bool ring);
    void post_receive(unsigned card, TwoCards::Connection& link);
    void again(unsigned card, std::size_t link);
    void tick();

    RtlLoad load_;
    TwoCards cards_;
    std::vector<TwoCards::Connection> links_;
    std::vector<unsigned> unrung_[2];  // requests of a link that no doorbell has told of
    Region regions_[2];
    std::deque<Travelling> wire_;
    std::minstd_rand random_{7};
    Nanoseconds now_ = 0;
};

}  // namespace dingo::test
