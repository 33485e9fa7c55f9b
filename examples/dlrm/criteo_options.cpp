// SPDX-License-Identifier: BSD-2-Clause
#include "dlrm/criteo_options.h"

#include "cli/completion.h"

namespace dlrm {
namespace {

void add_files(CLI::App& command, CriteoOptions& options, const char* input) {
    command.add_option("INPUT", options.input, std::string(input) + "; - is standard input")
        ->type_name("FILE")
        ->required();
    command.add_option("OUTPUT", options.output, "output file; - is standard output")
        ->type_name("FILE")
        ->capture_default_str();
}

}  // namespace

void add_commands(CLI::App& app, CriteoOptions& options) {
    app.require_subcommand(1);
    app.set_version_flag("--version", "dingo-criteo " DLRM_VERSION);
    const auto command = [&](const char* name, const char* what, Command value) {
        CLI::App* const sub = app.add_subcommand(name, what);
        sub->callback([&options, value] { options.command = value; });
        return sub;
    };
    CLI::App* const to_records =
        command("to-records", "Lines of Criteo's data to records", Command::kToRecords);
    add_files(*to_records, options, "lines");
    to_records->add_flag("--skip-bad", options.skip_bad, "skip bad lines and exit with status 0");
    to_records->add_option("--show-bad", options.show_bad, "number of bad lines to report")
        ->type_name("N")
        ->capture_default_str();
    add_files(*command("to-tsv", "Records to lines of Criteo's data", Command::kToTsv), options,
              "records");
    CLI::App* const preprocess = command(
        "preprocess", "Preprocess records as the card does, on the CPU", Command::kPreprocess);
    add_files(*preprocess, options, "records");
    preprocess->add_option("-m,--modulus", options.modulus, "modulus of the categories")
        ->type_name("N")
        ->check(CLI::Range(1U, UINT32_MAX))
        ->required();
    CLI::App* const generate =
        command("generate", "Synthetic clicks, the same for the same seed", Command::kGenerate);
    generate->add_option("OUTPUT", options.output, "output file; - is standard output")
        ->type_name("FILE")
        ->capture_default_str();
    generate->add_option("-n,--records", options.records, "number of records")
        ->type_name("N")
        ->required();
    generate->add_option("-s,--seed", options.seed, "seed")->type_name("N")->capture_default_str();
    generate->add_option("-f,--format", options.format, "output format")
        ->check(CLI::IsMember({"tsv", "records"}))
        ->capture_default_str();
    cli::add_shell(
        *command("completion", "Print a completion script for a shell", Command::kCompletion),
        options.shell);
}

}  // namespace dlrm
