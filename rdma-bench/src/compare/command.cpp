// SPDX-License-Identifier: BSD-2-Clause
#include "compare/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
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
/// perftest beside itself scatters by 13 % on a machine that does nothing else.
constexpr double kSingleRuns = 0.20;

/// Runs `command` after the options of `app` are read; says what is wrong with them, with the
/// input, or with the output.
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

/// The end of a path: what tells files of one directory apart.
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

}  // namespace

int run_compare(std::span<const std::string> arguments) {
    CLI::App app(
        "Compares two runs of the same test, entry by entry: bandwidth, median latency. Figures "
        "that get worse by more "
        "than the threshold decide the exit status. With --repeat in both, intervals of their "
        "medians "
        "decide.\n"
        "With --interleave two commands are run in turn, and pairs of their figures are compared.",
        "rdma-bench compare");
    std::vector<std::string> files;
    std::string threshold;
    std::string html, json;
    unsigned rounds = 0;
    CompareOptions options;
    app.add_option("FILE", files,
                   "the run to compare with, and the run to judge: files that --json wrote, or "
                   "perftest's --out_json")
        ->expected(0, 2)
        ->option_text("A.json B.json");
    app.add_option(
           "--interleave", rounds,
           "run two commands N times in turn instead: ... --interleave N -- A... -- B...; each "
           "prints perftest's table or JSON, or rdma-bench's")
        ->check(CLI::Range(2, 10000))
        ->option_text("N");
    app.add_option("--threshold", threshold,
                   "what counts as the same: 3% or 0.03 (3%; between single runs 20%)");
    app.add_flag("--tail", options.tail, "judge the 99th percentile, too");
    app.add_option("--html", html, "write a report with plots of both runs");
    app.add_option("--json", json, "with --interleave: write all figures of both");
    app.footer(
        "Exit status: 0 nothing is worse, 1 something is, 2 the files or options cannot be used, "
        "or a "
        "command failed.");
    const auto commands = std::find(arguments.begin(), arguments.end(), "--");
    return run(app, {arguments.begin(), commands}, [&] {
        if (threshold.empty()) {
            options.single = kSingleRuns;
        } else {
            options.threshold = parse_threshold(threshold);
        }
        options.paired = rounds > 0;
        std::vector<report::Run> runs;
        if (rounds > 0) {
            if (!files.empty()) {
                throw std::invalid_argument("--interleave takes two commands, not files");
            }
            runs = interleave(two_commands({commands, arguments.end()}), rounds);
        } else if (commands != arguments.end() || files.size() != 2) {
            throw std::invalid_argument(commands != arguments.end()
                                            ? "commands need --interleave N"
                                            : "FILE: two of them are compared, A.json B.json");
        } else {
            runs = read_runs(files);
        }
        const Comparison comparison = compare(runs[0].result, runs[1].result, options);
        if (!json.empty()) {
            report::write_file(json, to_json(runs, comparison, options));
        }
        report::write_file("-", to_table(comparison, options));
        if (!html.empty()) {
            report::write_file(
                html, report::to_html(runs, options.threshold, options.paired, options.single));
        }
        return comparison.worse() ? kWorse : 0;
    });
}

int run_report(std::span<const std::string> arguments) {
    CLI::App app(
        "Makes an HTML report with plots of one run or of several, which are compared with the "
        "first.",
        "rdma-bench report");
    std::vector<std::string> files;
    std::string threshold = "3%";
    std::string html;
    app.add_option("FILE", files, "files that --json wrote")
        ->required()
        ->option_text("A.json [B.json...]");
    app.add_option("--html", html, "the file to write, - for standard output")->required();
    app.add_option("--threshold", threshold, "what counts as the same: 3% or 0.03")
        ->capture_default_str();
    app.footer("Exit status: 0 the report was written, 2 the files or options cannot be used.");
    return run(app, arguments, [&] {
        const double same = parse_threshold(threshold);
        report::write_file(html, report::to_html(read_runs(files), same));
        return 0;
    });
}

}  // namespace rdma_bench
