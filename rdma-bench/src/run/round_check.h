// SPDX-License-Identifier: BSD-2-Clause
// Content of a verified round's messages: fills it in before the round and compares it afterwards.
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

    /// Number of messages of a QP that fit into a round.
    [[nodiscard]] unsigned slots() const;
    /// Clears the counters of atomics, at the beginning of an entry.
    void clear_counters();
    /// Fills in what this side sends or the peer READs in the round, and clears the targets.
    void begin(std::uint64_t first, unsigned count);
    /// CMP_AND_SWAP: sets the compare and swap values of each request.
    void set_atomics(Worker& worker, std::uint64_t first, unsigned count) const;
    /// Passes the received SENDs of the round; called before compare().
    void arrived(const std::vector<Arrival>& arrivals) { arrivals_ = arrivals; }
    /// Compares every byte that this side received, and posts the receives again.
    /// @return result of this round
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
    std::size_t header_;  ///< bytes before a received message (GRH)
    std::vector<std::byte> text_;
    std::uint64_t first_ = 0;
    unsigned count_ = 0;
    std::vector<Arrival> arrivals_;
    std::vector<std::uint64_t> next_;  ///< SEND: expected sequence number of each QP's next message
    Verification round_;
};

}  // namespace rdma_bench
