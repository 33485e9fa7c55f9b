// SPDX-License-Identifier: BSD-2-Clause
//
// wire_script: runs packet scripts against a card.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <sstream>

#include "runner.h"

namespace {

constexpr int kSkipped = 77;  // what ctest's SKIP_RETURN_CODE is set to

struct Tally {
    unsigned passed = 0;
    unsigned failed = 0;
    unsigned skipped = 0;
};

void run_case(const std::string& engine, const std::string& file, const dingo::wire::Case& script,
              bool verbose, Tally& tally) {
    const std::string name = script.name.empty() ? file : script.name;
    std::optional<dingo::wire::Runner> runner;
    try {
        runner.emplace(engine);
        runner->run(script);
        ++tally.passed;
        if (verbose)
            fmt::print("ok {}\n", name);
    } catch (const dingo::wire::CaseSkipped& reason) {
        ++tally.skipped;
        fmt::print("skipped {}: {}\n", name, reason.what());
    } catch (const std::exception& error) {
        ++tally.failed;
        fmt::print("{}:{}\n  case {}; what happened before:\n", file, error.what(), name);
        if (runner)
            for (const std::string& line : runner->log())
                fmt::print("    {}\n", line);
    }
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Runs packet scripts (tests/packet_scripts/README.md) against a card"};
    std::string engine;
    std::vector<std::string> files;
    std::string only;
    bool verbose = false;
    app.add_option("engine", engine, "engine under test, e.g. model")->required();
    app.add_option("script", files, "script files")->required()->check(CLI::ExistingFile);
    app.add_option("--case", only, "run only the case of this name");
    app.add_flag("-v,--verbose", verbose, "name the cases that pass, too");
    CLI11_PARSE(app, argc, argv);

    Tally tally;
    for (const std::string& file : files) {
        std::ifstream in(file);
        std::ostringstream text;
        text << in.rdbuf();
        try {
            for (const auto& script : dingo::wire::read_script(text.str()))
                if (only.empty() || script.name == only)
                    run_case(engine, file, script, verbose, tally);
        } catch (const dingo::wire::ScriptError& error) {
            fmt::print("{}: {}\n", file, error.what());
            ++tally.failed;
        }
    }
    fmt::print("{} passed, {} failed, {} skipped\n", tally.passed, tally.failed, tally.skipped);
    if (tally.failed != 0 || tally.passed + tally.skipped == 0)
        return 1;
    return tally.passed == 0 ? kSkipped : 0;
}
