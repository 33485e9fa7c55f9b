// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <poll.h>

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "card.h"
#include "control.h"
#include "cpu_pressure.h"
#include "host_attachment.h"
#include "idle_policy.h"
#include "wire/wire.h"

namespace dingo::card {

/// What the program does until it is told to stop: one thread that gives the card, its host and
/// its wire their turns, and sleeps in poll() when none has work.
class CardLoop {
  public:
    struct Options {
        std::string control;  ///< path of the control socket; "" = none
        IdlePolicy::Limits idle;
    };

    /// Opens the control socket; throws std::runtime_error for the user. `stop_fd` becomes readable
    /// when run() shall return (a signalfd). The others outlive the loop.
    CardLoop(const Options& options, Card& card, HostAttachment& host, Wire& wire, int stop_fd);

    /// Until stop_fd is readable.
    void run();

  private:
    /// Waits at most `timeout` (kNever: until something happens) and serves what is ready.
    void wait(Nanoseconds timeout);
    nlohmann::json control(const nlohmann::json& request);
    [[nodiscard]] nlohmann::json stats() const;

    Card& card_;
    HostAttachment& host_;
    Wire& wire_;
    int stop_fd_;
    std::unique_ptr<ControlServer> control_;
    IdlePolicy idle_;
    CpuPressure pressure_;
    std::vector<pollfd> polls_;
    std::uint64_t naps_ = 0;
    std::uint64_t sleeps_ = 0;
    bool stop_ = false;
};

}  // namespace dingo::card
