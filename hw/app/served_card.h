// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/poller.h"
#include "card.h"
#include "control.h"
#include "control_loop.h"
#include "host/attachment.h"
#include "wire/wire.h"

namespace dingo {

/// Counters of a loop for all cards that it serves.
struct LoopStats {
    bool crowded = false;      ///< the thread has to wait for a processor
    std::uint64_t naps = 0;    ///< see IdlePolicy
    std::uint64_t sleeps = 0;  ///< sleeps in the kernel
};

/// A card with its host, its wire and its control socket, as served by a loop.
class ServedCard final : private Pollable {
  public:
    /// Additional commands of the control socket.
    struct Hooks {
        /// Handles a command that is not one of the card's. Returns nullopt if it is unknown here,
        /// too.
        std::function<std::optional<nlohmann::json>(const nlohmann::json& request)> command;
        /// Adds to the answer to {"cmd":"stats"}.
        std::function<void(nlohmann::json& all)> stats;
    };

    /// Opens the control socket at path `control`, none if it is "". The other arguments must
    /// outlive the object. Log lines of the card's rounds go to the descriptor `log`. Throws
    /// std::runtime_error with a text for the user.
    ServedCard(const std::string& control, Card& card, HostAttachment& host, Wire& wire,
               Hooks hooks = {}, int log = STDERR_FILENO);

    // For the loop of the card's thread, which holds the card's gate if there is a control thread:

    /// One fair round of the card and, without a control thread, of its host. Returns true if more
    /// work is pending now.
    bool round(Nanoseconds now);
    /// Time at which round() must be called even without input.
    [[nodiscard]] Nanoseconds next_deadline() const;
    /// As Card::prepare_sleep() and Card::woke(); the card may be asleep already. A card that may
    /// not sleep gets a round before sleeps_on() allows it.
    [[nodiscard]] bool prepare_sleep(Nanoseconds now);
    void woke();
    /// Lets a card that has been idle for a while sleep while other cards of its loop are busy, as
    /// its rounds would cost them time. Returns true if the card sleeps until an event for it.
    [[nodiscard]] bool sleeps_on(Nanoseconds now);

    /// Called by a visitor that holds the gate and is about to leave it: a sleeping card then does
    /// the work that the visit caused.
    void visited();
    /// Called after visited() of all cards, as they may have sent to each other. Returns true if
    /// the card is or was awake, or was just added.
    bool wakes();

    /// Adds its wire and kicks, and without a control thread its host and control socket, to
    /// `poller` until unwatch(). Throws ErrnoError.
    void watch(Poller& poller);
    void unwatch();
    /// Called before and after each wait of that poller. `all`: also watch what an awake card polls
    /// itself. Returns false if something cannot be watched now, so that the wait must be short.
    [[nodiscard]] bool before_wait(bool all);
    void after_wait();

    /// Counters of the loop that serves this card.
    void set_loop_stats(const LoopStats* stats) { loop_stats_ = stats; }
    void set_crowded(bool crowded) { host_.set_crowded(crowded); }
    /// Switches the card off properly.
    void stop();

    // For the loop of a control thread:

    /// Adds its host and control socket to `poller`; call it before watch(). Throws ErrnoError.
    void watch_host(Poller& poller, ControlLoop& control);
    void unwatch_host();
    /// As HostAttachment::settle().
    bool settle(Nanoseconds now);
    [[nodiscard]] Nanoseconds host_deadline() const { return host_.next_deadline(); }

  private:
    /// Sends queued frames when the wire accepts frames again.
    struct Sender final : Pollable {
        explicit Sender(ServedCard& c) : card(c) {}
        void ready(std::uint32_t events) override;
        ServedCard& card;
        Poller::Id id = 0;  ///< 0: not watched
    };

    /// Called when the wire's descriptor is ready.
    void ready(std::uint32_t events) override;
    void watch_wire();
    void watch_sender();
    void unwatch_sender();
    /// Returns false if a visitor has made the wire open another descriptor or queue more than the
    /// kernel took.
    [[nodiscard]] bool wire_is_watched() const;
    /// Called when an event for this card has arrived.
    void touched();
    /// Makes the control thread, or this thread in its place, do pending work.
    void ask_control();
    /// Called before the control thread serves the card's host or control socket.
    void visit();
    void watch_host_in(PollGroup& polls);
    nlohmann::json control(const nlohmann::json& request);
    /// Disables the direct road, changes the wire or the link, and decides whether the direct road
    /// may be enabled again.
    nlohmann::json without_direct(const std::function<nlohmann::json()>& change);
    [[nodiscard]] nlohmann::json stats() const;
    /// Call it with the gate held.
    void add_card_stats(nlohmann::json& all) const;

    Card& card_;
    HostAttachment& host_;
    Wire& wire_;
    Hooks hooks_;
    int log_;
    std::unique_ptr<ControlServer> control_;
    bool disturbed_ = false;  ///< the wire has faults
    const LoopStats* loop_stats_ = nullptr;
    bool asleep_ = false;
    Nanoseconds due_ = kNever;  // deadline of a sleeping card
    bool idle_ = false;         // the last round found nothing, and nothing has arrived since
    Nanoseconds idle_since_ = 0;

    ControlLoop* control_loop_ = nullptr;  ///< null if the card's thread serves the host
    /// descriptors of the host that the control thread polls
    std::optional<PollGroup> host_polls_;
    Poller* poller_ = nullptr;
    std::optional<PollGroup> polls_;
    int wire_fd_ = -1;  ///< the wire's descriptor that poller_ watches; -1: none
    Poller::Id wire_id_ = 0;
    bool wire_counts_ = true;  ///< true if a ready wire must be handled; false if the round polls
                               ///< it anyway
    Sender sender_{*this};
};

}  // namespace dingo
