// SPDX-License-Identifier: BSD-2-Clause
//
// Executes a program that sees cards instead of the machine's own RDMA devices.
#pragma once

#include <string>
#include <vector>

#include "app/cli/places.h"

namespace dingo::cli {

/// Dingo's libraries that the program needs.
struct Libraries {
    std::string preload;
    std::string driver;
};

/// Throws Error if one is missing or its path cannot be passed to a program.
Libraries find_libraries();

/// Sets this process's environment so that programs started by it see `view`.
void set_environment(const Libraries& libraries, const Path& view);

/// Replaces this process by the command. Throws Error, with a shell's exit status, if that fails.
[[noreturn]] void become(const std::vector<std::string>& command);

}  // namespace dingo::cli
