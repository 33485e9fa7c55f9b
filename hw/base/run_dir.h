// SPDX-License-Identifier: BSD-2-Clause
//
// Where the kernel-less cards of a user live: docs/reference/kernel-less.md.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace dingo {

/// $DINGO_RUN, else $XDG_RUNTIME_DIR/dingo, else /tmp/dingo-UID. It need not exist.
inline std::filesystem::path run_dir() {
    const auto set = [](const char* name) {
        const char* const value = std::getenv(name);
        return value != nullptr && *value == '/' ? value : nullptr;
    };
    if (const char* const dir = set("DINGO_RUN")) {
        return dir;
    }
    if (const char* const dir = set("XDG_RUNTIME_DIR"); dir && ::access(dir, W_OK | X_OK) == 0) {
        return std::filesystem::path(dir) / "dingo";
    }
    return "/tmp/dingo-" + std::to_string(::geteuid());
}

}  // namespace dingo
