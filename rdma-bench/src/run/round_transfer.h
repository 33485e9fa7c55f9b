// SPDX-License-Identifier: BSD-2-Clause
// Transfer of one verified round: each thread sends the messages of its QPs and collects received
// ones, while the main thread handles the peer's control messages.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "run/entry_run.h"
#include "run/verified.h"

namespace rdma_bench {

/// A received SEND, in the order of its thread's completions.
struct Arrival {
    Worker* worker = nullptr;
    Lane* lane = nullptr;    ///< lane of the QP that received it
    std::uint64_t slot = 0;  ///< index in the ring of receives, of the SRQ or the QP
    std::uint32_t bytes = 0;
};

class RoundTransfer {
  public:
    /// @param count messages of each QP in each direction
    RoundTransfer(const VerifiedRun& run, const Role& role, std::vector<Worker*> workers,
                  unsigned count);
    ~RoundTransfer();
    RoundTransfer(const RoundTransfer&) = delete;
    RoundTransfer& operator=(const RoundTransfer&) = delete;

    /// Returns when all messages of this side are complete, the peer has reported the same, and all
    /// its messages have arrived or are lost (UC, UD).
    /// @return the peer's "checked" message if it arrived meanwhile
    /// @throws RunError
    std::optional<nlohmann::json> run();
    [[nodiscard]] const std::vector<Arrival>& arrivals() const { return arrivals_; }

  private:
    void work(Worker& worker, std::vector<Arrival>& arrived);
    void collect(Worker& worker, std::vector<Arrival>& arrived);
    void watch();
    void hear();
    void look_for_interrupt();
    void join() noexcept;

    const VerifiedRun& run_;
    const Role role_;
    std::vector<Worker*> workers_;
    unsigned count_;
    Control control_;
    std::vector<std::thread> threads_;
    std::vector<std::vector<Arrival>> collected_;  ///< one list per thread
    std::vector<Arrival> arrivals_;
    std::unique_ptr<nlohmann::json> checked_;
    bool said_sent_ = false;
    std::uint64_t interrupted_ns_ = 0;
};

}  // namespace rdma_bench
