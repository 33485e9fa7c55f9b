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

/// Both sides compare the same things, so both find the same.
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

Connection::Impl::Impl(peer::Session session, const PeerOptions& options)
    : session_(std::move(session)), limits_(options.limits), timeout_(options.timeout) {}

Connection::Impl::~Impl() {
    close();
}

void Connection::Impl::check_open() const {
    if (!ended_.empty()) {
        throw Error(ErrorCode::PeerGone, "this connection has ended before: " + ended_);
    }
}

template <class Call>
auto Connection::Impl::guarded(Call call, bool resumable) {
    check_open();
    try {
        return call();
    } catch (const Error& error) {
        if (error.code() == ErrorCode::Timeout && resumable) {
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

bool Connection::Impl::write_queued() {
    bool moved = false;
    while (sent_ < out_.size()) {
        const net::Io io = session_.stream->write(std::span(out_).subspan(sent_));
        if (io.bytes == 0) {
            return moved;
        }
        sent_ += io.bytes;
        moved = true;
    }
    out_.clear();
    sent_ = 0;
    return moved;
}

bool Connection::Impl::read_some() {
    // Above the limit a whole frame lies there: the peer is not read faster than this side calls.
    if (!wants_bytes()) {
        return false;
    }
    const net::Io io = session_.stream->read(session_.reader.space());
    session_.reader.received(io.bytes);
    peer_closed_ = io.closed;
    return io.bytes > 0 || io.closed;
}

void Connection::Impl::throw_last_words() {
    try {
        while (!peer_closed_ && read_some()) {
        }
    } catch (const Error&) {
        // What came before the break is in the reader.
        peer_closed_ = true;
    }
    while (const auto frame = session_.reader.next()) {
        if (frame->header.type == wire::Type::Refuse) {
            throw wire::refused(wire::decode_refusal(frame->payload), "the peer");
        }
    }
}

bool Connection::Impl::pump() {
    bool moved = false;
    try {
        moved = write_queued();
    } catch (const Error&) {
        throw_last_words();
        throw;
    }
    return read_some() || moved;
}

void Connection::Impl::flush(net::Deadline deadline) {
    while (pump(), !out_.empty()) {
        if (peer_closed_) {
            throw_last_words();
            throw Error(ErrorCode::PeerGone, "the peer ended while this side was sending");
        }
        if (!session_.stream->wait(wants_bytes(), true, deadline)) {
            throw Error(ErrorCode::Timeout, "the peer takes no bytes: it does not call receive()");
        }
    }
}

wire::FrameView Connection::Impl::expect(wire::Type type, net::Deadline deadline) {
    for (;;) {
        if (const auto frame = session_.reader.next()) {
            const wire::Type got = frame->header.type;
            if (got == wire::Type::Refuse) {
                throw wire::refused(wire::decode_refusal(frame->payload), "the peer");
            }
            session_.check_sequence(frame->header);
            if (got == wire::Type::Bye) {
                throw Error(ErrorCode::PeerGone, "the peer has closed the connection");
            }
            if (got != type) {
                throw Error(ErrorCode::Protocol,
                            std::string("one side is in ") + wanted_by(type) + ", the other in " +
                                name_of(got) + ": both must make the same calls in the same order");
            }
            return *frame;
        }
        if (peer_closed_) {
            throw Error(ErrorCode::PeerGone, "the peer ended without a good-bye: its process died");
        }
        if (!pump() && !session_.stream->wait(wants_bytes(), !out_.empty(), deadline)) {
            throw Error(ErrorCode::Timeout,
                        std::string("the peer does not answer: it has not called ") +
                            (type == wire::Type::Data ? "send()" : name_of(type)));
        }
    }
}

void Connection::Impl::check_mine(std::span<const Endpoint> mine) const {
    const Limits& limits = session_.theirs.limits;
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
            throw Error(ErrorCode::Argument, "this endpoint cannot be: " + why);
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
        const auto deadline = net::Deadline::in(timeout_);
        wire::encode(out_, mine, session_.next_send++);
        std::vector<Endpoint> theirs =
            wire::decode_endpoints(expect(wire::Type::Endpoints, deadline).payload, limits_);
        if (const std::string why = why_no_pair(mine, theirs); !why.empty()) {
            refuse(wire::Reason::Mismatch, why);
            throw Error(ErrorCode::Refused, why, static_cast<int>(wire::Reason::Mismatch));
        }
        wire::FrameWriter(out_, wire::Type::Accept).finish(session_.next_send++);
        for (wire::FieldReader fields(expect(wire::Type::Accept, deadline).payload);
             const auto field = fields.next();) {
            field->skip();
        }
        flush(deadline);
        return theirs;
    });
}

void Connection::Impl::send(std::span<const std::byte> message) {
    check_open();
    if (message.size() + wire::field_header_size > session_.theirs.limits.max_frame) {
        throw Error(ErrorCode::Limit,
                    "a message of " + std::to_string(message.size()) + " bytes: the peer takes " +
                        std::to_string(session_.theirs.limits.max_frame - wire::field_header_size));
    }
    guarded([&] {
        wire::FrameWriter writer(out_, wire::Type::Data);
        writer.bytes(wire::tag::data, message, wire::must_understand);
        writer.finish(session_.next_send++);
        flush(net::Deadline::in(timeout_));
    });
}

std::vector<std::byte> Connection::Impl::receive() {
    return guarded(
        [&] {
            const wire::FrameView frame = expect(wire::Type::Data, net::Deadline::in(timeout_));
            std::vector<std::byte> message;
            for (wire::FieldReader fields(frame.payload); const auto field = fields.next();) {
                if (field->tag != wire::tag::data) {
                    field->skip();
                    continue;
                }
                message.assign(field->value.begin(), field->value.end());
            }
            return message;
        },
        true);
}

void Connection::Impl::barrier() {
    guarded([&] {
        const auto deadline = net::Deadline::in(timeout_);
        wire::FrameWriter writer(out_, wire::Type::Barrier);
        writer.u32(wire::tag::round, round_, wire::must_understand);
        writer.finish(session_.next_send++);
        std::optional<std::uint32_t> theirs;
        for (wire::FieldReader fields(expect(wire::Type::Barrier, deadline).payload);
             const auto field = fields.next();) {
            if (field->tag != wire::tag::round) {
                field->skip();
                continue;
            }
            theirs = field->u32();
        }
        if (theirs != round_) {
            throw Error(ErrorCode::Protocol, "barrier() number " + std::to_string(round_) +
                                                 " meets another one of the peer");
        }
        ++round_;
        flush(deadline);
    });
}

void Connection::Impl::refuse(wire::Reason reason, const std::string& text) noexcept {
    if (!ended_.empty()) {
        return;
    }
    try {
        ended_ = "this side refused: " + text;
        wire::encode(out_, wire::Refusal{reason, text}, session_.next_send++);
        write_queued();
        session_.stream->shutdown();
        // What lies unread at close() would make the kernel send a reset in place of an end.
        for (int i = 0; i < 16 && read_some(); ++i) {
        }
    } catch (const std::exception&) {
        ended_ = "the peer is gone";
    }
}

void Connection::Impl::close() noexcept {
    if (!ended_.empty()) {
        return;
    }
    try {
        ended_ = "this side closed it";
        wire::FrameWriter(out_, wire::Type::Bye).finish(session_.next_send++);
        write_queued();
        session_.stream->shutdown();
    } catch (const std::exception&) {
        ended_ = "the peer is gone";
    }
}

}  // namespace qpx
