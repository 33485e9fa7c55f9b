// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <poll.h>

namespace dingo {

/// True when the other end of a socket is closed; data that it sent may still be unread. Never
/// waits.
inline bool has_hung_up(int socket) {
    pollfd end{socket, 0, 0};
    return ::poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
}

}  // namespace dingo
