// SPDX-License-Identifier: BSD-2-Clause
// How the program ends. docs/reference/rdma-bench.md and the manual list these.
#pragma once
#include <stdexcept>
#include <string>

namespace rdma_bench {

enum class Exit : int {
    kGood = 0,
    kFailed = 1,        ///< a message or a verbs call failed while the test ran
    kUsage = 2,         ///< options, also those that differ from the peer's
    kDevice = 3,        ///< no such device, or it cannot do what was asked
    kPeer = 4,          ///< no connection to the peer, or no more
    kData = 5,          ///< --verify found wrong data
    kLimit = 6,         ///< below -w or -y
    kInterrupted = 130  ///< Ctrl-C here or at the peer
};

/// Ends a run: the sentence for the user and the exit status.
class RunError : public std::runtime_error {
  public:
    RunError(Exit status, const std::string& text) : std::runtime_error(text), status_(status) {}
    [[nodiscard]] Exit status() const noexcept { return status_; }

  private:
    Exit status_;
};

}  // namespace rdma_bench
