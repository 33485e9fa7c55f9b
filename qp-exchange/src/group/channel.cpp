// SPDX-License-Identifier: BSD-2-Clause
#include "group/channel.h"

#include <algorithm>
#include <utility>

#include "wire/frame.h"
#include "wire/messages.h"

namespace qpx::service {
namespace {

constexpr size_t part_size = 256 << 10;
constexpr std::chrono::milliseconds cancel_time{2000};
constexpr std::chrono::milliseconds retry_pause{50};

std::string seconds(std::chrono::milliseconds time) {
    const auto ms = time.count();
    std::string text = std::to_string(ms / 1000);
    if (ms % 1000 != 0) {
        text += "." + std::to_string(ms % 1000 + 1000).substr(1);
        text.erase(text.find_last_not_of('0') + 1);
    }
    return text + " s";
}

}  // namespace

Channel::Channel(const Url& url, const Security& security, int family,
                 std::chrono::milliseconds timeout, bool retry, bool stop_on_signal)
    : interrupt_(stop_on_signal),
      who_(url.scheme + "://" +
           (url.host.find(':') != std::string::npos ? "[" + url.host + "]" : url.host) + ":" +
           std::to_string(url.port)) {
    const auto deadline = net::Deadline::in(timeout, &interrupt_);
    while (true) {
        try {
            greet(url, security, family, deadline);
            return;
        } catch (const Error& error) {
            // Detail 0: a closed port, not a refusal. The server may start later.
            if (!retry || error.code() != ErrorCode::Refused || error.detail() != 0 ||
                deadline.passed()) {
                throw;
            }
        }
        deadline.pause(retry_pause);
    }
}

void Channel::greet(const Url& url, const Security& security, int family, net::Deadline deadline) {
    auto stream = net::connect_tcp_stream(url.host, url.port, family, deadline);
    if (security.on()) {
        stream = net::make_tls_stream(net::make_tls(security, net::Role::Client), std::move(stream),
                                      url.host);
    }
    frames_ = peer::FrameStream(peer::shake_hands(
        std::move(stream),
        peer::make_hello(wire::feature_service, wire::feature_service, PeerOptions{}), deadline,
        who_ + " accepted the connection but does not answer: is it a running qpxd?",
        who_ + " does not answer: its greeting is incomplete"));
}

Channel::~Channel() {
    if (ended_.empty() && frames_) {
        try {
            wire::FrameWriter(frames_.out(), wire::Type::Bye).finish(frames_.take_sequence());
            frames_.write_queued();
            frames_.stream().shutdown();
        } catch (const Error&) {
            ended_ = "gone";
        }
    }
}

struct Channel::Updated {
    Channel& channel;
    ~Updated() { channel.update(); }
};

void Channel::check_usable() const {
    if (!ended_.empty()) {
        throw Error(ErrorCode::PeerGone, who_ + ": the connection has already ended: " + ended_);
    }
}

void Channel::broken(const Error& error) {
    ended_ = error.what();
    throw Error(error.code(), who_ + ": " + error.what(), error.detail());
}

// Queues the whole message or, if it throws, nothing. @throws Error(Limit)
void Channel::queue(const Message& message, const char* what) {
    Bytes& out = frames_.out();
    const size_t before = out.size();
    try {
        encode(message, frames_.next_sequence(), out);
        const size_t payload = out.size() - before - wire::header_size;
        if (const size_t most = frames_.theirs().limits.max_frame; payload > most) {
            throw Error(ErrorCode::Limit, std::string(what) + ": a message of " +
                                              std::to_string(payload) + " bytes, more than the " +
                                              std::to_string(most) + " that the service takes");
        }
    } catch (...) {
        out.resize(before);
        throw;
    }
    frames_.take_sequence();
}

// Sends and receives bytes; waits if none can be moved. @return false if the deadline passed
bool Channel::pump(net::Deadline deadline) {
    std::optional<Error> write_error;
    try {
        frames_.write_queued();
    } catch (const Error& error) {
        write_error = error;  // the peer's reason may be unread
    }
    if (frames_.read_some() > 0 || (frames_.closed() && frames_.partial() != 0)) {
        return true;
    }
    if (write_error) {
        throw *write_error;
    }
    if (frames_.closed()) {
        throw Error(ErrorCode::PeerGone, "the service has ended the connection");
    }
    return frames_.stream().wait(true, frames_.unsent() != 0, deadline);
}

std::optional<Message> Channel::next_message() {
    const auto frame = frames_.next();
    if (!frame) {
        if (frames_.closed()) {
            throw Error(ErrorCode::PeerGone, "the service has ended the connection");
        }
        return std::nullopt;
    }
    if (frame->header.type == wire::Type::Refuse) {
        throw wire::refused(wire::decode_refusal(frame->payload), "the service");
    }
    return decode(static_cast<uint8_t>(frame->header.type), frame->payload);
}

int Channel::fd() {
    if (!readiness_) {
        readiness_ = std::make_unique<net::Readiness>();
        readiness_->watch(interrupt_.fd(), true, false);
        readiness_->watch(frames_.stream().fd(), true, false);
        update();
    }
    return readiness_->fd();
}

// Updates the readiness of fd(); called after each call.
void Channel::update() noexcept {
    if (readiness_) {
        readiness_->set(!ended_.empty() || !events_.empty() || frames_.has_something());
    }
}

void Channel::keep_events(const Message& message) {
    if (message.options & events_lost) {
        events_.push_back({.kind = GroupEvent::Kind::Lost});
    }
    for (const Record& record : read_records(message.records)) {
        events_.push_back({.kind = record.kind == EventKind::Joined ? GroupEvent::Kind::Joined
                                   : record.kind == EventKind::Left ? GroupEvent::Kind::Left
                                                                    : GroupEvent::Kind::Failed,
                           .rank = record.rank,
                           .name = std::string(record.name),
                           .reason = std::string(record.text)});
    }
}

void Channel::call(Message request, std::chrono::milliseconds timeout, const char* what,
                   const OnAnswer& on_answer) {
    check_usable();
    request.request = ++last_request_;
    queue(request, what);
    run(request.request, timeout, what, on_answer);
}

void Channel::call_with_items(Message request, View items, std::chrono::milliseconds timeout,
                              const char* what, const OnAnswer& on_answer) {
    check_usable();
    const size_t most = frames_.theirs().limits.max_frame - frame_overhead;
    // All items are checked before the first part is queued: the service would wait for the rest.
    for (Items each(items); each.next();) {
        if (item_overhead + each.bytes().size() > most) {
            throw Error(ErrorCode::Limit, std::string(what) + ": the item for rank " +
                                              std::to_string(each.rank()) + " has " +
                                              std::to_string(each.bytes().size()) +
                                              " bytes, more than the service takes");
        }
    }
    request.request = ++last_request_;
    const size_t room = std::min(part_size, most);
    const uint32_t options = request.options;
    Items each(items);
    const std::byte* begin = items.data();
    size_t size = 0;
    const auto part = [&](bool last) {
        request.items = View(begin, size);
        request.options = options | (last ? uint32_t{last_part} : 0);
        queue(request, what);
        begin += size;
        size = 0;
    };
    while (each.next()) {
        const size_t more = item_overhead + each.bytes().size();
        if (size != 0 && size + more > room) {
            part(false);
        }
        size += more;
    }
    part(true);
    run(request.request, timeout, what, on_answer);
}

void Channel::run(uint32_t request, std::chrono::milliseconds timeout, const char* what,
                  const OnAnswer& on_answer) {
    net::Deadline deadline = net::Deadline::in(timeout, &interrupt_);
    uint32_t cancel = 0;
    std::optional<Error> cancelled;
    const Updated updated{*this};
    const auto timed_out = [&](const std::string& missing) {
        if (cancelled) {
            throw Error(cancelled->code(), std::string(what) + ": " + cancelled->what(),
                        cancelled->detail());
        }
        throw Error(ErrorCode::Timeout, std::string(what) + ": not done after " + seconds(timeout) +
                                            (missing.empty() ? "" : "; " + missing));
    };
    while (true) {
        std::optional<Message> message;
        bool in_time = true;
        try {
            message = next_message();
            if (message && message->type == Type::Events) {
                keep_events(*message);
                continue;
            }
            if (!message) {
                in_time = pump(deadline);
            }
        } catch (const Error& error) {
            if (error.code() != ErrorCode::Cancelled) {
                broken(error);
            }
            cancelled = error;
            in_time = false;
        }
        if (message && message->request == request) {
            if (message->type == Type::Failed) {
                throw Error(message->code, std::string(what) + ": " + std::string(message->text));
            }
            if (on_answer(*message)) {
                if (cancelled && cancelled->detail() == 0) {
                    interrupt_.cancel();  // the answer came first: cancel the next call
                }
                return;
            }
            if (cancel != 0) {
                deadline = net::Deadline::in(cancel_time);  // the service sends all parts first
            }
        } else if (message && cancel != 0 && message->request == cancel) {
            timed_out(std::string(message->text));
        } else if (!message && !in_time && cancel == 0) {
            // The service says what is missing. An answer that is already in transit still counts.
            cancel = ++last_request_;
            queue({.type = Type::Cancel, .request = cancel, .rank = request}, what);
            deadline = net::Deadline::in(cancel_time);
        } else if (!message && !in_time) {
            timed_out("the service does not answer");
        }
    }
}

std::optional<GroupEvent> Channel::next_event() {
    const Updated updated{*this};
    interrupt_.check();
    if (events_.empty()) {
        check_usable();
        try {
            frames_.write_queued();
            while (frames_.read_some() > 0) {
            }
            while (frames_.partial() != 0) {
                const auto message = next_message();
                if (!message) {
                    break;
                }
                if (message->type == Type::Events) {
                    keep_events(*message);
                }
            }
            if (events_.empty() && frames_.closed()) {
                throw Error(ErrorCode::PeerGone, "the service has ended the connection");
            }
        } catch (const Error& error) {
            broken(error);
        }
    }
    if (events_.empty()) {
        return std::nullopt;
    }
    GroupEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
}

void Channel::wait_readable(std::chrono::milliseconds time) {
    frames_.stream().wait(true, false, net::Deadline::in(time, &interrupt_));
}

void Channel::send_last(Message request) noexcept {
    try {
        if (ended_.empty()) {
            request.request = ++last_request_;
            queue(request, "the last request");
            frames_.write_queued();
        }
    } catch (const Error& error) {
        ended_ = error.what();
    }
}

std::string fetch_status(const Url& url, const Security& security) {
    Url where = url;
    if (where.scheme != "qpxd" && where.scheme != "tcp") {
        throw Error(ErrorCode::Argument, to_string(url) + ": the status is at qpxd://host:port");
    }
    where.port = where.port == 0 ? default_port : where.port;
    constexpr std::chrono::seconds patience{10};
    Channel channel(where, security, 0, patience, false);
    std::string json;
    channel.call({.type = Type::Status}, patience, "status", [&](const Message& m) {
        json += text_of(m.items);
        return (m.options & last_part) != 0;
    });
    return json;
}

}  // namespace qpx::service
