// SPDX-License-Identifier: BSD-2-Clause
#include "compare/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "compare/compare.h"
#include "compare/table.h"
#include "report/file.h"
#include "report/html.h"
#include "report/json.h"

namespace rdma_bench {
namespace {

constexpr int kWorse = 1;
constexpr int kBadInput = 2;

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
        runs.push_back({run_name(file), report::from_json(report::read_file(file), file)});
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
        "than the threshold decide the exit status.",
        "rdma-bench compare");
    std::vector<std::string> files;
    std::string threshold = "3%";
    std::string html;
    CompareOptions options;
    app.add_option("FILE", files,
                   "the run to compare with, and the run to judge: files that --json wrote")
        ->required()
        ->expected(2)
        ->option_text("A.json B.json");
    app.add_option("--threshold", threshold, "what counts as the same: 3% or 0.03")
        ->capture_default_str();
    app.add_flag("--tail", options.tail, "judge the 99th percentile, too");
    app.add_option("--html", html, "write a report with plots of both runs");
    app.footer(
        "Exit status: 0 nothing is worse, 1 something is, 2 the files or options cannot be used.");
    return run(app, arguments, [&] {
        options.threshold = parse_threshold(threshold);
        const auto runs = read_runs(files);
        const Comparison comparison = compare(runs[0].result, runs[1].result, options);
        report::write_file("-", to_table(comparison, options));
        if (!html.empty()) {
            report::write_file(html, report::to_html(runs, options.threshold));
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
