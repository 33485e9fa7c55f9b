// SPDX-License-Identifier: BSD-2-Clause
//
// Files of a run directory, which another user may have made: anything but a regular file (a FIFO
// would block) is refused, and waiting for a lock has a limit.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "base/unique_fd.h"

namespace dingo {

/// As open(2), close-on-exec. None, with errno; EINVAL: something is there that is no regular file.
UniqueFd open_regular(const std::filesystem::path& path, int flags, mode_t mode = 0600);
/// What a regular file has, up to `most` bytes; "": nothing, or there is none.
std::string text_of(const std::filesystem::path& path, std::size_t most = std::size_t{1} << 20);
/// Takes the exclusive flock(2) of a file, which it creates if missing. Empty, with errno;
/// EWOULDBLOCK: the lock was held for all of `limit`.
UniqueFd lock_regular(const std::filesystem::path& path, std::chrono::milliseconds limit);

}  // namespace dingo
