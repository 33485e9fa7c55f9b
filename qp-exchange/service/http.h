// SPDX-License-Identifier: BSD-2-Clause
// One HTTP request for metrics or status: read, answered, closed.
#pragma once
#include <functional>
#include <string>

#include "net/socket.h"
#include "service/registry.h"

namespace qpx::service {

/// Listens at "host:port" or "unix:PATH"; an abandoned socket file is replaced.
/// @throws Error Argument, Resolve, Refused
net::Fd listen_http(const std::string& where);

class HttpLink {
  public:
    HttpLink(net::Fd fd, Registry& registry, Time since)
        : registry_(registry), fd_(std::move(fd)), since_(since) {}

    /// The descriptor is ready. @return false: done, to be closed
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

/// The registry in Prometheus' text format.
std::string metrics_text(Registry& registry);

}  // namespace qpx::service
