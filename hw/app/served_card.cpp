// SPDX-License-Identifier: BSD-2-Clause
#include "served_card.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/errno_error.h"
#include "base/log.h"
#include "base/monotonic_clock.h"

namespace dingo {
namespace {

/// Longer than an active peer or program takes to answer.
constexpr Nanoseconds kSleepsAfter = 1'000'000;

}  // namespace

ServedCard::ServedCard(const std::string& control, Card& card, HostAttachment& host, Wire& wire,
                       Hooks hooks, int log)
    : card_(card), host_(host), wire_(wire), hooks_(std::move(hooks)), log_(log) {
    if (!control.empty()) {
        control_ = std::make_unique<ControlServer>(
            control, [this](const nlohmann::json& request) { return this->control(request); });
    }
}

bool ServedCard::round(Nanoseconds now) {
    set_log(log_);
    bool more = card_.poll(now);
    if (control_loop_ == nullptr) {
        more |= host_.settle(now);
    } else if (host_.pending(now)) {
        ask_control();
    }
    if (!more && !idle_) {
        idle_since_ = now;
    }
    idle_ = !more;
    return more;
}

/// Delivers events to programs without a thread switch, unless the control thread is working.
void ServedCard::ask_control() {
    bool more = true;
    if (const auto turn = control_loop_->try_turn(); turn.owns_lock()) {
        more = host_.deliver();
    }
    if (more) {
        control_loop_->wake();
    }
}

Nanoseconds ServedCard::next_deadline() const {
    return control_loop_ == nullptr ? std::min(card_.next_deadline(), host_.next_deadline())
                                    : card_.next_deadline();
}

bool ServedCard::prepare_sleep(Nanoseconds now) {
    if (asleep_) {
        return !wire_.kicked();
    }
    asleep_ = card_.prepare_sleep(now);
    if (!asleep_) {
        idle_ = false;  // the reason that keeps it awake is reported only once
    }
    due_ = next_deadline();
    return asleep_;
}

void ServedCard::woke() {
    if (asleep_) {
        asleep_ = false;
        idle_ = false;
        unwatch_sender();
        card_.woke();
    }
}

bool ServedCard::sleeps_on(Nanoseconds now) {
    if (!asleep_) {
        if (!idle_ || now - idle_since_ < kSleepsAfter || !prepare_sleep(now)) {
            return false;
        }
    }
    if (wire_.kicked() || due_ <= now) {
        woke();
    }
    return asleep_;
}

void ServedCard::visited() {
    if (asleep_ && card_.engine_due()) {
        const int log = current_log();
        set_log(log_);
        card_.run_engine();
        set_log(log);
    }
}

bool ServedCard::wakes() {
    if (asleep_ && !card_.engine_due() && card_.next_deadline() >= due_ && !wire_.kicked() &&
        wire_is_watched()) {
        return false;
    }
    woke();
    return true;
}

void ServedCard::watch_host_in(PollGroup& polls) {
    host_.watch(polls);
    if (control_) {
        control_->watch(polls);
    }
}

void ServedCard::watch_host(Poller& poller, ControlLoop& control) {
    control_loop_ = &control;
    host_polls_.emplace(poller, [this] { visit(); });
    try {
        watch_host_in(*host_polls_);
    } catch (...) {
        unwatch_host();
        throw;
    }
}

void ServedCard::unwatch_host() {
    if (control_) {
        control_->unwatch();
    }
    host_.unwatch();
    host_polls_.reset();
}

bool ServedCard::settle(Nanoseconds now) {
    set_log(log_);
    return host_.settle(now);
}

void ServedCard::visit() {
    set_log(log_);
    card_.host_asks(clock_now());
}

void ServedCard::watch(Poller& poller) {
    poller_ = &poller;
    polls_.emplace(poller, [this] { touched(); });
    card_.set_kick_polls(&*polls_);
    try {
        watch_wire();
        if (control_loop_ == nullptr) {
            watch_host_in(*polls_);
        }
    } catch (...) {
        unwatch();
        throw;
    }
}

void ServedCard::unwatch() {
    if (poller_ == nullptr) {
        return;
    }
    if (control_loop_ == nullptr) {
        unwatch_host();
    }
    card_.set_kick_polls(nullptr);
    unwatch_sender();
    poller_->remove(std::exchange(wire_id_, 0));
    wire_fd_ = -1;
    polls_.reset();
    poller_ = nullptr;
}

/// Not in the group: while the card polls the wire itself, its readiness is ignored.
void ServedCard::watch_wire() {
    const int fd = wire_.fd();
    if (fd != wire_fd_) {
        poller_->remove(std::exchange(wire_id_, 0));
        wire_fd_ = -1;
        wire_id_ = poller_->add(fd, EPOLLIN, *this);
        wire_fd_ = fd;
    }
}

void ServedCard::watch_sender() {
    const int fd = wire_.tx_blocked_fd();
    if (fd < 0 || sender_.id != 0) {
        return;
    }
    if (fd == wire_fd_) {
        poller_->change(wire_id_, EPOLLIN | EPOLLOUT);
        sender_.id = wire_id_;
    } else {
        sender_.id = poller_->add(fd, EPOLLOUT, sender_);
    }
}

bool ServedCard::wire_is_watched() const {
    return wire_.fd() == wire_fd_ && (wire_.tx_blocked_fd() < 0 || sender_.id != 0);
}

void ServedCard::unwatch_sender() {
    if (sender_.id == 0) {
        return;
    }
    if (sender_.id == wire_id_) {
        poller_->change(wire_id_, EPOLLIN);
    } else {
        poller_->remove(sender_.id);
    }
    sender_.id = 0;
}

bool ServedCard::before_wait(bool all) {
    wire_counts_ = all || asleep_ || !wire_.polled();
    try {
        watch_wire();
        if (all || asleep_) {  // an awake card sends in its rounds
            watch_sender();
        }
    } catch (const ErrnoError& error) {
        log::debug("cannot watch a wire with epoll, so it is polled: {}",
                   std::strerror(error.code()));
        card_.wire_readable();  // polled in each round instead
        return false;
    }
    return true;
}

void ServedCard::after_wait() {
    if (!asleep_) {
        unwatch_sender();
    }
}

void ServedCard::ready(std::uint32_t events) {
    if (!wire_counts_) {
        return;
    }
    touched();
    if ((events & ~std::uint32_t{EPOLLOUT}) != 0) {
        card_.wire_readable();
    }
    if ((events & EPOLLOUT) != 0) {
        wire_.flush();
    }
}

void ServedCard::Sender::ready(std::uint32_t /*events*/) {
    card.touched();
    card.wire_.flush();
}

void ServedCard::touched() {
    set_log(log_);
    woke();
    unwatch_sender();  // the wire may close that descriptor now, and its number may be reused
    idle_ = false;     // the event may give work to the engine
    card_.advance(clock_now());
}

void ServedCard::stop() {
    set_log(log_);
    host_.stop();
}

nlohmann::json ServedCard::control(const nlohmann::json& request) {
    const auto command = request.value("cmd", std::string());
    if (command == "stats") {
        return stats();
    }
    if (command == "faults") {
        const auto spec = request.at("spec").get<std::string>();
        return without_direct([&]() -> nlohmann::json {
            nlohmann::json answer{{"wire", card_.gate()->run([&] {
                                       wire_.set_faults(spec);
                                       return wire_.describe();
                                   })}};
            disturbed_ = !spec.empty();
            return answer;
        });
    }
    if (command == "link") {
        const bool up = request.at("up").get<bool>();
        return without_direct([&]() -> nlohmann::json {
            return {{"up", card_.gate()->run([&] {
                         card_.set_link(up);
                         return card_.link();
                     })}};
        });
    }
    if (hooks_.command) {
        if (auto answer = hooks_.command(request)) {
            return std::move(*answer);
        }
        throw std::invalid_argument(
            "cmd is one of stats, faults, link, stop, adopt, abandon, stay");
    }
    throw std::invalid_argument("cmd is one of stats, faults, link");
}

nlohmann::json ServedCard::without_direct(const std::function<nlohmann::json()>& change) {
    const auto decide = [this] {
        host_.set_direct(!disturbed_ && card_.gate()->run([this] { return card_.link(); }));
    };
    host_.set_direct(false);
    try {
        nlohmann::json answer = change();
        decide();
        return answer;
    } catch (...) {  // nothing has changed
        decide();
        throw;
    }
}

nlohmann::json ServedCard::stats() const {
    nlohmann::json all;
    host_.add_stats(all);
    card_.gate()->run([&] { add_card_stats(all); });
    if (hooks_.stats) {
        hooks_.stats(all);
    }
    return all;
}

void ServedCard::add_card_stats(nlohmann::json& all) const {
    all["engine"] = card_.engine_name();
    all["link"] = card_.link();
    all["wire_description"] = wire_.describe();
    for_each_counter(wire_.stats(),
                     [&](const char* name, std::uint64_t v) { all["wire"][name] = v; });
    const CardStats& card = card_.stats();
    all["card"] = {{"link_down_drops", card.link_down_drops},
                   {"trapped_reads", card.trapped_reads},
                   {"trapped_writes", card.trapped_writes},
                   {"visits", card_.gate()->visits()}};
    if (const auto clock = card_.simulated_clock()) {
        all["simulation"] = {
            {"clock_cycles", clock->cycles},
            {"busy_ns", clock->busy},
            {"processor_ns", clock->processor},
            {"clock_khz", clock->busy == 0 ? 0.0
                                           : 1e6 * static_cast<double>(clock->cycles) /
                                                 static_cast<double>(clock->busy)}};
    }
    if (loop_stats_ != nullptr) {
        all["card"]["crowded"] = loop_stats_->crowded;
        all["card"]["naps"] = loop_stats_->naps;
        all["card"]["sleeps"] = loop_stats_->sleeps;
    }
    if (const DoorbellScanner* scanner = card_.scanner()) {
        const DoorbellStats& d = scanner->stats();
        all["doorbells"] = {{"rings", d.rings},
                            {"kicks", d.kicks},
                            {"sweeps", d.sweeps},
                            {"activated", d.activated},
                            {"active_pages", scanner->active_pages()},
                            {"watched", scanner->watched()}};
    }
}

}  // namespace dingo
