// SPDX-License-Identifier: BSD-2-Clause
// Clients from wherever an acceptor has them, in their handshakes until they are done.
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
        net::Want watched;  ///< as fd() watches it
    };

    void tell(const std::string& address, const std::string& what);
    void take_connections();
    /// Advances each handshake by a step; returns the first that is done.
    std::optional<peer::Session> step_all();
    void drop_slow();
    bool paused();
    /// What fd() waits for: clients, the next step of each handshake, the end of its time.
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
