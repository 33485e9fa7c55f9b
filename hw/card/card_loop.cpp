// SPDX-License-Identifier: BSD-2-Clause
#include "card_loop.h"

#include <signal.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace dingo::card {
namespace {

/// A busy card looks at its sockets this often.
constexpr Nanoseconds kBusyPollEvery = 10'000;

Nanoseconds clock_now() {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<Nanoseconds>(t.tv_sec) * 1'000'000'000 + static_cast<Nanoseconds>(t.tv_nsec);
}

}  // namespace

CardLoop::CardLoop(const Options& options, Card& card, HostAttachment& host, Wire& wire,
                   int stop_fd)
    : card_(card), host_(host), wire_(wire), stop_fd_(stop_fd), idle_(options.idle) {
    if (!options.control.empty()) {
        control_ = std::make_unique<ControlServer>(
            options.control, [this](const nlohmann::json& request) { return control(request); });
    }
}

void CardLoop::run() {
    Nanoseconds last_wait = 0;
    Nanoseconds idle_since = 0;
    bool idle = false;
    while (!stop_) {
        const Nanoseconds now = clock_now();
        bool more = card_.poll(now);
        more |= host_.settle(now);
        if (pressure_.sample(now)) {
            host_.set_crowded(pressure_.crowded());
        }
        if (more) {
            idle = false;
            if (now - last_wait >= kBusyPollEvery) {
                last_wait = now;
                wait(0);
            }
            continue;
        }
        if (!idle) {
            idle = true;
            idle_since = now;
        }
        const Nanoseconds due = std::min(card_.next_deadline(), host_.next_deadline());
        const Nanoseconds until_due = due == kNever ? kNever : due - std::min(due, now);
        switch (idle_.act(now - idle_since)) {
            case IdlePolicy::Act::kSpin:
                if (now - last_wait >= kBusyPollEvery) {
                    last_wait = now;
                    wait(0);
                }
                continue;
            case IdlePolicy::Act::kNap:
                ++naps_;
                last_wait = now;
                wait(std::min(until_due, IdlePolicy::nap_length(now - idle_since)));
                continue;
            case IdlePolicy::Act::kSleep:
                break;
        }
        idle = false;
        if (!card_.prepare_sleep(now)) {
            // Whatever keeps the card awake, the host is served.
            if (now - last_wait >= kBusyPollEvery) {
                last_wait = now;
                wait(0);
            }
            continue;
        }
        ++sleeps_;
        last_wait = now;
        wait(until_due);
        card_.woke();
        idle_.slept(clock_now() - now);
    }
    host_.stop();
}

void CardLoop::wait(Nanoseconds timeout) {
    polls_.clear();
    polls_.push_back({stop_fd_, POLLIN, 0});
    polls_.push_back({wire_.fd(), POLLIN, 0});
    polls_.push_back({wire_.tx_blocked_fd(), POLLOUT, 0});
    const std::size_t host_at = polls_.size();
    host_.add_polls(polls_);
    const std::size_t control_at = polls_.size();
    if (control_) {
        control_->add_polls(polls_);
    }
    const timespec time{static_cast<time_t>(timeout / 1'000'000'000),
                        static_cast<long>(timeout % 1'000'000'000)};
    const int ready =
        ::ppoll(polls_.data(), polls_.size(), timeout == kNever ? nullptr : &time, nullptr);
    if (ready <= 0) {
        return;
    }
    stop_ = polls_[0].revents != 0;
    const std::span<const pollfd> polls(polls_);
    host_.service(polls.subspan(host_at, control_at - host_at));
    if (polls[1].revents != 0) {
        card_.wire_readable();
    }
    if (polls[2].revents != 0) {
        wire_.flush();
    }
    if (control_) {
        control_->service(polls.subspan(control_at));
    }
}

nlohmann::json CardLoop::control(const nlohmann::json& request) {
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
    throw std::invalid_argument("cmd is one of stats, faults, link");
}

nlohmann::json CardLoop::stats() const {
    nlohmann::json all;
    all["engine"] = card_.engine_name();
    all["link"] = card_.link();
    all["cable"] = wire_.describe();
    for_each_counter(wire_.stats(),
                     [&](const char* name, std::uint64_t v) { all["wire"][name] = v; });
    host_.add_stats(all);
    const CardStats& card = card_.stats();
    all["card"] = {{"link_down_drops", card.link_down_drops},
                   {"trapped_reads", card.trapped_reads},
                   {"trapped_writes", card.trapped_writes},
                   {"crowded", pressure_.crowded()},
                   {"naps", naps_},
                   {"sleeps", sleeps_}};
    if (const DoorbellScanner* scanner = card_.scanner()) {
        const DoorbellStats& d = scanner->stats();
        all["doorbells"] = {{"rings", d.rings},
                            {"kicks", d.kicks},
                            {"sweeps", d.sweeps},
                            {"activated", d.activated},
                            {"active_pages", scanner->active_pages()}};
    }
    return all;
}

}  // namespace dingo::card
