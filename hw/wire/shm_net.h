// SPDX-License-Identifier: BSD-2-Clause
//
// Where the cards of an shm segment meet: a directory with a lock and the socket of each card.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/unique_fd.h"

namespace dingo {

/// The directory of `net`; made when it is not there. Throws WireError.
std::filesystem::path shm_net_directory(std::string_view net);
/// For as long as a card joins: of each pair only the later one connects. Throws WireSystemError.
UniqueFd lock_shm_net(const std::filesystem::path& dir);
/// A socket that listens at `path`, for this user only. Throws WireError.
UniqueFd listen_shm(const std::filesystem::path& path, int backlog);

}  // namespace dingo
