// SPDX-License-Identifier: BSD-2-Clause
//
// Files of a run directory, as somebody else may have made them: what is no regular file (a FIFO
// would be waited for) is refused, and a lock that is held is waited for only so long.
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
/// The exclusive flock(2) of a file, made when it is not there. None, with errno; EWOULDBLOCK:
/// somebody holds it for all of `limit`.
UniqueFd lock_regular(const std::filesystem::path& path, std::chrono::milliseconds limit);

}  // namespace dingo
