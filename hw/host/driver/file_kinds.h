// SPDX-License-Identifier: BSD-2-Clause
// Determines the kind of a client's descriptor. No file system is asked before it is known to
// answer: a client's own one (FUSE) may block.
#pragma once

namespace dingo::uverbs {

/// Returns true if `fd` is open (without O_PATH) with access mode `mode`: O_RDWR ...
bool is_open_for(int fd, int mode);
/// Returns true for any procfs, of this or another mount namespace.
bool is_on_procfs(int fd);
bool is_dmabuf(int fd);

}  // namespace dingo::uverbs
