// SPDX-License-Identifier: BSD-2-Clause
#include "compare/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#include "compare/compare.h"
#include "compare/interleave.h"
#include "compare/read_output.h"
#include "compare/table.h"
#include "report/file.h"
#include "report/html.h"

namespace rdma_bench {
namespace {

constexpr int kWorse = 1;
constexpr int kBadInput = 2;
/// Threshold for single runs: two runs of perftest differ by up to 13 % even on an idle machine.
constexpr double kSingleRuns = 0.20;

/// Parses the options of `app` and runs `command`. Prints errors of options, input and output.
template <typename Command>
int run(CLI::App& app, std::span<const std::string> arguments, Command command) {
    try {
        std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
        app.parse(reversed);
        return command();
    } catch (const CLI::CallForHelp&) {
        report::write_file("-", app.help());
        return 0;
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "%s: %s\nSee %s --help.\n", app.get_name().c_str(), error.what(),
                     app.get_name().c_str());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), error.what());
    }
    return kBadInput;
}

/// Returns the last component of a path.
std::string run_name(const std::string& file) {
    const auto slash = file.rfind('/');
    return slash == std::string::npos ? file : file.substr(slash + 1);
}

std::vector<report::Run> read_runs(const std::vector<std::string>& files) {
    std::vector<report::Run> runs;
    bool alike = false;
    for (const std::string& file : files) {
        for (const report::Run& earlier : runs) {
            alike = alike || earlier.name == run_name(file);
        }
        runs.push_back({run_name(file), read_output(report::read_file(file), file)});
    }
    if (alike) {
        for (std::size_t i = 0; i < files.size(); ++i) {
            runs[i].name = files[i];
        }
    }
    return runs;
}

constexpr auto kCompare =
    "Compares two runs of the same test, entry by entry: bandwidth, median latency. Figures "
    "that get worse by more "
    "than the threshold decide the exit status. With --repeat in both, intervals of their "
    "medians "
    "decide.\n"
    "With --interleave two commands are run in turn, and pairs of their figures are compared.";
constexpr auto kReportHelp =
    "Makes an HTML report with plots of one run or of several, which are compared with the "
    "first.";

struct CompareArguments {
    std::vector<std::string> files;
    std::string threshold, html, json;
    unsigned rounds = 0;
    CompareOptions options;
};

void add_options(CLI::App& app, CompareArguments& a) {
    app.add_option("FILE", a.files,
                   "the run to compare with, and the run to judge: files that --json wrote, or "
                   "perftest's --out_json")
        ->expected(0, 2)
        ->option_text("A.json B.json");
    app.add_option(
           "--interleave", a.rounds,
           "run two commands N times in turn instead: ... --interleave N -- A... -- B...; each "
           "prints perftest's table or JSON, or rdma-bench's")
        ->check(CLI::Range(2, 10000))
        ->option_text("N");
    app.add_option("--threshold", a.threshold,
                   "what counts as the same: 3% or 0.03 (3%; between single runs 20%)");
    app.add_flag("--tail", a.options.tail, "judge the 99th percentile, too");
    app.add_option("--html", a.html, "write a report with plots of both runs");
    app.add_option("--json", a.json, "with --interleave: write all figures of both");
    app.footer(
        "Exit status: 0 nothing is worse, 1 something is, 2 the files or options cannot be used, "
        "or a "
        "command failed.");
}

struct ReportArguments {
    std::vector<std::string> files;
    std::string threshold = "3%", html;
};

void add_options(CLI::App& app, ReportArguments& a) {
    app.add_option("FILE", a.files, "files that --json wrote")
        ->required()
        ->option_text("A.json [B.json...]");
    app.add_option("--html", a.html, "the file to write, - for standard output")->required();
    app.add_option("--threshold", a.threshold, "what counts as the same: 3% or 0.03")
        ->capture_default_str();
    app.footer("Exit status: 0 the report was written, 2 the files or options cannot be used.");
}

/// Adds a command. The callback keeps `Arguments` alive, into which the options point.
template <typename Arguments>
void add_command(CLI::App& root, const char* name, const char* description) {
    const auto arguments = std::make_shared<Arguments>();
    auto* const command = root.add_subcommand(name, description);
    add_options(*command, *arguments);
    command->callback([arguments] {});
}

}  // namespace

void add_compare_commands(CLI::App& root) {
    add_command<CompareArguments>(root, "compare", kCompare);
    add_command<ReportArguments>(root, "report", kReportHelp);
}

int run_compare(std::span<const std::string> arguments) {
    CLI::App app(kCompare, "rdma-bench compare");
    CompareArguments a;
    add_options(app, a);
    const auto commands = std::find(arguments.begin(), arguments.end(), "--");
    return run(app, {arguments.begin(), commands}, [&] {
        if (a.threshold.empty()) {
            a.options.single = kSingleRuns;
        } else {
            a.options.threshold = parse_threshold(a.threshold);
        }
        a.options.paired = a.rounds > 0;
        std::vector<report::Run> runs;
        if (a.rounds > 0) {
            if (!a.files.empty()) {
                throw std::invalid_argument("--interleave takes two commands, not files");
            }
            runs = interleave(two_commands({commands, arguments.end()}), a.rounds);
        } else if (commands != arguments.end() || a.files.size() != 2) {
            throw std::invalid_argument(commands != arguments.end()
                                            ? "commands need --interleave N"
                                            : "FILE: two of them are compared, A.json B.json");
        } else {
            runs = read_runs(a.files);
        }
        const Comparison comparison = compare(runs[0].result, runs[1].result, a.options);
        if (!a.json.empty()) {
            report::write_file(a.json, to_json(runs, comparison, a.options));
        }
        report::write_file("-", to_table(comparison, a.options));
        if (!a.html.empty()) {
            report::write_file(a.html, report::to_html(runs, a.options));
        }
        return comparison.worse() ? kWorse : 0;
    });
}

int run_report(std::span<const std::string> arguments) {
    CLI::App app(kReportHelp, "rdma-bench report");
    ReportArguments a;
    add_options(app, a);
    return run(app, arguments, [&] {
        const CompareOptions options{.threshold = parse_threshold(a.threshold)};
        report::write_file(a.html, report::to_html(read_runs(a.files), options));
        return 0;
    });
}

}  // namespace rdma_bench
