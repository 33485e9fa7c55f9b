// SPDX-License-Identifier: BSD-2-Clause
//
// The directory in which the cards of an shm segment find each other: a lock and a socket per card.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/unique_fd.h"

namespace dingo {

/// Returns the directory of `net`; creates it if missing. Throws WireError.
std::filesystem::path shm_net_directory(std::string_view net);
/// Held while a card joins, so that of each pair only the later one connects. Throws
/// WireSystemError.
UniqueFd lock_shm_net(const std::filesystem::path& dir);
/// Returns a listening socket at `path`, for this user only. Throws WireError.
UniqueFd listen_shm(const std::filesystem::path& path, int backlog);

}  // namespace dingo
