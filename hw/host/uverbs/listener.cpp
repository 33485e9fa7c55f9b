// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/listener.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/elsewhere.h"
#include "base/errno_error.h"
#include "base/quota.h"

namespace dingo::uverbs {
namespace {

constexpr unsigned kAcceptBudget = 16;
/// UID of a peer that the kernel does not report.
constexpr auto kUnknownUser = static_cast<uid_t>(-1);

}  // namespace

Listener::Listener(std::string path, bool share)
    : listener_(std::move(path), {.type = SOCK_SEQPACKET,
                                  .mask = static_cast<mode_t>(share ? 0 : 0177),
                                  .backlog = 128,
                                  .credentials = true}),
      share_(share) {}

Listener::Counts Listener::accept(const char* service, const char* too_many,
                                  const std::function<void(Newcomer)>& admit) {
    Counts counts;
    while (counts.admitted + counts.refused < kAcceptBudget) {
        ClientSocket socket(listener_.accept().release());
        if (!socket && errno != EMFILE && errno != ENFILE) {
            break;
        }
        ucred peer{.pid = 0, .uid = kUnknownUser, .gid = 0};
        const char* why = nullptr;
        if (!socket || too_full_for_clients(socket.get())) {
            why = "the card has no free file descriptors for new clients (see ulimit -n)";
        } else {
            socklen_t len = sizeof peer;
            ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &len);
            if (!may_connect(peer.uid)) {
                why = "it belongs to another user, and the card is not shared (--share)";
            } else if (user_has_too_many_closing(peer.uid)) {
                why = "too many file descriptors that its user has sent are still being closed";
            }
        }
        const ClosesFor sender({.user = peer.uid});
        ClientSocket theirs = std::move(socket);  // destroyed before `sender`
        if (why == nullptr) {
            try {
                admit({std::move(theirs), peer.pid, peer.uid});
            } catch (const ErrnoError&) {
                why = too_many;
            }
        }
        if (why == nullptr) {
            ++counts.admitted;
        } else {
            ++counts.refused;
            log_limit_.warn("{}: process {} was turned away: {}", service, peer.pid, why);
        }
    }
    return counts;
}

bool Listener::may_connect(uid_t user) const {
    return user != kUnknownUser && (share_ || user == ::geteuid() || user == 0);
}

}  // namespace dingo::uverbs
