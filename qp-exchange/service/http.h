// SPDX-License-Identifier: BSD-2-Clause
// HTTP connection for one request of metrics or status.
#pragma once
#include <functional>
#include <string>

#include "net/socket.h"
#include "service/registry.h"

namespace qpx::service {

/// Listens at "host:port" or "unix:PATH"; replaces a socket file that no process listens on.
/// @throws Error Argument, Resolve, Refused
net::Fd listen_http(const std::string& where);

class HttpLink {
  public:
    HttpLink(net::Fd fd, Registry& registry, Time since)
        : registry_(registry), fd_(std::move(fd)), since_(since) {}

    /// Reads or writes; called when the descriptor is ready. @return false if done: close it
    bool step();
    bool wants_write() const { return !answer_.empty(); }
    int fd() const { return fd_.get(); }
    Time since() const { return since_; }

  private:
    std::string respond();
    bool write();

    Registry& registry_;
    net::Fd fd_;
    Time since_;
    std::string request_, answer_;
    size_t sent_ = 0;
};

/// Returns the registry's counters in the text format of Prometheus.
std::string metrics_text(Registry& registry);

}  // namespace qpx::service
