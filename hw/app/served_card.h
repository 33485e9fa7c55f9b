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

/// What a loop counts for all cards that it serves.
struct LoopStats {
    bool crowded = false;      ///< the thread has to wait for a processor
    std::uint64_t naps = 0;    ///< see IdlePolicy
    std::uint64_t sleeps = 0;  ///< sleeps in the kernel
};

/// A card with its host, its wire and its control socket, as a loop serves it.
class ServedCard final : private Pollable {
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

    // For the loop of the card's thread. With a control thread it holds the card's gate.

    /// One fair round of the card and, without a control thread, of its host. True: more to do at
    /// once.
    bool round(Nanoseconds now);
    /// When round() must be called though no input arrives.
    [[nodiscard]] Nanoseconds next_deadline() const;
    /// As Card::prepare_sleep() and Card::woke(); a card may sleep already. One that may not has a
    /// round before sleeps_on() lets it.
    [[nodiscard]] bool prepare_sleep(Nanoseconds now);
    void woke();
    /// A card that has been idle for a while sleeps when other cards of its loop are busy, because
    /// its rounds would cost them time. True: it sleeps until an event is for it.
    [[nodiscard]] bool sleeps_on(Nanoseconds now);

    /// Called by a visitor that holds the gate and is about to leave: a sleeping card then does the
    /// work that the visit brought.
    void visited();
    /// After visited() of all cards, as they may have sent to each other. True: the card is awake
    /// now, or has been, as one that was just added.
    bool wakes();

    /// Its wire and kicks, and without a control thread its host and its control socket are members
    /// of `poller` from now on, until unwatch(). Throws ErrnoError.
    void watch(Poller& poller);
    void unwatch();
    /// Before and after each wait of that poller. `all`: also for what a card that is awake looks
    /// at itself. False: what it waits for cannot be watched now, so the wait must be short.
    [[nodiscard]] bool before_wait(bool all);
    void after_wait();

    /// Counters of the loop that serves this card.
    void set_loop_stats(const LoopStats* stats) { loop_stats_ = stats; }
    void set_crowded(bool crowded) { host_.set_crowded(crowded); }
    /// Switches the card off in order.
    void stop();

    // For the loop of a control thread.

    /// Its host and its control socket are members of `poller` from now on; before watch(). Throws
    /// ErrnoError.
    void watch_host(Poller& poller, ControlLoop& control);
    void unwatch_host();
    /// As the host's.
    bool settle(Nanoseconds now);
    [[nodiscard]] Nanoseconds host_deadline() const { return host_.next_deadline(); }

  private:
    /// The wire takes frames again.
    struct Sender final : Pollable {
        explicit Sender(ServedCard& c) : card(c) {}
        void ready(std::uint32_t events) override;
        ServedCard& card;
        Poller::Id id = 0;  ///< 0: not watched
    };

    /// The wire.
    void ready(std::uint32_t events) override;
    void watch_wire();
    void watch_sender();
    void unwatch_sender();
    /// False after a visitor made it open another descriptor, or gave it more than the kernel took.
    [[nodiscard]] bool wire_is_watched() const;
    /// Something is for this card.
    void touched();
    /// Makes the control thread, or this one in its place, do what is pending.
    void ask_control();
    /// The control thread is about to serve its host or its control socket.
    void visit();
    void watch_host_in(PollGroup& polls);
    nlohmann::json control(const nlohmann::json& request);
    /// Changes the wire or the link while no client carries out requests itself, and decides
    /// whether they may then.
    nlohmann::json without_direct(const std::function<nlohmann::json()>& change);
    [[nodiscard]] nlohmann::json stats() const;
    /// With the gate held.
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
    bool idle_ = false;         // its last round found nothing, and nothing has come since
    Nanoseconds idle_since_ = 0;

    ControlLoop* control_loop_ = nullptr;  ///< null: the card's thread serves the host
    /// descriptors of the host that the control thread polls
    std::optional<PollGroup> host_polls_;
    Poller* poller_ = nullptr;
    std::optional<PollGroup> polls_;
    int wire_fd_ = -1;  ///< the wire's descriptor that poller_ watches; -1: none
    Poller::Id wire_id_ = 0;
    bool wire_counts_ = true;  ///< a ready wire is news; false: the round polls it anyway
    Sender sender_{*this};
};

}  // namespace dingo
