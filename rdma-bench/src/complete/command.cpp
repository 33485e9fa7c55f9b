// SPDX-License-Identifier: BSD-2-Clause
#include "complete/command.h"

#include <cstdio>
#include <vector>

#include "cli/completion.h"
#include "compare/command.h"
#include "exit.h"
#include "memory/kinds.h"
#include "options/parse.h"

namespace rdma_bench {

int run_completion(std::span<const std::string> arguments) {
    CLI::App root("Bandwidth and latency of RDMA devices", "rdma-bench");
    root.set_version_flag("-V,--version", "rdma-bench " RDMA_BENCH_VERSION);
    for (const Test test : all_tests()) {
        add_test_command(root, test);
    }
    add_compare_commands(root);
    std::string shell;
    auto* const own = root.add_subcommand("completion", "Print a completion script for a shell");
    cli::add_shell(*own, shell);
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    reversed.emplace_back("completion");
    try {
        root.parse(reversed);
    } catch (const CLI::CallForHelp&) {
        std::fputs(own->help().c_str(), stdout);
        return 0;
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "rdma-bench completion: %s\nSee rdma-bench completion --help.\n",
                     error.what());
        return static_cast<int>(Exit::kUsage);
    }
    std::string kinds;
    for (const MemoryKind& kind : memory_kind_table()) {
        kinds += (kinds.empty() ? "" : " ") + std::string(kind.name) +
                 (kind.argument.starts_with(':') ? ":" : "");
    }
    const std::vector<cli::Values> values{
        {"-d --ib-dev", "", "ls /sys/class/infiniband"},
        {"-c --connection", "RC UC UD", ""},
        {"--mem", kinds, ""},
        {"--rate_limit_type", "SW", ""},
        {"-W --report-counters", "all", ""},
        {"--security", "none psk: tls:", ""},
        {"--json --csv --html --compare --out_json_file", "", "FILES"},
    };
    std::fputs(cli::completion(root, shell, values, {"compare"}).c_str(), stdout);
    return 0;
}

}  // namespace rdma_bench
