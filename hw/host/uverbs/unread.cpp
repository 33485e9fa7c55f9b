// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/unread.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <utility>

#include "base/errno_error.h"

namespace dingo::uverbs {

int unread_bytes(int socket) {
    int bytes = 0;
    return ::ioctl(socket, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

Charge UnreadAnswers::room_for(std::size_t descriptors) {
    sweep();
    if (answers_.size() >= kMost) {
        std::erase_if(answers_, [](const Answer& a) { return unread_bytes(a.socket.get()) == 0; });
    }
    if (answers_.size() >= kMost) {
        throw ErrnoError(ETOOMANYREFS);
    }
    // The first answer is usually read soon, so it uses the common reserve and is not charged.
    return answers_.empty() ? Charge()
                            : Charge(account_, process_quotas().descriptors, 1 + descriptors);
}

void UnreadAnswers::keep(ForeignSocket socket, Charge charge) {
    answers_.push_back({std::move(socket), std::move(charge)});
}

bool UnreadAnswers::sweep() {
    while (!answers_.empty() && unread_bytes(answers_.front().socket.get()) == 0) {
        answers_.pop_front();
    }
    return !answers_.empty();
}

}  // namespace dingo::uverbs
