// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

#include "unique_fd.h"

namespace dingo {

/// Closes `fd` without blocking: on another thread, unless it is sure to close at once. close() of
/// a descriptor that another process sent may block as long as that process likes: a TCP socket
/// lingers, a FUSE daemon flushes its file, and a UNIX socket may have such descriptors in its
/// queue.
void close_elsewhere(int fd);

/// A descriptor that another process sent.
using ForeignFd = BasicFd<close_elsewhere>;

/// The same for a UNIX socket of ours, in whose queue others may have put descriptors. Closed at
/// once only if it is a SOCK_SEQPACKET connection without queued descriptors, after shutting it
/// down with all its copies.
void end_connection(int fd);

using ForeignSocket = BasicFd<end_connection>;

/// The same for a client's connection. Shuts it down at once, so that the client notices even if
/// its unread messages have to wait for a thread that closes them.
void hang_up(int fd);

using ClientSocket = BasicFd<hang_up>;

}  // namespace dingo
