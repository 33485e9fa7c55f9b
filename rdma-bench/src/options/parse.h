// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "options/options.h"

namespace CLI {
class App;
}

namespace rdma_bench {

/// Invalid command line; what() says why in a sentence.
class UsageError : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

/// --help or --version: what() is the text to print before the program exits with status 0.
class TextWanted : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Parses the command line of one test, fills in its defaults, and calls check_options().
/// @param arguments without the names of program and test
/// @throws UsageError, TextWanted
Options parse_options(Test test, std::span<const std::string> arguments);

/// Adds the test with its options as a command to `root`, for the generation of completion scripts.
void add_test_command(CLI::App& root, Test test);

/// Sets the test's default sizes if none was given, or all with -a. @throws UsageError
void set_sizes(Options& options);
/// Refuses invalid combinations of options. @throws UsageError
void check_options(const Options& options);

/// Parses sizes, "64,4k,1M", with powers of 1024. @throws UsageError
std::vector<std::uint64_t> parse_sizes(std::string_view text);
/// Parses "1,8". @throws UsageError
std::vector<unsigned> parse_counts(std::string_view text, std::string_view option);
/// Parses processors, "0,2-3", keeping their order. @throws UsageError
std::vector<unsigned> parse_processors(std::string_view text);
/// Parses messages per second, "2.5M", with powers of 1000. @throws UsageError
double parse_rate(std::string_view text);

}  // namespace rdma_bench
