// SPDX-License-Identifier: BSD-2-Clause
// The service's sockets: one thread, one epoll descriptor, any number of clients.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "qpx/security.h"
#include "service/registry.h"

namespace qpx::service {

enum class LogLevel { Debug, Info, Warning, Error };

struct ServerOptions {
    std::string address;    ///< of this host; empty: all, IPv6 and IPv4
    uint16_t port = 18516;  ///< 0: any free port
    int family = 0;         ///< AF_INET or AF_INET6 only; 0: both
    Security security;
    ServiceLimits limits;
    Authorize authorize;  ///< unset: every authenticated client may join any job
    std::string metrics;  ///< "host:port" or "unix:PATH" for HTTP; empty: none
    std::chrono::milliseconds handshake_timeout{10'000};  ///< for TLS and HELLO together
    std::chrono::milliseconds join_timeout{30'000};       ///< for a connection that is in no job
    std::chrono::milliseconds frame_timeout{30'000};      ///< from a message's first to last byte
    std::chrono::seconds keepalive{10};  ///< a dead host is detected after about twice that
    std::function<void(LogLevel, const std::string&)> log;
};

class Server {
  public:
    /// Listens. @throws as net::listen_tcp and net::make_tls
    explicit Server(ServerOptions options);
    ~Server();

    /// Serves until stop(). Remaining members then see their connection end.
    void run();
    /// Ends run(). Thread-safe and async-signal-safe.
    void stop() noexcept;

    uint16_t port() const;
    /// TCP port of the metrics; 0 with a UNIX socket or without metrics.
    uint16_t metrics_port() const;

    class Impl;

  private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace qpx::service
