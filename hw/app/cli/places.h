// SPDX-License-Identifier: BSD-2-Clause
//
// Locations: the run directory, and Dingo's own files, found relative to this program, in a build
// tree or an install prefix.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dingo::cli {

using Path = std::filesystem::path;

/// Creates the run directory (mode 0700) if it is missing and returns it. Throws Error if it
/// belongs to another user or others may write to it.
Path make_run_dir();

/// Returns why `dir` cannot be the run directory, with a remedy; "" if it can or does not exist
/// yet.
std::string run_dir_problem(const Path& dir);

/// These throw Error that names the searched locations.
Path find_card_program();
Path find_preload();
/// The provider's full file name, e.g. .../libdingo-rdmav34.so.
Path find_provider();
/// Returns the provider's name for RDMAV_DRIVERS: without "-rdmav34.so".
std::string driver_name(const Path& provider);

}  // namespace dingo::cli
