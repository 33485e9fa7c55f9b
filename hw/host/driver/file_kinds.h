// SPDX-License-Identifier: BSD-2-Clause
//
// What a client's descriptor is of. Nothing here asks the file system of a descriptor before it is
// known to answer: a client may have one of its own (FUSE) that does not.
#pragma once

namespace dingo::uverbs {

/// It is open (no O_PATH) with this access mode: O_RDWR ...
bool is_open_for(int fd, int mode);
/// On any procfs, of this mount namespace or of another.
bool is_on_procfs(int fd);
bool is_dmabuf(int fd);

}  // namespace dingo::uverbs
