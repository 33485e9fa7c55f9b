// SPDX-License-Identifier: BSD-2-Clause
#include "net/deadline.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>
#include <vector>

#include "qpx/error.h"

namespace qpx::net {

Fd::~Fd() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

Interrupt::Interrupt(bool on_signal)
    : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), on_signal_(on_signal) {
    if (fd_.get() < 0) {
        throw Error(ErrorCode::Limit, "eventfd: " + std::system_category().message(errno));
    }
}

void Interrupt::cancel() noexcept {
    const int before = errno;  // a signal handler must preserve it
    [[maybe_unused]] const int result = eventfd_write(fd_.get(), 1);
    errno = before;
}

void Interrupt::check() {
    eventfd_t count = 0;
    if (eventfd_read(fd_.get(), &count) == 0 && count != 0) {
        throw Error(ErrorCode::Cancelled, "the call was cancelled");
    }
}

int Deadline::poll_ms() const {
    if (at_ == Clock::time_point::max()) {
        return -1;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

bool Deadline::wait(std::span<pollfd> descriptors) const {
    std::vector<pollfd> all(descriptors.begin(), descriptors.end());
    all.push_back({interrupt_ != nullptr ? interrupt_->fd() : -1, POLLIN, 0});
    for (;;) {
        const int count = ::poll(all.data(), all.size(), poll_ms());
        if (count < 0 && errno != EINTR) {
            throw Error(ErrorCode::PeerGone, "poll: " + std::system_category().message(errno));
        }
        if (count < 0 && interrupt_ != nullptr && interrupt_->on_signal()) {
            throw Error(ErrorCode::Cancelled, "a signal ended the call", EINTR);
        }
        if (count > 0) {
            std::copy(all.begin(), all.end() - 1, descriptors.begin());
            const bool ready = std::any_of(descriptors.begin(), descriptors.end(),
                                           [](const pollfd& d) { return d.revents != 0; });
            if (!ready && interrupt_ != nullptr) {
                interrupt_->check();
            }
            if (ready) {
                return true;
            }
        }
        if (passed()) {
            return false;
        }
    }
}

void Deadline::pause(std::chrono::milliseconds time) const {
    moved_to(std::min(at_, Clock::now() + time)).wait({});
}

}  // namespace qpx::net
