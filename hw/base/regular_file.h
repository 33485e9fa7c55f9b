// SPDX-License-Identifier: BSD-2-Clause
//
// Opens files of a run directory, which another user may have created: refuses all but regular
// files (a FIFO would block) and limits the time to wait for a lock.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "base/unique_fd.h"

namespace dingo {

/// open(2) with O_CLOEXEC. Returns an empty descriptor with errno set; EINVAL: not a regular file.
UniqueFd open_regular(const std::filesystem::path& path, int flags, mode_t mode = 0600);
/// Reads at most `most` bytes of a regular file. Returns "" if the file is empty or missing.
std::string text_of(const std::filesystem::path& path, std::size_t most = std::size_t{1} << 20);
/// Takes the exclusive flock(2) of a file, which is created if missing. Returns an empty descriptor
/// with errno set; EWOULDBLOCK: timed out after `limit`.
UniqueFd lock_regular(const std::filesystem::path& path, std::chrono::milliseconds limit);

}  // namespace dingo
