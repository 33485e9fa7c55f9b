// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <poll.h>

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "card.h"
#include "control.h"
#include "idle_policy.h"
#include "unix_socket.h"
#include "vfio_user/server.h"
#include "wire/wire.h"

namespace dingo::card {

/// What the program does until it is told to stop: one thread that gives the card, its host and
/// its wire their turns, and sleeps in poll() when none has work.
class CardLoop {
  public:
    struct Options {
        std::string vfio_user;  ///< path of the socket for QEMU
        std::string control;    ///< path of the control socket; "" = none
        IdlePolicy::Limits idle;
    };

    /// Opens the sockets; throws std::runtime_error for the user. `stop_fd` becomes readable when
    /// run() shall return (a signalfd). The others outlive the loop.
    CardLoop(const Options& options, Card& card, vfio_user::Server& server, Wire& wire,
             int stop_fd);

    /// Until stop_fd is readable.
    void run();

  private:
    /// Waits at most `timeout` (kNever: until something happens) and serves what is ready.
    void wait(Nanoseconds timeout);
    void accept_client();
    nlohmann::json control(const nlohmann::json& request);
    [[nodiscard]] nlohmann::json stats() const;

    Card& card_;
    vfio_user::Server& server_;
    Wire& wire_;
    int stop_fd_;
    UnixListener listener_;
    std::unique_ptr<ControlServer> control_;
    IdlePolicy idle_;
    std::vector<pollfd> polls_;
    std::uint64_t naps_ = 0;
    std::uint64_t sleeps_ = 0;
    bool stop_ = false;
};

}  // namespace dingo::card
