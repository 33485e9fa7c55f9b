// SPDX-License-Identifier: BSD-2-Clause
//
// Completion channels and async descriptors: a SOCK_SEQPACKET pair, one event a message. The client
// has one end, so that read, poll and O_NONBLOCK are as on the kernel's descriptors.
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
    std::uint64_t taken_back = 0;  ///< unread ones of an object that was destroyed
    std::uint64_t dropped = 0;     ///< of clients that read none
};

class EventChannel final : public Pollable, public std::enable_shared_from_this<EventChannel> {
  public:
    enum class Kind { kCompletion, kAsync };
    struct Event {
        std::uint64_t element = 0;  ///< user handle of the object, or a port number
        std::uint32_t type = 0;     ///< enum ibv_event_type; async only
    };

    /// Descriptors that the card keeps of a channel: its end, and a copy of the client's.
    static constexpr std::size_t kKept = 2;
    /// `closed` is called once the client has closed its last copy. Throws ErrnoError.
    EventChannel(Kind kind, Poller& poller, EventStats& stats,
                 std::function<void(EventChannel&)> closed,
                 std::shared_ptr<Account> account = nullptr);
    ~EventChannel() override;
    EventChannel(const EventChannel&) = delete;
    EventChannel& operator=(const EventChannel&) = delete;

    [[nodiscard]] Kind kind() const { return kind_; }
    /// The client's end; only once, to be given away.
    UniqueFd give_client_end() { return std::move(client_end_); }
    /// Whether this is a copy of the client's end.
    [[nodiscard]] bool is(int fd) const;

    /// While there is a hold, the card keeps a copy of the client's end: `copy`.
    void hold(int copy);
    void release();

    /// Never blocks; what does not fit waits here, up to a limit. False: dropped, it is not
    /// reported to the client.
    [[nodiscard]] bool post(const Event& event);
    /// Until resume() what is posted waits here. `unread`: what the client has not read comes back
    /// here, on another thread, as the client may hold its end for as long as it likes, by a read
    /// into memory that faults. ErrnoError: no thread, or no descriptor.
    void pause(bool unread);
    void resume();
    /// Whether all that is to come back is here.
    [[nodiscard]] bool is_back() const { return reading_ == nullptr; }
    /// `waiter` is told when it is.
    void await_back(Waiter& waiter) { waiters_.add(waiter); }
    /// Takes those of the events here that `mine` accepts. Returns how many.
    unsigned take_back(const std::function<bool(const Event&)>& mine);

    void ready(std::uint32_t events) override;

  private:
    class Reading;
    void came_back();
    /// Sends what waits here, as far as there is room.
    void flush();
    bool send(const Event& event);
    bool queue(const Event& event);
    [[nodiscard]] bool waits(const Event& event) const;
    void push(const Event& event);
    void pop();
    /// Asks for EPOLL* of our end; nothing once the client has closed or shut down its own.
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
    struct stat client_file_ {};  ///< the client's end, while it exists: which file that is
    UniqueFd held_;
    unsigned holds_ = 0;
    Poller::Id poll_id_ = 0;
    std::deque<Event> waiting_;
    /// waiting events by object
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::size_t> waiting_of_;
    unsigned pauses_ = 0;
    /// while another thread reads back the client's unread events
    std::unique_ptr<Reading> reading_;
    Waiters waiters_;  ///< for its end
};

/// For a request that destroys an object with events: its channels are paused.
class EventPause {
  public:
    EventPause() = default;
    EventPause(const EventPause&) = delete;
    EventPause& operator=(const EventPause&) = delete;
    ~EventPause();

    /// As EventChannel::pause().
    void add(std::shared_ptr<EventChannel> channel, bool unread);
    /// A channel whose events are not back yet; nullptr: none.
    [[nodiscard]] EventChannel* missing() const;

  private:
    std::vector<std::shared_ptr<EventChannel>> channels_;
};
/// Not an error: the request is served again when the events are back.
struct NotBack {
    std::shared_ptr<EventPause> pause;
};

/// A hold on a channel; empty: no channel.
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
