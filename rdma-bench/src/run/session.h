// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <functional>
#include <string>

#include "exit.h"
#include "options/options.h"
#include "report/result.h"
#include "run/link.h"

namespace rdma_bench {

/// Runs a test, from opening the device to the last row. Errors are reported on stderr and in
/// result.error of the sink's done().
Exit run_session(Options options, Sink& sink);

/// One of several clients of this server.
struct OneOfMany {
    Link link;
    /// Called before each entry; returns when all clients are ready. @throws RunError
    std::function<void(Link&)> start_together;
};
/// Like run_session(), for this client and without output on stderr.
Exit run_session_with(Options options, Sink& sink, OneOfMany client);

/// Checks the results against -w, -y and --verify.
class Limits {
  public:
    explicit Limits(const Options& options) : options_(options) {}
    void note(const Entry& entry);
    /// @throws RunError(kData), (kLimit)
    void check() const;

  private:
    const Options& options_;
    std::string below_, wrong_;
};

}  // namespace rdma_bench
