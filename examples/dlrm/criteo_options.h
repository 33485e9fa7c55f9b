// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace dlrm {

enum class Command { kToRecords, kToTsv, kGenerate, kPreprocess, kCompletion };

/// Options of dingo-criteo.
struct CriteoOptions {
    Command command = Command::kToRecords;
    std::string input = "-";
    std::string output = "-";
    bool skip_bad = false;
    std::uint64_t show_bad = 20;
    std::uint64_t records = 0;
    std::uint64_t seed = 1;
    std::string format = "tsv";
    std::uint32_t modulus = 0;
    std::string shell;
};

/// Adds all commands to `app`; parsing it fills `options`.
void add_commands(CLI::App& app, CriteoOptions& options);

}  // namespace dlrm
