// SPDX-License-Identifier: BSD-2-Clause
//
// Becoming a program that sees cards instead of the machine's own RDMA devices.
#pragma once

#include <string>
#include <vector>

#include "app/cli/places.h"

namespace dingo::cli {

/// Dingo's libraries that a program is started with.
struct Libraries {
    std::string preload;
    std::string driver;
};

/// Throws Error when one is missing or its path cannot be told to a program.
Libraries find_libraries();

/// Sets this process' environment so that the programs that it starts see `view`.
void set_environment(const Libraries& libraries, const Path& view);

/// This process becomes the command. Throws Error, with the exit status of a shell, when it cannot.
[[noreturn]] void become(const std::vector<std::string>& command);

}  // namespace dingo::cli
