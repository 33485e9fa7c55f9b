// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dingo::tool {

enum class Verdict { kOk, kWarn, kFail };

struct Finding {
    Verdict verdict;
    std::string what;  ///< a word or two
    std::string text;
    std::string mend;  ///< what to do; "" where nothing need be done
};

/// All checks of `dingo doctor`, in the order in which they are shown.
std::vector<Finding> examine();

/// The parts: the machine, its network, and Dingo's own libraries.
void check_system(std::vector<Finding>& out);
void check_network(std::vector<Finding>& out);
void check_libraries(std::vector<Finding>& out);

}  // namespace dingo::tool
