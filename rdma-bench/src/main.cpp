// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "compare/command.h"
#include "complete/command.h"
#include "options/parse.h"
#include "report/sinks.h"
#include "run/clients.h"
#include "run/session.h"

namespace rdma_bench {
namespace {

/// Forwards to several sinks. An exception of one in done() does not skip the others.
class Sinks final : public Sink {
  public:
    void add(std::unique_ptr<Sink> sink) { sinks_.push_back(std::move(sink)); }
    void start(const Result& result) override {
        for (auto& sink : sinks_) {
            sink->start(result);
        }
    }
    void progress(const Progress& progress) override {
        for (auto& sink : sinks_) {
            sink->progress(progress);
        }
    }
    void entry(const Result& result, const Entry& entry) override {
        for (auto& sink : sinks_) {
            sink->entry(result, entry);
        }
    }
    void done(const Result& result) override {
        for (auto& sink : sinks_) {
            try {
                sink->done(result);
            } catch (const std::exception& error) {
                std::fprintf(stderr, "rdma-bench: %s\n", error.what());
                failed = true;
            }
        }
    }
    bool failed = false;

  private:
    std::vector<std::unique_ptr<Sink>> sinks_;
};

std::string help() {
    std::string text =
        "Bandwidth and latency of RDMA devices, with perftest's options.\n\n"
        "usage: rdma-bench TEST [OPTIONS]          start the server\n"
        "       rdma-bench TEST [OPTIONS] HOST     start the client, with the same options\n"
        "       rdma-bench compare A.json B.json   what became better or worse\n"
        "       rdma-bench report A.json... --html FILE\n"
        "       rdma-bench completion SHELL        completion for bash, zsh or fish\n"
        "       rdma-bench TEST --help             all options of a test\n\nTEST is one of";
    for (const auto test : all_tests()) {
        text.append(" ").append(to_string(test));
    }
    return text +
           ".\n\nExamples:\n"
           "  rdma-bench write-bw -s 64,4k,1M -q 1,8 --json now.json --html now.html server\n"
           "  rdma-bench send-lat --rate 20k -D 10 server     latency at 20,000 messages a second\n"
           "  rdma-bench read-bw --verify server              every byte compared\n\n"
           "Exit status: 0 good; 1 a message or the device failed; 2 options; 3 no such device, or "
           "it cannot;\n"
           "4 no connection to the peer; 5 wrong data; 6 below a limit; 130 interrupted.\n";
}

int usage_error(const std::string& text) {
    std::fprintf(stderr, "rdma-bench: %s\n", text.c_str());
    return static_cast<int>(Exit::kUsage);
}

int run_test(Test test, const std::vector<std::string>& arguments) {
    Options options;
    Sinks sinks;
    try {
        options = parse_options(test, arguments);
        const auto& report = options.report;
        sinks.add(make_table_sink(options));
        if (report.progress || isatty(STDERR_FILENO)) {
            sinks.add(make_progress_sink(report.gbits));
        }
        if (!report.json.empty()) {
            sinks.add(make_json_sink(report.json));
        }
        if (!report.csv.empty()) {
            sinks.add(make_csv_sink(report.csv));
        }
        if (!report.perftest_json.empty()) {
            sinks.add(make_perftest_json_sink(report.perftest_json, report.gbits));
        }
        if (!report.html.empty()) {
            sinks.add(make_html_sink(report.html, report.compare));
        }
    } catch (const TextWanted& text) {
        std::fputs(text.what(), stdout);
        return 0;
    } catch (const std::exception& error) {
        return usage_error(std::string(error.what()) + "\nSee rdma-bench " +
                           std::string(to_string(test)) + " --help");
    }
    const Exit status =
        options.clients > 1 ? run_clients(options, sinks) : run_session(options, sinks);
    return status == Exit::kGood && sinks.failed ? static_cast<int>(Exit::kFailed)
                                                 : static_cast<int>(status);
}

int run(std::vector<std::string> arguments) {
    if (arguments.empty()) {
        std::fputs(help().c_str(), stderr);
        return static_cast<int>(Exit::kUsage);
    }
    const std::string command = arguments.front();
    arguments.erase(arguments.begin());
    if (command == "-h" || command == "--help" || command == "help") {
        std::fputs(help().c_str(), stdout);
        return 0;
    }
    if (command == "-V" || command == "--version") {
        std::puts("rdma-bench " RDMA_BENCH_VERSION);
        return 0;
    }
    if (command == "compare") {
        return run_compare(arguments);
    }
    if (command == "report") {
        return run_report(arguments);
    }
    if (command == "completion") {
        return run_completion(arguments);
    }
    if (const auto test = parse_test(command)) {
        return run_test(*test, arguments);
    }
    return usage_error("no test '" + command + "'\n\n" + help());
}

}  // namespace
}  // namespace rdma_bench

int main(int argc, char** argv) {
    return rdma_bench::run({argv + 1, argv + argc});
}
