// SPDX-License-Identifier: BSD-2-Clause
//
// dingo doctor: what this machine lacks and how to fix it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/error.h"
#include "base/json_text.h"

namespace dingo::cli {
namespace {

int doctor(bool json) {
    const std::vector<Finding> findings = examine();
    const bool failed = std::any_of(findings.begin(), findings.end(),
                                    [](const Finding& f) { return f.verdict == Verdict::kFail; });
    const char* const no_colour = std::getenv("NO_COLOR");  // set to any value that is not empty
    const bool colour = ::isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == 0);
    nlohmann::json list = nlohmann::json::array();
    for (const Finding& f : findings) {
        const char* const word = f.verdict == Verdict::kOk     ? "ok"
                                 : f.verdict == Verdict::kWarn ? "warn"
                                                               : "fail";
        if (json) {
            list.push_back(
                {{"check", f.what}, {"verdict", word}, {"text", f.text}, {"mend", f.mend}});
            continue;
        }
        const char* const shade = !colour                       ? ""
                                  : f.verdict == Verdict::kOk   ? "\x1b[32m"
                                  : f.verdict == Verdict::kWarn ? "\x1b[33m"
                                                                : "\x1b[31m";
        fmt::print("{}{:<4}{} {:<16} {}\n", shade, word, colour ? "\x1b[0m" : "", f.what, f.text);
        if (!f.mend.empty())
            fmt::print("{:22}-> {}\n", "", f.mend);
    }
    if (json)
        fmt::print("{}\n", json_text(nlohmann::json{{"healthy", !failed}, {"checks", list}}, 2));
    else
        fmt::print("\n{}\n", failed ? "Something must be fixed before cards work here."
                                    : "Cards work here: dingo run -- ibv_devices");
    return failed ? kFailed : kSuccess;
}

}  // namespace

void add_doctor(CLI::App& app, const Common& common, Action& action) {
    auto* const cmd =
        app.add_subcommand("doctor", "Report what this machine lacks and how to fix it")
            ->fallthrough();
    cmd->callback([&common, &action] { action = [&common] { return doctor(common.json); }; });
}

}  // namespace dingo::cli
