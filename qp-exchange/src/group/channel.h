// SPDX-License-Identifier: BSD-2-Clause
// Requests and answers over one connection to the service; received events are queued.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "group/messages.h"
#include "net/readiness.h"
#include "peer/frame_stream.h"
#include "qpx/group.h"
#include "qpx/url.h"

namespace qpx::service {

class Channel {
  public:
    /// Connects and completes the handshake. @param retry retries a closed port until the deadline
    Channel(const Url& url, const Security& security, int family, std::chrono::milliseconds timeout,
            bool retry, bool stop_on_signal = false);
    ~Channel();

    /// Sends a request and passes its answers to `on_answer` until that returns true.
    /// @param what for the text of a timeout, which includes what the service reports as missing
    using OnAnswer = std::function<bool(const Message&)>;
    void call(Message request, std::chrono::milliseconds timeout, const char* what,
              const OnAnswer& on_answer);
    /// Like call(), with a list of items, in as many parts as the service's frame limit requires.
    void call_with_items(Message request, View items, std::chrono::milliseconds timeout,
                         const char* what, const OnAnswer& on_answer);

    std::optional<GroupEvent> next_event();
    /// Waits until bytes were received or the time has passed.
    void wait_readable(std::chrono::milliseconds time);
    /// Sends a last request without waiting for an answer.
    void send_last(Message request) noexcept;

    const net::Stream& stream() const { return frames_.stream(); }
    /// Readable if next_event() must be called.
    int fd();
    void cancel() noexcept { interrupt_.cancel(); }
    /// Sleeps; ended by cancel().
    void pause(std::chrono::milliseconds time) { net::Deadline::in(time, &interrupt_).pause(time); }

  private:
    struct Updated;
    void greet(const Url& url, const Security& security, int family, net::Deadline deadline);
    void queue(const Message& message, const char* what);
    void update() noexcept;
    std::optional<Message> next_message();
    void run(uint32_t request, std::chrono::milliseconds timeout, const char* what,
             const OnAnswer& on_answer);
    bool pump(net::Deadline deadline);
    void keep_events(const Message& message);
    [[noreturn]] void broken(const Error& error);
    void check_usable() const;

    net::Interrupt interrupt_;
    peer::FrameStream frames_;
    std::unique_ptr<net::Readiness> readiness_;  ///< created by the first fd()
    uint32_t last_request_ = 0;
    std::string ended_;
    std::deque<GroupEvent> events_;
    std::string who_;
};

/// Returns the status of a qpxd as JSON text.
std::string fetch_status(const Url& url, const Security& security);

inline constexpr uint16_t default_port = 18516;

}  // namespace qpx::service
