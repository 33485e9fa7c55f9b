// SPDX-License-Identifier: BSD-2-Clause
// Implementation of Listener: accepts clients from an acceptor and completes their handshakes.
#pragma once
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/readiness.h"
#include "peer/handshake.h"
#include "qpx/peer.h"

namespace qpx {

class Listener::Impl {
  public:
    Impl(std::unique_ptr<net::Acceptor> acceptor, const PeerOptions& options);

    Connection accept(std::chrono::milliseconds timeout);
    std::optional<Connection> try_accept();
    void cancel() noexcept { interrupt_.cancel(); }
    int fd() const { return readiness_.fd(); }
    std::vector<std::string> turned_away() { return std::exchange(told_, {}); }
    const net::Acceptor& acceptor() const { return *acceptor_; }

  private:
    struct Pending {
        peer::Handshake handshake;
        net::Deadline deadline;
        std::string address;
        net::Want want;
        net::Want watched;  ///< readiness that fd() watches for
    };

    void tell(const std::string& address, const std::string& what);
    void take_connections();
    /// Advances each handshake by a step. Returns the first that is complete.
    std::optional<peer::Session> step_all();
    void drop_slow();
    bool paused();
    /// Updates what fd() waits for: clients, each handshake's next step and its deadline.
    void watch();

    PeerOptions options_;
    net::TlsFiles tls_;
    std::unique_ptr<net::Acceptor> acceptor_;
    std::list<Pending> pending_;
    std::vector<std::string> told_;
    net::Interrupt interrupt_;
    net::Readiness readiness_;
    std::optional<net::Clock::time_point> resume_;
    bool short_of_descriptors_ = false;
    bool taking_ = false;
};

}  // namespace qpx
