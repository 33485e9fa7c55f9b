// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/listener.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace dingo::uverbs {

Listener::Listener(std::string path, bool share)
    : listener_(std::move(path), {.type = SOCK_SEQPACKET,
                                  .mask = static_cast<mode_t>(share ? 0 : 0177),
                                  .backlog = 128,
                                  .credentials = true}),
      share_(share) {}

Listener::Accepted Listener::accept() const {
    Accepted result;
    result.socket.reset(listener_.accept().release());
    if (!result.socket) {
        result.exhausted =
            errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        return result;
    }
    ucred peer{};
    socklen_t len = sizeof peer;
    if (::getsockopt(result.socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0) {
        return result;
    }
    result.pid = peer.pid;
    result.allowed = share_ || peer.uid == ::geteuid() || peer.uid == 0;
    return result;
}

}  // namespace dingo::uverbs
