// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/events.h"

#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/errno_error.h"

namespace dingo::uverbs {
namespace {

/// A CQ has one unread event for each time that it was armed and not waited for. Beyond so many an
/// object's event is dropped if another one of it waits, which wakes the client just as well.
constexpr std::size_t kMaxWaiting = 16384;

}  // namespace

EventChannel::EventChannel(Kind kind, Poller& poller, EventStats& stats,
                           std::function<void(EventChannel&)> closed, Charge charge)
    : kind_(kind),
      poller_(poller),
      stats_(stats),
      closed_(std::move(closed)),
      charge_(std::move(charge)) {
    std::array<int, 2> ends{};
    // Blocking is a property of all copies of the client's end, so the client sets it.
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        throw ErrnoError(errno);
    }
    card_end_.reset(ends[0]);
    client_end_.reset(ends[1]);
    need_room(std::max(ends[0], ends[1]));
    ::shutdown(card_end_.get(), SHUT_RD);  // the client cannot fill our memory
    ::fstat(client_end_.get(), &client_file_);
    poll_id_ = poller_.add(card_end_.get(), 0, *this);
}

EventChannel::~EventChannel() {
    poller_.remove(poll_id_);
}

bool EventChannel::is(int fd) const {
    struct stat st {};
    int kind = 0;
    socklen_t bytes = sizeof kind;
    // Of a socket fstat() asks nobody; of a file it may ask one that does not answer (FUSE).
    return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &bytes) == 0 && ::fstat(fd, &st) == 0 &&
           st.st_dev == client_file_.st_dev && st.st_ino == client_file_.st_ino;
}

void EventChannel::hold(int copy) {
    if (holds_ == 0) {
        held_.reset(::fcntl(copy, F_DUPFD_CLOEXEC, 0));
        if (!held_) {
            throw ErrnoError(errno);
        }
    }
    ++holds_;
}

void EventChannel::release() {
    if (--holds_ == 0) {
        held_.reset();  // if this was the last copy, poll() reports it
    }
}

std::size_t EventChannel::message_size() const {
    return kind_ == Kind::kCompletion ? sizeof(ib_uverbs_comp_event_desc)
                                      : sizeof(ib_uverbs_async_event_desc);
}

bool EventChannel::send(const Event& event) {
    const ib_uverbs_async_event_desc desc{event.element, event.type, 0};
    static_assert(offsetof(ib_uverbs_async_event_desc, element) ==
                  offsetof(ib_uverbs_comp_event_desc, cq_handle));
    return ::send(card_end_.get(), &desc, message_size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

bool EventChannel::queue(const Event& event) {
    if (poll_id_ == 0 || (waiting_.size() >= kMaxWaiting && waits(event))) {
        ++stats_.dropped;
        return false;
    }
    if (waiting_.empty()) {
        watch(EPOLLOUT);
    }
    push(event);
    return true;
}

bool EventChannel::waits(const Event& event) const {
    return waiting_of_.contains({event.element, event.type});
}

void EventChannel::push(const Event& event) {
    waiting_.push_back(event);
    ++waiting_of_[{event.element, event.type}];
}

void EventChannel::pop() {
    const auto of = waiting_of_.find({waiting_.front().element, waiting_.front().type});
    if (--of->second == 0) {
        waiting_of_.erase(of);
    }
    waiting_.pop_front();
}

bool EventChannel::post(const Event& event) {
    ++stats_.sent;
    return (waiting_.empty() && send(event)) || queue(event);
}

unsigned EventChannel::take_back(const std::function<bool(const Event&)>& mine) {
    if (!held_) {
        return 0;
    }
    unsigned taken = 0;
    std::deque<Event> keep;
    const auto sort = [&](const Event& event) {
        if (mine(event)) {
            ++taken;
        } else {
            keep.push_back(event);
        }
    };
    ib_uverbs_async_event_desc desc{};
    while (::recv(held_.get(), &desc, sizeof desc, MSG_DONTWAIT) ==
           static_cast<ssize_t>(message_size())) {
        sort({desc.element, kind_ == Kind::kAsync ? desc.event_type : 0U});
    }
    waiting_of_.clear();
    for (const Event& event : std::exchange(waiting_, {})) {
        sort(event);
    }
    while (!keep.empty() && send(keep.front())) {
        keep.pop_front();
    }
    std::ranges::for_each(keep, [this](const Event& event) { push(event); });
    watch(waiting_.empty() ? 0U : std::uint32_t{EPOLLOUT});
    stats_.taken_back += taken;
    return taken;
}

void EventChannel::ready(std::uint32_t events) {
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
        // It is reported until the descriptor is closed, which objects of the client may put off.
        poller_.remove(std::exchange(poll_id_, 0));
        stats_.dropped += std::exchange(waiting_, {}).size();
        waiting_of_.clear();
        const auto closed = closed_;
        closed(*this);  // may delete this
        return;
    }
    while (!waiting_.empty() && send(waiting_.front())) {
        pop();
    }
    if (waiting_.empty()) {
        watch(0);
    }
}

void EventChannel::watch(std::uint32_t events) {
    if (poll_id_ != 0) {
        poller_.change(poll_id_, events);
    }
}

HeldChannel::HeldChannel(std::shared_ptr<EventChannel> channel, int copy)
    : channel_(std::move(channel)) {
    if (channel_) {
        channel_->hold(copy);
    }
}

HeldChannel::~HeldChannel() {
    if (channel_) {
        channel_->release();
    }
}

}  // namespace dingo::uverbs
