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
#include "monotonic_clock.h"

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
    more |= host_.settle(now);
    if (!more && !idle_) {
        idle_since_ = now;
    }
    idle_ = !more;
    return more;
}

Nanoseconds ServedCard::next_deadline() const {
    return std::min(card_.next_deadline(), host_.next_deadline());
}

bool ServedCard::prepare_sleep(Nanoseconds now) {
    if (asleep_) {
        return !wire_.kicked();
    }
    asleep_ = card_.prepare_sleep(now);
    if (!asleep_) {
        idle_ = false;  // what keeps it awake is told only once
    }
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
        due_ = next_deadline();
    }
    if (wire_.kicked() || due_ <= now) {
        woke();
    }
    return asleep_;
}

void ServedCard::watch(Poller& poller) {
    poller_ = &poller;
    polls_.emplace(poller, [this] { touched(); });
    try {
        watch_wire();
        host_.watch(*polls_);
        if (control_) {
            control_->watch(*polls_);
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
    if (control_) {
        control_->unwatch();
    }
    host_.unwatch();
    unwatch_sender();
    poller_->remove(std::exchange(wire_id_, 0));
    wire_fd_ = -1;
    polls_.reset();
    poller_ = nullptr;
}

/// Not in the group: while the card polls the wire itself, its readiness is no news.
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
        if (all || asleep_) {  // in a round it sends what it can
            watch_sender();
        }
    } catch (const ErrnoError& error) {
        log::debug("a wire cannot be watched: {}", std::strerror(error.code()));
        card_.wire_readable();  // looked at in each round instead
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
    unwatch_sender();  // the wire may close that descriptor now, and another may get its number
    idle_ = false;     // what comes may give the engine work
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
        wire_.set_faults(request.at("spec").get<std::string>());
        return {{"wire", wire_.describe()}};
    }
    if (command == "link") {
        card_.set_link(request.at("up").get<bool>());
        return {{"up", card_.link()}};
    }
    if (hooks_.command) {
        if (auto answer = hooks_.command(request)) {
            return std::move(*answer);
        }
        throw std::invalid_argument("cmd is one of stats, faults, link, stop, adopt");
    }
    throw std::invalid_argument("cmd is one of stats, faults, link");
}

nlohmann::json ServedCard::stats() const {
    nlohmann::json all;
    all["engine"] = card_.engine_name();
    all["link"] = card_.link();
    all["wire_description"] = wire_.describe();
    for_each_counter(wire_.stats(),
                     [&](const char* name, std::uint64_t v) { all["wire"][name] = v; });
    host_.add_stats(all);
    const CardStats& card = card_.stats();
    all["card"] = {{"link_down_drops", card.link_down_drops},
                   {"trapped_reads", card.trapped_reads},
                   {"trapped_writes", card.trapped_writes}};
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
                            {"active_pages", scanner->active_pages()}};
    }
    if (hooks_.stats) {
        hooks_.stats(all);
    }
    return all;
}

}  // namespace dingo
