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

/// What the user gave cannot be used; what() is a sentence that says why.
class UsageError : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

/// --help or --version: the text to print; the program then ends with status 0.
class TextWanted : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The command line of one test, defaults of that test filled in, checked by check_options().
/// @param arguments without the program's name and the test's
/// @throws UsageError, TextWanted
Options parse_options(Test test, std::span<const std::string> arguments);

/// The test as a command of `root` with its options: what completion is made from.
void add_test_command(CLI::App& root, Test test);

/// The test's own sizes when none was given, all with -a. @throws UsageError
void set_sizes(Options& options);
/// Refuses what does not fit together. @throws UsageError
void check_options(const Options& options);

/// "64,4k,1M": sizes with powers of 1024. @throws UsageError
std::vector<std::uint64_t> parse_sizes(std::string_view text);
/// "1,8" @throws UsageError
std::vector<unsigned> parse_counts(std::string_view text, std::string_view option);
/// "0,2-3": processors, in the order given. @throws UsageError
std::vector<unsigned> parse_processors(std::string_view text);
/// "2.5M" messages a second, powers of 1000. @throws UsageError
double parse_rate(std::string_view text);

}  // namespace rdma_bench
