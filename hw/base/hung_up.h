// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <poll.h>

namespace dingo {

/// Returns true if the peer has closed the socket; data that it sent may still be unread. Never
/// blocks.
inline bool has_hung_up(int socket) {
    pollfd end{socket, 0, 0};
    return ::poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
}

}  // namespace dingo
