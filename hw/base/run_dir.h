// SPDX-License-Identifier: BSD-2-Clause
//
// The directory of a user's kernel-less cards: docs/reference/kernel-less.md.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace dingo {

/// Returns $DINGO_RUN, else $XDG_RUNTIME_DIR/dingo, else /tmp/dingo-UID. May not exist yet.
/// Absolute.
inline std::filesystem::path run_dir() {
    if (const char* const dir = std::getenv("DINGO_RUN"); dir != nullptr && *dir != '\0') {
        std::error_code error;  // set if the current directory was removed
        const std::filesystem::path path = std::filesystem::absolute(dir, error);
        return error ? std::filesystem::path(dir) : path.lexically_normal();
    }
    const char* const dir = std::getenv("XDG_RUNTIME_DIR");
    if (dir != nullptr && *dir == '/' && ::access(dir, W_OK | X_OK) == 0) {
        return std::filesystem::path(dir) / "dingo";
    }
    return "/tmp/dingo-" + std::to_string(::geteuid());
}

}  // namespace dingo
