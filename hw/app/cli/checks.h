// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dingo::cli {

enum class Verdict { kOk, kWarn, kFail };

struct Finding {
    Verdict verdict;
    std::string what;  ///< a word or two
    std::string text;
    std::string mend;  ///< what to do; "" where nothing need be done
};

/// All checks of `dingo doctor`, in the order in which they are shown.
std::vector<Finding> examine();

/// The system calls without which a program does not see a card (a seccomp filter may deny them).
std::vector<Finding> check_calls();
/// Throws Error that says which of them is denied, or that /proc/self/mem cannot be used, where
/// libibverbs would only find no device.
void require_calls();

/// The parts: the machine, its network, and Dingo's own libraries.
void check_system(std::vector<Finding>& out);
void check_network(std::vector<Finding>& out);
void check_libraries(std::vector<Finding>& out);

}  // namespace dingo::cli
