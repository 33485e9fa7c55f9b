// SPDX-License-Identifier: BSD-2-Clause
// Exit statuses, documented in docs/reference/rdma-bench.md and the manual page.
#pragma once
#include <stdexcept>
#include <string>

namespace rdma_bench {

enum class Exit : int {
    kGood = 0,
    kFailed = 1,        ///< a message or a verbs call failed while the test ran
    kUsage = 2,         ///< invalid options, or options that differ from the peer's
    kDevice = 3,        ///< no such device, or a feature is not supported
    kPeer = 4,          ///< no connection to the peer, or it was lost
    kData = 5,          ///< --verify found wrong data
    kLimit = 6,         ///< result below -w or -y
    kInterrupted = 130  ///< Ctrl-C here or at the peer
};

/// Exception that ends a run, with the text for the user and the exit status.
class RunError : public std::runtime_error {
  public:
    RunError(Exit status, const std::string& text) : std::runtime_error(text), status_(status) {}
    [[nodiscard]] Exit status() const noexcept { return status_; }

  private:
    Exit status_;
};

}  // namespace rdma_bench
