// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/events.h"

#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "base/elsewhere.h"
#include "base/errno_error.h"
#include "host/uverbs/unread.h"

namespace dingo::uverbs {
namespace {

/// Limit on queued events. A CQ has one unread event for each time that it was armed. Beyond the
/// limit an event is dropped if another one of its object is queued: the client wakes up anyway.
constexpr std::size_t kMaxWaiting = 16384;

UniqueFd second_copy(int fd) {
    UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!copy) {
        throw ErrnoError(errno);
    }
    return copy;
}

}  // namespace

/// Reads the client's end on another thread, which may outlive this object.
class EventChannel::Reading final : public Pollable {
  public:
    Reading(EventChannel& channel, int end) : channel_(channel), job_(std::make_shared<Job>()) {
        job_->descriptors = Charge(channel.account_, process_quotas().descriptors, 2);
        job_->end = second_copy(end);
        job_->done.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (!job_->done) {
            throw ErrnoError(errno);
        }
        need_room(job_->end.get());
        need_room(job_->done.get());
        job_->thread = Charge(channel.account_, process_quotas().threads);
        poll_id_ = channel.poller_.add(job_->done.get(), EPOLLIN, *this);
        try {
            do_elsewhere([job = job_, bytes = channel.message_size(),
                          async = channel.kind_ == Kind::kAsync] { job->run(bytes, async); });
        } catch (const std::exception&) {  // no thread or no memory
            channel.poller_.remove(poll_id_);
            throw ErrnoError(EAGAIN);
        }
    }
    ~Reading() override { channel_.poller_.remove(poll_id_); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

    void ready(std::uint32_t /*events*/) override { channel_.came_back(); }
    /// Returns the unread events, the oldest first.
    [[nodiscard]] std::vector<Event> finish() {
        std::uint64_t count = 0;
        std::ignore = ::read(job_->done.get(), &count, sizeof count);
        return std::move(job_->events);
    }

  private:
    struct Job {
        UniqueFd end;
        UniqueFd done;
        Charge thread;
        Charge descriptors;
        std::vector<Event> events;

        void run(std::size_t bytes, bool async) noexcept {
            try {
                ib_uverbs_async_event_desc desc{};
                for (;;) {
                    events.emplace_back();
                    if (::recv(end.get(), &desc, sizeof desc, MSG_DONTWAIT) !=
                        static_cast<ssize_t>(bytes)) {
                        break;
                    }
                    events.back() = {desc.element, async ? desc.event_type : 0U};
                }
                events.pop_back();
            } catch (const std::exception&) {  // no memory: the rest stays in the socket
            }
            end.reset();
            const std::uint64_t one = 1;
            std::ignore = ::write(done.get(), &one, sizeof one);
        }
    };

    EventChannel& channel_;
    std::shared_ptr<Job> job_;
    Poller::Id poll_id_ = 0;
};

EventChannel::EventChannel(Kind kind, Poller& poller, EventStats& stats,
                           std::function<void(EventChannel&)> closed,
                           std::shared_ptr<Account> account)
    : kind_(kind),
      poller_(poller),
      stats_(stats),
      closed_(std::move(closed)),
      account_(std::move(account)),
      charge_(account_, process_quotas().descriptors, kKept) {
    std::array<int, 2> ends{};
    // O_NONBLOCK is shared by all copies of the client's end, so the client sets it.
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        throw ErrnoError(errno);
    }
    card_end_.reset(ends[0]);
    client_end_.reset(ends[1]);
    need_room(std::max(ends[0], ends[1]));
    ::shutdown(card_end_.get(), SHUT_RD);  // the client must not fill the card's memory
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
    // SO_TYPE is checked first: fstat() on a socket is local, but on a file it may ask a file
    // system that does not respond (FUSE).
    return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &bytes) == 0 && ::fstat(fd, &st) == 0 &&
           st.st_dev == client_file_.st_dev && st.st_ino == client_file_.st_ino;
}

void EventChannel::hold(int copy) {
    if (holds_ == 0) {
        held_ = second_copy(copy);
    }
    ++holds_;
}

void EventChannel::release() {
    if (--holds_ == 0) {
        held_.reset();  // if this was the last copy, poll() reports EPOLLHUP
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
    if (waiting_.empty() && flows()) {
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
    return (flows() && waiting_.empty() && send(event)) || queue(event);
}

void EventChannel::pause(bool unread) {
    if (unread && held_ && reading_ == nullptr && unread_bytes(card_end_.get()) != 0) {
        reading_ = std::make_unique<Reading>(*this, held_.get());
    }
    if (pauses_++ == 0) {
        watch(0);
    }
}

void EventChannel::resume() {
    if (--pauses_ == 0) {
        flush();
    }
}

void EventChannel::came_back() {
    const auto self = shared_from_this();
    const std::unique_ptr<Reading> reading = std::move(reading_);
    const std::vector<Event> events = reading->finish();
    for (auto event = events.rbegin(); event != events.rend(); ++event) {
        waiting_.push_front(*event);
        ++waiting_of_[{event->element, event->type}];
    }
    Waiters told;
    told.take_all(waiters_);
    while (Waiter* const waiter = told.first()) {
        waiter->stop_waiting();
        waiter->settled(0);
    }
    flush();
}

void EventChannel::flush() {
    if (!flows()) {
        return;
    }
    while (!waiting_.empty() && send(waiting_.front())) {
        pop();
    }
    watch(waiting_.empty() ? 0U : std::uint32_t{EPOLLOUT});
}

unsigned EventChannel::take_back(const std::function<bool(const Event&)>& mine) {
    unsigned taken = 0;
    std::deque<Event> keep;
    const auto sort = [&](const Event& event) {
        if (mine(event)) {
            ++taken;
        } else {
            keep.push_back(event);
        }
    };
    waiting_of_.clear();
    for (const Event& event : std::exchange(waiting_, {})) {
        sort(event);
    }
    std::ranges::for_each(keep, [this](const Event& event) { push(event); });
    stats_.taken_back += taken;
    return taken;
}

void EventChannel::ready(std::uint32_t events) {
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
        // The hang-up would be reported until the descriptor is closed, which objects of the client
        // may delay.
        poller_.remove(std::exchange(poll_id_, 0));
        stats_.dropped += std::exchange(waiting_, {}).size();
        waiting_of_.clear();
        const auto closed = closed_;
        closed(*this);  // may delete this object
        return;
    }
    flush();
}

void EventChannel::watch(std::uint32_t events) {
    if (poll_id_ != 0) {
        poller_.change(poll_id_, events);
    }
}

void EventPause::add(std::shared_ptr<EventChannel> channel, bool unread) {
    channels_.reserve(channels_.size() + 1);
    channel->pause(unread);
    channels_.push_back(std::move(channel));
}

EventPause::~EventPause() {
    for (const auto& channel : channels_) {
        channel->resume();
    }
}

EventChannel* EventPause::missing() const {
    const auto found =
        std::ranges::find_if(channels_, [](const auto& channel) { return !channel->is_back(); });
    return found == channels_.end() ? nullptr : found->get();
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
