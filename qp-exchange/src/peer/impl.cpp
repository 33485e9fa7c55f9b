// SPDX-License-Identifier: BSD-2-Clause
#include "peer/impl.h"

#include <algorithm>
#include <utility>

namespace qpx {

namespace {

const char* name_of(wire::Type type) {
    switch (type) {
        case wire::Type::Endpoints:
            return "exchange()";
        case wire::Type::Accept:
            return "the end of exchange()";
        case wire::Type::Data:
            return "send()";
        case wire::Type::Barrier:
            return "barrier()";
        default:
            return "another call";
    }
}

const char* wanted_by(wire::Type type) {
    return type == wire::Type::Data ? "receive()" : name_of(type);
}

std::vector<std::byte> message_of(const wire::FrameView& frame) {
    std::vector<std::byte> message;
    for (wire::FieldReader fields(frame.payload); const auto field = fields.next();) {
        if (field->tag != wire::tag::data) {
            field->skip();
            continue;
        }
        message.assign(field->value.begin(), field->value.end());
    }
    return message;
}

/// Symmetric: both sides get the same result.
std::string why_no_pair(std::span<const Endpoint> mine, std::span<const Endpoint> theirs) {
    const auto all_ud = [](std::span<const Endpoint> list) {
        for (const Endpoint& endpoint : list) {
            if (endpoint.type != QpType::UD) {
                return false;
            }
        }
        return true;
    };
    if (mine.size() != theirs.size()) {
        return all_ud(mine) && all_ud(theirs)
                   ? std::string()
                   : "one side offers " + std::to_string(std::min(mine.size(), theirs.size())) +
                         " queue pairs, the other " +
                         std::to_string(std::max(mine.size(), theirs.size()));
    }
    for (std::size_t i = 0; i < mine.size(); ++i) {
        if (const std::string why = why_incompatible(mine[i], theirs[i]); !why.empty()) {
            return (mine.size() > 1 ? "queue pair " + std::to_string(i) + ": " : "") + why;
        }
    }
    return {};
}

}  // namespace

Connection::Impl::Impl(peer::Session session, const PeerOptions& options,
                       std::unique_ptr<net::Interrupt> interrupt)
    : frames_(std::move(session)),
      limits_(options.limits),
      timeout_(options.timeout),
      interrupt_(std::move(interrupt)) {}

Connection::Impl::~Impl() {
    close();
}

void Connection::Impl::check_open() const {
    if (!ended_.empty()) {
        throw Error(ErrorCode::PeerGone, "this connection has already ended: " + ended_);
    }
}

/// Updates the readiness of fd() at the end of a call, also by an exception.
struct Connection::Impl::Updated {
    Impl& impl;
    ~Updated() { impl.update(); }
};

template <class Call>
auto Connection::Impl::guarded(Call call, bool resumable) {
    check_open();
    const Updated updated{*this};
    try {
        return call();
    } catch (const Error& error) {
        if (resumable &&
            (error.code() == ErrorCode::Timeout || error.code() == ErrorCode::Cancelled)) {
            throw;
        }
        const bool told = error.code() == ErrorCode::PeerGone || error.code() == ErrorCode::Refused;
        if (!told) {
            refuse(error.detail() != 0 ? static_cast<wire::Reason>(error.detail())
                                       : wire::reason_of(error.code()),
                   error.what());
        }
        if (ended_.empty()) {
            ended_ = error.what();
        }
        throw;
    }
}

bool Connection::Impl::read_some() {
    // Above the limit a whole frame is buffered: stop reading until this side has consumed it.
    return wants_bytes() && (frames_.read_some() > 0 || frames_.closed());
}

int Connection::Impl::fd() {
    if (!readiness_) {
        readiness_ = std::make_unique<net::Readiness>();
        readiness_->watch(interrupt_->fd(), true, false);
        if (stream().pollable()) {
            readiness_->watch(stream().fd(), true, false);
        }
        update();
    }
    return readiness_->fd();
}

bool Connection::Impl::peer_gone() const {
    if (!ended_.empty() || frames_.closed() || !stream().pollable()) {
        return !ended_.empty() || frames_.closed();
    }
    pollfd look = {stream().fd(), POLLRDHUP, 0};
    return ::poll(&look, 1, 0) > 0;  // hang-up or error: no other event is requested
}

void Connection::Impl::update() {
    if (readiness_) {
        readiness_->set(!ended_.empty() || frames_.has_something());
        if (!stream().pollable()) {
            readiness_->wake_at(net::Clock::now() + net::Readiness::tick);
        }
    }
}

void Connection::Impl::throw_last_words() {
    try {
        while (read_some()) {
        }
    } catch (const Error&) {
        // Frames received before the connection broke are in the reader.
    }
    while (const auto frame = frames_.next()) {
        if (frame->header.type == wire::Type::Refuse) {
            throw wire::refused(wire::decode_refusal(frame->payload), "the peer");
        }
    }
}

bool Connection::Impl::pump() {
    bool moved = false;
    try {
        moved = frames_.write_queued() > 0;
    } catch (const Error&) {
        throw_last_words();
        throw;
    }
    return read_some() || moved;
}

void Connection::Impl::flush(net::Deadline deadline) {
    while (pump(), frames_.unsent() != 0) {
        if (frames_.closed()) {
            throw_last_words();
            throw Error(ErrorCode::PeerGone, "the peer ended while this side was sending");
        }
        if (!frames_.stream().wait(wants_bytes(), true, deadline)) {
            throw Error(ErrorCode::Timeout,
                        "the peer does not read this data: it has not called receive()");
        }
    }
}

std::optional<wire::FrameView> Connection::Impl::take(wire::Type type) {
    const auto frame = frames_.next();
    if (!frame) {
        if (frames_.closed()) {
            throw Error(ErrorCode::PeerGone, "the peer ended without a good-bye: its process died");
        }
        return std::nullopt;
    }
    const wire::Type got = frame->header.type;
    if (got == wire::Type::Refuse) {
        throw wire::refused(wire::decode_refusal(frame->payload), "the peer");
    }
    if (got == wire::Type::Bye) {
        throw Error(ErrorCode::PeerGone, "the peer has closed the connection");
    }
    if (got != type) {
        throw Error(ErrorCode::Protocol, std::string("one side is in ") + wanted_by(type) +
                                             ", the other in " + name_of(got) +
                                             ": both must make the same calls in the same order");
    }
    return frame;
}

wire::FrameView Connection::Impl::expect(wire::Type type, net::Deadline deadline) {
    for (;;) {
        if (const auto frame = take(type)) {
            return *frame;
        }
        if (!pump() && !frames_.stream().wait(wants_bytes(), frames_.unsent() != 0, deadline)) {
            throw Error(ErrorCode::Timeout,
                        std::string("the peer does not answer: it has not called ") +
                            (type == wire::Type::Data ? "send()" : name_of(type)));
        }
    }
}

void Connection::Impl::check_mine(std::span<const Endpoint> mine) const {
    const Limits& limits = frames_.theirs().limits;
    if (mine.empty()) {
        throw Error(ErrorCode::Argument, "exchange() needs an endpoint");
    }
    if (mine.size() > limits.max_endpoints) {
        throw Error(ErrorCode::Limit, "the peer takes at most " +
                                          std::to_string(limits.max_endpoints) + " endpoints");
    }
    std::size_t size = 0;
    for (const Endpoint& endpoint : mine) {
        if (const std::string why = why_invalid(endpoint); !why.empty()) {
            throw Error(ErrorCode::Argument, "invalid endpoint: " + why);
        }
        if (endpoint.regions.size() > limits.max_regions ||
            endpoint.application.size() > limits.max_application) {
            throw Error(ErrorCode::Limit, "the peer takes at most " +
                                              std::to_string(limits.max_regions) + " regions and " +
                                              std::to_string(limits.max_application) +
                                              " application bytes in an endpoint");
        }
        size += wire::encoded_size(endpoint);
    }
    if (size > limits.max_frame) {
        throw Error(ErrorCode::Limit, "the endpoints make " + std::to_string(size) +
                                          " bytes, the peer takes " +
                                          std::to_string(limits.max_frame));
    }
}

std::vector<Endpoint> Connection::Impl::exchange(std::span<const Endpoint> mine) {
    check_open();
    check_mine(mine);
    return guarded([&] {
        const auto until = deadline();
        wire::encode(frames_.out(), mine, frames_.take_sequence());
        std::vector<Endpoint> theirs =
            wire::decode_endpoints(expect(wire::Type::Endpoints, until).payload, limits_);
        if (const std::string why = why_no_pair(mine, theirs); !why.empty()) {
            refuse(wire::Reason::Mismatch, why);
            throw Error(ErrorCode::Refused, why, static_cast<int>(wire::Reason::Mismatch));
        }
        wire::FrameWriter(frames_.out(), wire::Type::Accept).finish(frames_.take_sequence());
        for (wire::FieldReader fields(expect(wire::Type::Accept, until).payload);
             const auto field = fields.next();) {
            field->skip();
        }
        flush(until);
        return theirs;
    });
}

void Connection::Impl::send(std::span<const std::byte> message) {
    check_open();
    if (message.size() + wire::field_header_size > frames_.theirs().limits.max_frame) {
        throw Error(
            ErrorCode::Limit,
            "a message of " + std::to_string(message.size()) + " bytes: the peer takes " +
                std::to_string(frames_.theirs().limits.max_frame - wire::field_header_size));
    }
    guarded([&] {
        wire::FrameWriter writer(frames_.out(), wire::Type::Data);
        writer.bytes(wire::tag::data, message, wire::must_understand);
        writer.finish(frames_.take_sequence());
        flush(deadline());
    });
}

std::vector<std::byte> Connection::Impl::receive() {
    return guarded([&] { return message_of(expect(wire::Type::Data, deadline())); }, true);
}

std::optional<std::vector<std::byte>> Connection::Impl::try_receive() {
    return guarded(
        [&]() -> std::optional<std::vector<std::byte>> {
            interrupt_->check();
            do {
                if (const auto frame = take(wire::Type::Data)) {
                    return message_of(*frame);
                }
            } while (pump());
            return std::nullopt;
        },
        true);
}

void Connection::Impl::barrier() {
    guarded([&] {
        const auto until = deadline();
        wire::FrameWriter writer(frames_.out(), wire::Type::Barrier);
        writer.u32(wire::tag::round, round_, wire::must_understand);
        writer.finish(frames_.take_sequence());
        std::optional<std::uint32_t> theirs;
        for (wire::FieldReader fields(expect(wire::Type::Barrier, until).payload);
             const auto field = fields.next();) {
            if (field->tag != wire::tag::round) {
                field->skip();
                continue;
            }
            theirs = field->u32();
        }
        if (theirs != round_) {
            throw Error(ErrorCode::Protocol,
                        "barrier() number " + std::to_string(round_) +
                            " does not match the peer's: both must call barrier() equally often");
        }
        ++round_;
        flush(until);
    });
}

void Connection::Impl::refuse(wire::Reason reason, const std::string& text) noexcept {
    if (!ended_.empty()) {
        return;
    }
    try {
        ended_ = "this side refused: " + text;
        wire::encode(frames_.out(), wire::Refusal{reason, text}, frames_.take_sequence());
        frames_.finish();
    } catch (const std::exception&) {
        ended_ = "the peer is gone";
    }
    update();
}

void Connection::Impl::close() noexcept {
    if (!ended_.empty()) {
        return;
    }
    try {
        ended_ = "this side closed it";
        wire::FrameWriter(frames_.out(), wire::Type::Bye).finish(frames_.take_sequence());
        frames_.write_queued();
        frames_.stream().shutdown();
    } catch (const std::exception&) {
        ended_ = "the peer is gone";
    }
    update();
}

}  // namespace qpx
