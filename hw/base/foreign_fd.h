// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

#include "unique_fd.h"

namespace dingo {

/// Closes `fd` without waiting: on another thread, soon, unless it is sure to close at once.
/// close() of a descriptor that another process sent may take as long as that process likes: a TCP
/// socket lingers, a file of a FUSE daemon is flushed by the daemon, and a UNIX socket has such
/// descriptors in its queue.
void close_elsewhere(int fd);

/// A descriptor that another process sent.
using ForeignFd = BasicFd<close_elsewhere>;

/// The same for a UNIX socket that is ours to end, with all copies of it: others can send
/// descriptors there.
void end_connection(int fd);

using ForeignSocket = BasicFd<end_connection>;

/// The same for a client's connection. The client is told at once: what it left unread there may
/// wait long for a thread that closes it.
void hang_up(int fd);

using ClientSocket = BasicFd<hang_up>;

}  // namespace dingo
