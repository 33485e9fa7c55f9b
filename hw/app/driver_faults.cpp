// SPDX-License-Identifier: BSD-2-Clause
#include "driver_faults.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

namespace dingo {
namespace {

constexpr std::uint64_t kMostMilliseconds = 3'600'000;

/// Parses an integer up to `most`, decimal or with 0x.
std::optional<std::uint64_t> whole_number(std::string_view text, std::uint64_t most) {
    int base = 10;
    if (text.starts_with("0x")) {
        text.remove_prefix(2);
        base = 16;
    }
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value, base);
    if (error != std::errc() || rest != end || value > most) {
        return std::nullopt;
    }
    return value;
}

/// Adds a rule OPCODE=refuse|never|MILLISECONDS.
void add_rule(AdminFaults& faults, std::string_view rule) {
    const std::size_t sign = rule.find('=');
    const auto opcode = whole_number(rule.substr(0, sign), faults.held.size() - 1);
    const std::string_view what =
        sign == std::string_view::npos ? std::string_view() : rule.substr(sign + 1);
    const auto wait = whole_number(what, kMostMilliseconds);
    if (!opcode || (what != "refuse" && what != "never" && !wait)) {
        throw std::invalid_argument(fmt::format(
            "admin: '{}' is not OPCODE=refuse, OPCODE=never or OPCODE=MILLISECONDS", rule));
    }
    if (what == "refuse") {
        faults.refused.set(*opcode);
    } else {
        faults.held[*opcode] = wait ? *wait * 1'000'000 : kNever;
    }
}

unsigned number(const nlohmann::json& request, const char* name) {
    const nlohmann::json& value = request.at(name);
    if (!value.is_number_unsigned() ||
        value.get<std::uint64_t>() > std::numeric_limits<unsigned>::max()) {
        throw std::invalid_argument(fmt::format("{} is not a whole number", name));
    }
    return value.get<unsigned>();
}

}  // namespace

void set_admin_faults(AdminFaults& faults, std::string_view spec) {
    AdminFaults next;
    while (!spec.empty()) {
        const std::size_t comma = spec.find(',');
        add_rule(next, spec.substr(0, comma));
        spec = comma == std::string_view::npos ? std::string_view() : spec.substr(comma + 1);
    }
    next.met = faults.met;
    faults = next;
}

ServedCard::Hooks driver_fault_hooks(Card& card, AdminFaults* faults, vfio_user::Server& server) {
    const auto command = [&card, faults, &server](const nlohmann::json& request) {
        const auto cmd = request.value("cmd", std::string());
        if (cmd == "lose_interrupts") {
            const unsigned vector = number(request, "vector");
            const unsigned count = number(request, "count");
            card.gate()->run([&] { server.lose_interrupts(vector, count); });
        } else if (cmd == "admin" && faults != nullptr) {
            const auto spec = request.at("spec").get<std::string>();
            card.gate()->run([&] { set_admin_faults(*faults, spec); });
            card.run_engine();  // executes commands that are no longer held
        } else {
            throw std::invalid_argument(fmt::format(
                "cmd is one of stats, faults, link, {}lose_interrupts", faults ? "admin, " : ""));
        }
        return std::optional(nlohmann::json::object());
    };
    const auto stats = [&card, faults](nlohmann::json& all) {
        if (faults != nullptr) {
            all["admin_faults"]["met"] = card.gate()->run([&] { return faults->met; });
        }
    };
    return {command, stats};
}

}  // namespace dingo
