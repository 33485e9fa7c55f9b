// SPDX-License-Identifier: BSD-2-Clause
// What a verified round's messages must hold: filled before it, compared after it.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "run/entry_run.h"
#include "run/pattern.h"
#include "run/round_transfer.h"
#include "run/verified.h"

namespace rdma_bench {

class RoundCheck {
  public:
    RoundCheck(const VerifiedRun& run, const Role& role);

    /// Messages of a QP that this side has room for in a round.
    [[nodiscard]] unsigned slots() const;
    /// Atomics count from 0 at the beginning of an entry.
    void clear_counters();
    /// Fills what this side sends or the peer READs in the round, and clears what must be seen to
    /// come.
    void begin(std::uint64_t first, unsigned count);
    /// CMP_AND_SWAP: what each request compares with and swaps in.
    void set_atomics(Worker& worker, std::uint64_t first, unsigned count) const;
    /// The SENDs of the round, before compare().
    void arrived(const std::vector<Arrival>& arrivals) { arrivals_ = arrivals; }
    /// Every byte of what came to this side. Posts the receives again. @return of this round
    Verification compare();

  private:
    [[nodiscard]] Operation operation() const { return run_.options.test.operation; }
    [[nodiscard]] Stream mine(unsigned qp) const { return {qp, !run_.options.client()}; }
    [[nodiscard]] Stream theirs(unsigned qp) const { return {qp, run_.options.client()}; }
    [[nodiscard]] bool unsure() const;
    [[nodiscard]] std::size_t out_at(unsigned qp, unsigned slot) const;
    [[nodiscard]] std::size_t in_at(unsigned qp, unsigned slot) const;
    std::span<const std::byte> read(std::size_t offset);
    void fill_out(unsigned qp, unsigned slot, std::uint64_t sequence);
    void clear_in(unsigned qp, unsigned slot);

    void tell(const std::string& wrong);
    void compare_written();
    std::string written(unsigned qp, unsigned slot);
    bool never_came(unsigned qp, unsigned slot);
    void compare_read();
    void compare_atomics();
    void compare_counters();
    void compare_arrivals();
    void compare_arrival(const Arrival& arrival);
    [[nodiscard]] std::size_t place(const Arrival& arrival) const;
    void post_again();

    const VerifiedRun& run_;
    const Role role_;
    Slots out_, in_;
    std::size_t header_;  ///< bytes in front of a received message
    std::vector<std::byte> text_;
    std::uint64_t first_ = 0;
    unsigned count_ = 0;
    std::vector<Arrival> arrivals_;
    std::vector<std::uint64_t> next_;  ///< SEND: sequence number that each QP's next message has
    Verification round_;
};

}  // namespace rdma_bench
