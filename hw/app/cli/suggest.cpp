// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "app/cli/error.h"

namespace dingo::cli {
namespace {

/// Returns the edit distance: letters to insert, remove, replace or swap with their neighbour.
std::size_t distance(const std::string& a, const std::string& b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); i++)
        for (std::size_t j = 0; j <= b.size(); j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1,
                                d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[a.size()][b.size()];
}

struct Candidate {
    std::string name;   ///< the name compared with the user's word
    std::string whole;  ///< text to suggest
};

/// Returns the nearest name if it differs by few enough letters, else nullptr.
const Candidate* nearest(const std::vector<Candidate>& all, const std::string& word) {
    const auto of = [&](const Candidate& c) { return distance(c.name, word); };
    const auto best =
        std::min_element(all.begin(), all.end(), [&](auto& a, auto& b) { return of(a) < of(b); });
    return best != all.end() && of(*best) <= 1 + best->name.size() / 4 ? &*best : nullptr;
}

/// Collects all commands below `app` at any depth, the nearer ones first.
void collect(const CLI::App& app, const std::string& path, std::vector<Candidate>& out) {
    const auto subs = app.get_subcommands({});
    for (const CLI::App* sub : subs)
        out.push_back({sub->get_name(), path + " " + sub->get_name()});
    for (const CLI::App* sub : subs)
        collect(*sub, path + " " + sub->get_name(), out);
}

std::string names_of(const CLI::App& app) {
    std::string out;
    const auto all = app.get_subcommands({});
    for (std::size_t i = 0; i < all.size(); i++)
        out += (i == 0 ? "" : i + 1 == all.size() ? " or " : ", ") + all[i]->get_name();
    return out;
}

}  // namespace

void check_command(const CLI::App& app, const std::vector<std::string>& words) {
    const CLI::App* at = &app;
    std::string path = app.get_name();
    for (const std::string& word : words) {
        if (word == "-h" || word == "--help" || word == "--version")
            return;
        if (at->get_subcommands({}).empty())
            return;
        if (word.starts_with('-'))
            continue;
        const auto subs = at->get_subcommands({});
        const auto sub = std::find_if(subs.begin(), subs.end(),
                                      [&](const CLI::App* s) { return s->get_name() == word; });
        if (sub == subs.end()) {
            std::vector<Candidate> all;
            collect(*at, path, all);
            const Candidate* const meant = nearest(all, word);
            throw Error(
                fmt::format("there is no command '{} {}'. {}", path, word,
                            meant != nullptr ? fmt::format("Did you mean '{}'?", meant->whole)
                                             : fmt::format("There are: {}", names_of(*at))),
                kUsage);
        }
        at = *sub;
        path += " " + word;
    }
    if (at != &app && !at->get_subcommands({}).empty())
        throw Error(fmt::format("'{}' needs a command: {}", path, names_of(*at)), kUsage);
}

std::string likely_option(const CLI::App& app, const std::vector<std::string>& words) {
    std::vector<Candidate> all;
    for (const CLI::App* at = &app; at != nullptr;
         at = at->get_subcommands().empty() ? nullptr : at->get_subcommands().front())
        for (const CLI::Option* option : at->get_options())
            for (const std::string& name : option->get_lnames())
                all.push_back({"--" + name, "--" + name});
    for (std::string word : words) {
        word = word.substr(0, word.find('='));
        const bool known =
            std::any_of(all.begin(), all.end(), [&](const Candidate& c) { return c.name == word; });
        if (word.size() < 4 || !word.starts_with("--") || known)
            continue;
        if (const Candidate* const meant = nearest(all, word))
            return fmt::format("Did you mean {}?", meant->whole);
    }
    return "";
}

}  // namespace dingo::cli
