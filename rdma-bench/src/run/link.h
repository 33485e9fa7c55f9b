// SPDX-License-Identifier: BSD-2-Clause
// What the two programs say to each other beside the messages that they measure: JSON texts over a
// qpx connection.
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

/// Ctrl-C and SIGTERM, from the first call on: they no longer end the process but are seen here.
class Interrupt {
  public:
    static Interrupt& instance();
    [[nodiscard]] bool seen() const;
    [[nodiscard]] int fd() const { return fd_; }  ///< readable from the first signal on
    /// Counts signals: a second one means that the user does not want to wait.
    [[nodiscard]] int count() const;

  private:
    Interrupt();
    int fd_;
};

class Link {
  public:
    /// The server waits for a client as long as it takes, the client connects.
    /// @throws RunError(kPeer) with what to do, RunError(kInterrupted)
    static Link open(const Options& options);
    /// The server waits for `options.clients`, as long as it takes; each is told as it comes.
    /// @param more asked while it waits; false: give up waiting
    /// @throws as open()
    static void accept_all(const Options& options, const std::function<void(Link)>& came,
                           const std::function<bool()>& more);

    Link(qpx::Connection connection, std::chrono::milliseconds timeout);
    ~Link();
    Link(Link&&) noexcept;

    /// `type` says what it is; the rest is the message.
    void send(const std::string& type, nlohmann::json message);
    /// The next message, which must be of this type. Waits for ever unless `timed`; looks for
    /// Ctrl-C.
    /// @throws RunError: the peer gave up (its words), is gone, or said something else;
    /// kInterrupted
    nlohmann::json expect(const std::string& type, bool timed = true);
    /// The next message, of one of these types; waits for ever. @throws as expect()
    nlohmann::json expect_any(const std::vector<std::string>& types);
    /// The next message of that type when it is here already. @throws as expect()
    std::optional<nlohmann::json> look(const std::string& type);
    /// Likewise, of one of these types.
    std::optional<nlohmann::json> look_any(const std::vector<std::string>& types);
    /// Tells the peer why this side ends early. Never throws.
    void give_up(const std::string& reason, bool interrupted) noexcept;

    qpx::Connection& connection() { return connection_; }
    [[nodiscard]] int fd() const { return connection_.fd(); }

  private:
    /// One message when there is one.
    std::optional<nlohmann::json> take();
    qpx::Connection connection_;
    std::chrono::milliseconds timeout_;
};

}  // namespace rdma_bench
