// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <poll.h>

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "card.h"
#include "control.h"
#include "host/attachment.h"
#include "wire/wire.h"

namespace dingo {

/// What a loop counts for all cards that it serves.
struct LoopStats {
    bool crowded = false;      ///< the thread has to wait for a processor
    std::uint64_t naps = 0;    ///< see IdlePolicy
    std::uint64_t sleeps = 0;  ///< likewise
};

/// A card with its host, its wire and its control socket, as a loop serves it.
class ServedCard {
  public:
    /// What the control socket answers beyond the card's own.
    struct Hooks {
        /// A command that is none of the card's; nullopt: nor is it known here.
        std::function<std::optional<nlohmann::json>(const nlohmann::json& request)> command;
        /// Adds to the answer to {"cmd":"stats"}.
        std::function<void(nlohmann::json& all)> stats;
    };

    /// Opens the control socket at the path `control`, "": none; throws std::runtime_error for the
    /// user. The others outlive this. Log lines of its rounds go to the descriptor `log`.
    ServedCard(const std::string& control, Card& card, HostAttachment& host, Wire& wire,
               Hooks hooks = {}, int log = STDERR_FILENO);

    /// One fair round of the card and of its host. True: more to do at once.
    bool round(Nanoseconds now);
    /// When round() must be called though no input arrives.
    [[nodiscard]] Nanoseconds next_deadline() const;
    /// As Card::prepare_sleep() and Card::woke(); a card may sleep already. One that may not has a
    /// round before sleeps_on() lets it.
    [[nodiscard]] bool prepare_sleep(Nanoseconds now);
    void woke();
    /// While others of its loop are busy, a card that has had nothing to do for a while sleeps: its
    /// rounds would cost them time. True: it does, until something is for it.
    [[nodiscard]] bool sleeps_on(Nanoseconds now);

    /// Appends what to poll, and remembers where. `all`: also what a card that is awake looks at
    /// itself.
    void add_polls(std::vector<pollfd>& polls, bool all);
    /// After poll(): the same vector, with its events.
    void service(std::span<const pollfd> polls, Nanoseconds now);

    /// Of the loop that serves it.
    void set_loop_stats(const LoopStats* stats) { loop_stats_ = stats; }
    void set_crowded(bool crowded) { host_.set_crowded(crowded); }
    /// Switches the card off in order.
    void stop();

  private:
    nlohmann::json control(const nlohmann::json& request);
    [[nodiscard]] nlohmann::json stats() const;

    Card& card_;
    HostAttachment& host_;
    Wire& wire_;
    Hooks hooks_;
    int log_;
    std::unique_ptr<ControlServer> control_;
    const LoopStats* loop_stats_ = nullptr;
    bool asleep_ = false;
    Nanoseconds due_ = kNever;  // of a card that sleeps
    bool idle_ = false;         // its last round found nothing, and nothing has come since
    Nanoseconds idle_since_ = 0;
    // Of the last add_polls().
    std::size_t wire_at_ = 0;
    std::size_t host_at_ = 0;
    std::size_t control_at_ = 0;
    std::size_t end_at_ = 0;
};

}  // namespace dingo
