// SPDX-License-Identifier: BSD-2-Clause
//
// Two RTL cards with the PCIe of rtl::Timing and a 100G link between them, and a load generator,
// cycle by cycle.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <vector>

#include "dingo/rtl.h"
#include "two_cards.h"

namespace dingo::test {

/// A load: requests that are kept outstanding.
struct RtlLoad {
    std::uint8_t opcode = DINGO_WR_WRITE;  ///< WRITE, READ, SEND or FETCH_ADD (of 8 bytes)
    unsigned qps = 1;
    unsigned outstanding = 16;  ///< on each QP
    std::uint32_t bytes = 64;
    std::uint8_t path_mtu = 5;  ///< enum of verbs: 128 << path_mtu bytes
    bool both = false;          ///< in both directions
    bool inlined = false;
    bool pushed = false;  ///< WQEs are also written to the push page
    unsigned sges = 1;
    unsigned list = 1;                ///< requests per doorbell
    unsigned levels = 0;              ///< of the peer's page list; 0: no list
    std::uint64_t region = 4U << 20;  ///< bytes of the peer's MR; a page list repeats 4 MiB
    std::uint32_t kernel = 0;         ///< the receivers' compute kernel; modulus 1000
    bool random = false;              ///< a random place in it for each request; else its start
    rtl::Timing timing{};
};

/// Two connected cards whose clocks run together.
class RtlPair {
  public:
    explicit RtlPair(const RtlLoad& load);

    /// Cycles that `count` completions take, behind `count` others as warm-up; calls `at_start`
    /// between them. @throws std::runtime_error: a completion has an error, or none comes for 2 ms
    std::uint64_t stream(unsigned count, const std::function<void()>& at_start = {});

    /// Nanoseconds from the doorbell to the last byte in the peer's memory (READ: in the
    /// requester's), and to the CQE in host memory.
    struct Latency {
        Nanoseconds memory = 0;
        Nanoseconds completion = 0;
    };
    Latency once(std::uint8_t opcode, std::uint32_t bytes, bool inlined, bool pushed = false);

    /// Records waveforms of a card for `length`. @throws std::runtime_error
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
        std::uint64_t first = 0;  // bus address of `remote`'s memory, 4 MiB
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
    std::vector<unsigned> unrung_[2];  // requests of a link posted since its last doorbell
    Region regions_[2];
    std::deque<Travelling> wire_;
    std::minstd_rand random_{7};
    Nanoseconds now_ = 0;
};

}  // namespace dingo::test
