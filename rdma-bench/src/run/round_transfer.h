// SPDX-License-Identifier: BSD-2-Clause
// The messages of one verified round: each thread sends its QPs' and collects what comes in, while
// the main thread listens to the peer.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "run/entry_run.h"
#include "run/verified.h"

namespace rdma_bench {

/// A SEND that has come in, in the order of its thread's completions.
struct Arrival {
    Worker* worker = nullptr;
    Lane* lane = nullptr;    ///< of the QP that received it
    std::uint64_t slot = 0;  ///< place in the ring of receives, the SRQ's or the QP's
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

    /// Returns when all that this side sends is complete, the peer has said the same, and all that
    /// comes in has come, or will not (UC, UD).
    /// @return the peer's "checked" when it came meanwhile
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
