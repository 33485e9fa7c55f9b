// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dingo::cli {

enum class Verdict { kOk, kWarn, kFail };

struct Finding {
    Verdict verdict;
    std::string what;  ///< one or two words
    std::string text;
    std::string mend;  ///< remedy; "" if none is needed
};

/// Runs all checks of `dingo doctor`, in the order of display.
std::vector<Finding> examine();

/// Checks the system calls that a program needs to see a card; a seccomp filter may deny them.
std::vector<Finding> check_calls();
/// Throws Error if one of them is denied or /proc/self/mem is unusable, as libibverbs would only
/// report that it finds no device.
void require_calls();

/// The groups of checks: the machine, its network, and Dingo's own libraries.
void check_system(std::vector<Finding>& out);
void check_network(std::vector<Finding>& out);
void check_libraries(std::vector<Finding>& out);

}  // namespace dingo::cli
