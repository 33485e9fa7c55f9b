// SPDX-License-Identifier: BSD-2-Clause
//
// Where things are: the run directory, and Dingo's own files, which are found from where this
// program lies, in a build tree as under an install prefix.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dingo::cli {

using Path = std::filesystem::path;

/// Makes the run directory (mode 0700) where it is missing, and returns it. Throws Error when it
/// belongs to another user or others may write to it.
Path make_run_dir();

/// Why `dir` is no place for cards, with what to do; "" when it is one or does not exist yet.
std::string run_dir_problem(const Path& dir);

/// Throws Error that names the places looked at.
Path find_card_program();
Path find_preload();
/// The provider's full file name, e.g. .../libdingo-rdmav34.so.
Path find_provider();
/// Name of the provider for RDMAV_DRIVERS: without "-rdmav34.so".
std::string driver_name(const Path& provider);

}  // namespace dingo::cli
