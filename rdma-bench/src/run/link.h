// SPDX-License-Identifier: BSD-2-Clause
// Control connection of the two programs: JSON messages over a qpx connection.
#pragma once
#include <chrono>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "options/options.h"
#include "qpx/peer.h"

namespace rdma_bench {

/// Error text for a message that cannot be read.
constexpr auto kNotOurProtocol =
    "the peer does not follow rdma-bench's protocol: is it another version?";

/// Handler of SIGINT (Ctrl-C) and SIGTERM. From the first call of instance() on these signals do
/// not end the process but are reported here.
class Interrupt {
  public:
    static Interrupt& instance();
    [[nodiscard]] bool seen() const;
    [[nodiscard]] int fd() const { return fd_; }  ///< readable after the first signal
    /// Number of signals: a second one means that the user does not want to wait.
    [[nodiscard]] int count() const;

  private:
    Interrupt();
    int fd_;
};

class Link {
  public:
    /// Client: connects. Server: waits for a client without a time limit.
    /// @throws RunError(kPeer) with what to do, RunError(kInterrupted)
    static Link open(const Options& options);
    /// Server: waits for `options.clients` clients without a time limit.
    /// @param came called for each client
    /// @param more called while waiting; returns false to give up
    /// @throws as open()
    static void accept_all(const Options& options, const std::function<void(Link)>& came,
                           const std::function<bool()>& more);

    Link(qpx::Connection connection, std::chrono::milliseconds timeout);
    ~Link();
    Link(Link&&) noexcept;

    /// Sends a message of this type.
    void send(const std::string& type, nlohmann::json message);
    /// Receives the next message, which must be of this type. Without `timed` there is no timeout.
    /// @throws RunError: the peer gave up (with its reason), is gone, or sent another message;
    /// kInterrupted on Ctrl-C
    nlohmann::json expect(const std::string& type, bool timed = true);
    /// Receives the next message, of one of these types, without a timeout. @throws as expect()
    nlohmann::json expect_any(const std::vector<std::string>& types);
    /// Returns the next message, of this type, if it has arrived. Does not wait. @throws as
    /// expect()
    std::optional<nlohmann::json> look(const std::string& type);
    /// Like look(), for several types.
    std::optional<nlohmann::json> look_any(const std::vector<std::string>& types);
    /// Sends the reason of an early end to the peer. Never throws.
    void give_up(const std::string& reason, bool interrupted) noexcept;

    qpx::Connection& connection() { return connection_; }
    [[nodiscard]] int fd() const { return connection_.fd(); }

  private:
    /// Receives one message if one is queued.
    std::optional<nlohmann::json> take();
    qpx::Connection connection_;
    std::chrono::milliseconds timeout_;
};

}  // namespace rdma_bench
