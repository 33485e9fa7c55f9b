// SPDX-License-Identifier: BSD-2-Clause
//
// Completion channels and async descriptors: a SOCK_SEQPACKET pair with one event per message. The
// client has one end, so read(), poll() and O_NONBLOCK work as on the kernel's descriptors.
#pragma once

#include <infiniband/verbs.h>
#include <sys/stat.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/poller.h"
#include "base/quota.h"
#include "base/unique_fd.h"
#include "host/driver/waiter.h"

namespace dingo::uverbs {

inline constexpr int kDeviceFatal = IBV_EVENT_DEVICE_FATAL;

struct EventStats {
    std::uint64_t sent = 0;
    std::uint64_t taken_back = 0;  ///< unread events of destroyed objects
    std::uint64_t dropped = 0;     ///< events of clients that do not read
};

class EventChannel final : public Pollable, public std::enable_shared_from_this<EventChannel> {
  public:
    enum class Kind { kCompletion, kAsync };
    struct Event {
        std::uint64_t element = 0;  ///< user handle of the object, or a port number
        std::uint32_t type = 0;     ///< enum ibv_event_type; async only
    };

    /// Descriptors that the card keeps per channel: its own end and a copy of the client's.
    static constexpr std::size_t kKept = 2;
    /// `closed` is called after the client has closed its last copy. Throws ErrnoError.
    EventChannel(Kind kind, Poller& poller, EventStats& stats,
                 std::function<void(EventChannel&)> closed,
                 std::shared_ptr<Account> account = nullptr);
    ~EventChannel() override;
    EventChannel(const EventChannel&) = delete;
    EventChannel& operator=(const EventChannel&) = delete;

    [[nodiscard]] Kind kind() const { return kind_; }
    /// Returns the client's end, to be passed to the client. Call it once.
    UniqueFd give_client_end() { return std::move(client_end_); }
    /// Returns true if `fd` is a copy of the client's end.
    [[nodiscard]] bool is(int fd) const;

    /// While the channel is held, the card keeps `copy`, a copy of the client's end.
    void hold(int copy);
    void release();

    /// Sends an event; never blocks. Events that do not fit in the socket are queued here, up to a
    /// limit. Returns false if the event was dropped without reporting that to the client.
    [[nodiscard]] bool post(const Event& event);
    /// Queues posted events until resume(). With `unread`, events that the client has not read are
    /// read back on another thread: the client may block its end for any time by a read into memory
    /// that faults. Throws ErrnoError if there is no thread or descriptor.
    void pause(bool unread);
    void resume();
    /// Returns true if all events to be read back are here.
    [[nodiscard]] bool is_back() const { return reading_ == nullptr; }
    /// Calls `waiter` when that is the case.
    void await_back(Waiter& waiter) { waiters_.add(waiter); }
    /// Removes queued events that `mine` accepts and returns their number.
    unsigned take_back(const std::function<bool(const Event&)>& mine);

    void ready(std::uint32_t events) override;

  private:
    class Reading;
    void came_back();
    /// Sends queued events as far as the socket has room.
    void flush();
    bool send(const Event& event);
    bool queue(const Event& event);
    [[nodiscard]] bool waits(const Event& event) const;
    void push(const Event& event);
    void pop();
    /// Sets the EPOLL* events to wait for on the card's end. Does nothing after the client has
    /// closed or shut down its end.
    void watch(std::uint32_t events);
    [[nodiscard]] std::size_t message_size() const;
    [[nodiscard]] bool flows() const { return pauses_ == 0 && reading_ == nullptr; }

    Kind kind_;
    Poller& poller_;
    EventStats& stats_;
    std::function<void(EventChannel&)> closed_;
    std::shared_ptr<Account> account_;
    Charge charge_;
    UniqueFd card_end_;
    UniqueFd client_end_;
    struct stat client_file_ {};  ///< identity of the client's end, while that exists
    UniqueFd held_;
    unsigned holds_ = 0;
    Poller::Id poll_id_ = 0;
    std::deque<Event> waiting_;
    /// waiting events by object
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::size_t> waiting_of_;
    unsigned pauses_ = 0;
    /// while another thread reads back the client's unread events
    std::unique_ptr<Reading> reading_;
    Waiters waiters_;  ///< called when that thread has finished
};

/// Pauses the channels of an object while a request destroys it.
class EventPause {
  public:
    EventPause() = default;
    EventPause(const EventPause&) = delete;
    EventPause& operator=(const EventPause&) = delete;
    ~EventPause();

    /// As EventChannel::pause().
    void add(std::shared_ptr<EventChannel> channel, bool unread);
    /// Returns a channel whose events are not back yet, nullptr if there is none.
    [[nodiscard]] EventChannel* missing() const;

  private:
    std::vector<std::shared_ptr<EventChannel>> channels_;
};
/// Thrown, but not an error: the request is executed again when the events are back.
struct NotBack {
    std::shared_ptr<EventPause> pause;
};

/// A hold on a channel; may be empty.
class HeldChannel {
  public:
    HeldChannel() = default;
    HeldChannel(std::shared_ptr<EventChannel> channel, int copy);
    HeldChannel(HeldChannel&&) = default;
    HeldChannel& operator=(HeldChannel&&) = delete;
    ~HeldChannel();

    explicit operator bool() const { return channel_ != nullptr; }
    EventChannel* operator->() const { return channel_.get(); }
    [[nodiscard]] const std::shared_ptr<EventChannel>& channel() const { return channel_; }

  private:
    std::shared_ptr<EventChannel> channel_;
};

}  // namespace dingo::uverbs
