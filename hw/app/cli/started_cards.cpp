// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/started_cards.h"

#include <fmt/format.h>

#include "app/cli/error.h"

namespace dingo::cli {
namespace {

void stop_unless_used(const CardEntry& card) {
    const CardEntry now = look_at(card.name);
    if (!now.running())
        return;
    const Json clients = ask(now, {{"cmd", "stats"}}).value("clients", Json::array());
    if (clients.empty())
        stop_card(now);
    else
        fmt::print(stderr,
                   "dingo: card {} keeps running, as another program uses it; to stop it: dingo "
                   "card stop {}\n",
                   card.name, card.name);
}

}  // namespace

StartedCards::~StartedCards() {
    try {
        const UniqueFd lock = lock_run_dir();
        for (const CardEntry& card : started_)
            stop_unless_used(card);
    } catch (const Error& e) {
        fmt::print(stderr, "dingo: {}\n", e.what());
    }
}

CardEntry StartedCards::bring(const std::string& name, StartOptions options) {
    if (name.find('/') != name.npos)
        return shared_card(name, false);
    if (CardEntry card = look_at(name); card.running())
        return card;
    options.name = name;
    started_.push_back(start_card(options));
    return started_.back();
}

}  // namespace dingo::cli
