// SPDX-License-Identifier: BSD-2-Clause
#include "card_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "base/regular_file.h"
#include "control.h"

namespace dingo {
namespace {

/// Parses the command line of {"cmd":"adopt","args":["--uverbs", ...]}.
Options options_of(const nlohmann::json& request) {
    auto words = request.at("args").get<std::vector<std::string>>();
    words.insert(words.begin(), "dingo-card");
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    Exit exit;
    auto options = parse_options(static_cast<int>(words.size()), argv.data(), exit);
    if (!options) {
        throw std::invalid_argument(exit.error.empty() ? "adopt: the options do not describe a card"
                                                       : exit.error);
    }
    return std::move(*options);
}

UniqueFd open_log(const std::string& directory) {
    const std::string path = directory + "/log";
    UniqueFd log = open_regular(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
    if (!log) {
        throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
    }
    return log;
}

}  // namespace

std::string needs_own_process(const Options& o) {
    if (o.ctl || o.uverbs.directory.empty()) {
        return "it is not a card for applications of this machine (--uverbs)";
    }
    const std::string wire = o.wire.wire.substr(0, o.wire.wire.find_first_of(":,"));
    if (wire != "shm" && wire != "roce") {
        return "its wire is neither shm nor roce";
    }
    if (o.engine != "model") {
        return "its engine is not the model";
    }
    if (o.uverbs.share) {
        return "other users share it";
    }
    return o.tuned ? "it has tuning options of its own" : "";
}

void CardProcess::start(Options options, UniqueFd log) {
    adopts_ |= cards_.empty() && options.adopt;
    options.wire.local = &segments_;
    const std::string name = options.uverbs.name;
    ServedCard::Hooks hooks{
        [this, name](const nlohmann::json& request) { return command(name, request); },
        [this](nlohmann::json& all) {
            all["process"] = {{"pid", ::getpid()}, {"cards", nlohmann::json::array()}};
            for (const auto& card : cards_) {
                all["process"]["cards"].push_back(card.name());
            }
        }};
    KernelLessCard& card =
        cards_.emplace_back(std::move(options), gate_, std::move(hooks), std::move(log));
    try {
        control_.add(card.served());
        data_.add(card.served());
        card.publish();
    } catch (...) {
        control_.remove(card.served());
        data_.remove(card.served());
        cards_.pop_back();
        throw;
    }
}

void CardProcess::serve_data() noexcept {
    ::pthread_setname_np(::pthread_self(), "dingo-data");
    try {
        data_.run();
    } catch (...) {
        failure_ = std::current_exception();
    }
    control_.end();
}

void CardProcess::run() {
    std::thread data([this] { serve_data(); });
    try {
        control_.run();
    } catch (...) {
        data_.end();
        data.join();
        throw;
    }
    data_.end();
    data.join();
    if (failure_) {
        std::rethrow_exception(failure_);
    }
}

std::optional<nlohmann::json> CardProcess::command(const std::string& card,
                                                   const nlohmann::json& request) {
    const auto command = request.value("cmd", std::string());
    if (command == "stop") {
        return stop(card);
    }
    if (command == "adopt") {
        return adopt(request);
    }
    if (command == "abandon") {
        return stop(request.at("card").get<std::string>());
    }
    if (command == "stay") {
        ::prctl(PR_SET_PDEATHSIG, 0);  // the signal is set for this thread, as the child of the
                                       // starter
        return nlohmann::json::object();
    }
    return std::nullopt;
}

nlohmann::json CardProcess::adopt(const nlohmann::json& request) {
    if (!adopts_) {
        throw std::invalid_argument(
            "this process accepts no further cards: it was started without --adopt");
    }
    if (stopping_ >= cards_.size()) {
        throw std::runtime_error("this process is stopping");
    }
    Options options = options_of(request);
    if (const std::string why = needs_own_process(options); !why.empty()) {
        throw std::invalid_argument("the card needs a process of its own: " + why);
    }
    const std::string name = options.uverbs.name;
    if (std::any_of(cards_.begin(), cards_.end(),
                    [&](const auto& c) { return c.name() == name; })) {
        throw std::invalid_argument("this process has a card of that name");
    }
    options.adopt = true;
    UniqueFd log = open_log(options.uverbs.directory);
    start(std::move(options), std::move(log));
    ::prctl(PR_SET_PDEATHSIG, 0);  // a card of another starter must not end with ours
    return {{"pid", ::getpid()}, {kUndo, {{"cmd", "abandon"}, {"card", name}}}};
}

/// Stops a card after the answer was sent; the process ends with its last card.
nlohmann::json CardProcess::stop(const std::string& name) {
    ++stopping_;
    control_.later([this, name] {
        const auto card = std::find_if(cards_.begin(), cards_.end(),
                                       [&](const auto& c) { return c.name() == name; });
        --stopping_;
        if (card == cards_.end()) {
            return;  // requested twice
        }
        control_.remove(card->served());
        data_.remove(card->served());
        cards_.erase(card);
        if (cards_.empty()) {
            control_.end();
        }
    });
    return {{"last", stopping_ >= cards_.size()}};
}

}  // namespace dingo
