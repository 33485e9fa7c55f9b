// SPDX-License-Identifier: BSD-2-Clause
//
// dingo p2p: shows whether other devices can access the memory of the cards on this machine's PCI
// bus, and their accesses.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/cli/cards.h"
#include "app/cli/commands.h"
#include "app/cli/error.h"
#include "app/cli/p2p_cards.h"
#include "app/cli/p2p_report.h"
#include "app/cli/table.h"

namespace dingo::cli {
namespace {

/// Tests replace / by another tree.
std::filesystem::path root() {
    const char* const other = std::getenv("DINGO_P2P_ROOT");
    return other == nullptr ? "/" : other;
}

Json json_of(const P2pCard& card) {
    Json one{{"card", card.address},      {"device", card.device}, {"p2p", card.state},
             {"memory", card.memory},     {"bar", card.bar},       {"free", card.free},
             {"advice", p2p_advice(card)}};
    one["users"] = Json::array();
    for (const P2pUser& user : card.users)
        one["users"].push_back({{"pid", user.pid}, {"name", user.name}, {"bytes", user.bytes}});
    return one;
}

std::vector<P2pCard> asked_for(const KernelFiles& files, const std::string& name) {
    return name.empty() ? p2p_cards(files) : std::vector{p2p_card(files, name)};
}

int query(const std::string& name, bool json) {
    const KernelFiles files(root());
    const auto cards = asked_for(files, name);
    if (json) {
        Json all = Json::array();
        for (const P2pCard& card : cards)
            all.push_back(json_of(card));
        fmt::print("{}\n", all.dump(2));
        return kSuccess;
    }
    if (cards.empty()) {
        fmt::print("no Dingo card on this machine's PCI bus\n");
        return kSuccess;
    }
    Table table({"Card", "Device", "P2P", "Memory", "BAR", "Free"});
    std::string advice;
    for (const P2pCard& card : cards) {
        table.add({card.address, card.device.empty() ? "-" : card.device, card.state,
                   binary_size(card.memory), binary_size(card.bar),
                   card.state == "true" ? binary_size(card.free) : "-"});
        if (const std::string text = p2p_advice(card); !text.empty())
            advice += fmt::format("{}: {}\n", card.address, text);
        for (const P2pUser& user : card.users)
            advice += fmt::format("{}: {} of process {} ({})\n", card.address,
                                  binary_size(user.bytes), user.pid, user.name);
    }
    fmt::print("{}{}", table.text(output_width()), advice);
    return kSuccess;
}

int change(const std::string& name, bool on, bool force, bool json) {
    KernelFiles files(root());
    if (::geteuid() != 0)
        throw Error(fmt::format("only root may switch peer to peer {}: sudo dingo p2p {}",
                                on ? "on" : "off", on ? "enable" : "disable"));
    const P2pCard card = p2p_card(files, name);
    const std::string done = on ? p2p_enable(files, card, force) : p2p_disable(files, card, force);
    if (json)
        fmt::print("{}\n", json_of(p2p_card(files, card.address)).dump(2));
    else
        fmt::print("{}\n", done);
    return kSuccess;
}

int report(const std::string& name, double seconds, bool json) {
    const KernelFiles files(root());
    const auto cards = asked_for(files, name);
    std::vector<P2pRow> rows;
    std::vector<P2pTransfers> before;
    before.reserve(cards.size());
    for (const P2pCard& card : cards)
        before.push_back(seconds > 0 ? p2p_transfers(files, card) : P2pTransfers{});
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    for (std::size_t i = 0; i < cards.size(); ++i)
        add_rows(rows, cards[i], before[i], p2p_transfers(files, cards[i]), seconds);
    fmt::print("{}", json ? report_json(rows).dump(2) + "\n" : report_text(rows, output_width()));
    return kSuccess;
}

struct P2pOptions {
    std::string card;
    bool force = false;
    double seconds = 0;
};

}  // namespace

void add_p2p(CLI::App& app, const Common& common, Action& action) {
    auto options = std::make_shared<P2pOptions>();
    CLI::App* const p2p =
        app.add_subcommand("p2p", "PCIe peer to peer: memory of cards on the PCI bus");
    p2p->require_subcommand(1);
    const auto verb = [&](const char* name, const char* help) {
        CLI::App* const sub = p2p->add_subcommand(name, help);
        sub->add_option("card", options->card,
                        "PCI address or RDMA device (default: all, or the only one)");
        return sub;
    };
    verb("query", "Show whether other devices can reach the cards' memory")
        ->callback([&common, &action, options] {
            action = [&common, options] { return query(options->card, common.json); };
        });
    for (const bool on : {true, false}) {
        CLI::App* const sub =
            verb(on ? "enable" : "disable", on ? "Let other devices reach the card's memory"
                                               : "Keep other devices from the card's memory");
        sub->add_flag("-f,--force", options->force,
                      "Remove all devices below the card's root port and rescan the bus, to "
                      "reassign addresses");
        sub->callback([&common, &action, options, on] {
            action = [&common, options, on] {
                return change(options->card, on, options->force, common.json);
            };
        });
    }
    CLI::App* const table =
        verb("report", "Show the transfers of other devices to and from the cards' memory");
    table
        ->add_option("--seconds", options->seconds,
                     "Measure for this time, and show only its transfers, with rates")
        ->check(CLI::Range(0.0, 3600.0));
    table->callback([&common, &action, options] {
        action = [&common, options] {
            return report(options->card, options->seconds, common.json);
        };
    });
}

}  // namespace dingo::cli
