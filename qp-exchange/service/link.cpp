// SPDX-License-Identifier: BSD-2-Clause
#include "service/link.h"

#include <array>
#include <utility>

namespace qpx::service {
namespace {

constexpr size_t read_per_step = 1 << 20;  // then other clients have their turn
constexpr size_t write_per_pull = 256 << 10;

std::string with_port(const std::string& host, uint16_t port) {
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace

Link::Link(std::unique_ptr<net::Stream> stream, const wire::Hello& hello, Registry& registry)
    : registry_(registry),
      fd_(stream->fd()),
      max_frame_(hello.limits.max_frame),
      host_(stream->peer_address()),
      address_(with_port(host_, stream->peer_port())) {
    handshake_ = std::make_unique<peer::Handshake>(std::move(stream), net::Role::Server, hello);
}

Link::~Link() = default;

void Link::close(std::string_view reason, Time now) {
    if (client_) {
        registry_.close(*std::exchange(client_, std::nullopt), reason, now);
    }
    if (end_.empty()) {
        end_ = reason;
    }
    handshake_.reset();
    session_.reset();
}

void Link::refuse(wire::Reason reason, const std::string& text, Time now) {
    if (handshake_) {
        handshake_->refuse(reason, text);
    } else if (session_) {
        try {
            net::Stream& stream = *session_->stream;
            // A refusal in the middle of another frame would be taken for its bytes.
            if (unsent_.empty()) {
                Bytes out;
                // The registry has numbered all frames before this one.
                wire::encode(out, wire::Refusal{reason, text}, registry_.next_sequence(*client_));
                stream.write(out);
            }
            stream.shutdown();
            // Unread bytes would make the kernel send a reset in place of the refusal.
            std::array<std::byte, 4096> unread{};
            for (int i = 0; i < 16 && stream.read(unread).bytes > 0; ++i) {
            }
        } catch (const Error&) {
            end_ = "gone";
        }
    }
    close(text, now);
}

void Link::count(const Error& error) {
    Counters& counters = registry_.counters();
    switch (error.code()) {
        case ErrorCode::Version:
            ++counters.refused_version;
            break;
        case ErrorCode::Auth:
            ++counters.refused_auth;
            break;
        case ErrorCode::Limit:
            ++counters.oversized;
            break;
        case ErrorCode::Protocol:
            ++counters.protocol_errors;
            break;
        case ErrorCode::Timeout:
            ++counters.slow_readers;
            break;
        default:
            break;
    }
}

Link::State Link::failed(const Error& error, Time now) {
    count(error);
    if (error.code() == ErrorCode::PeerGone || handshake_) {
        registry_.counters().refused_handshake += handshake_ ? 1 : 0;
        close(error.what(), now);  // the handshake has said why
    } else {
        refuse(error.detail() != 0 ? static_cast<wire::Reason>(error.detail())
                                   : wire::reason_of(error.code()),
               error.what(), now);
    }
    return State::Closed;
}

Link::State Link::step(Time now) {
    wants_step_ = false;
    try {
        if (handshake_) {
            return shake(now);
        }
        return receive(now);
    } catch (const Error& error) {
        return failed(error, now);
    }
}

Link::State Link::shake(Time now) {
    const net::Want want = handshake_->step();
    wants_write_ = want == net::Want::Write;
    if (want != net::Want::Nothing) {
        return State::Open;
    }
    session_ = std::make_unique<peer::Session>(handshake_->take());
    handshake_.reset();
    client_ = registry_.open({.address = address_,
                              .identity = session_->stream->identity(),
                              .max_frame = session_->theirs.limits.max_frame,
                              .first_sequence = session_->next_send});
    const uint32_t least = static_cast<uint32_t>(registry_.limits().max_value) + 4096;
    if (session_->theirs.limits.max_frame < least) {
        throw Error(ErrorCode::Limit, "a member must take frames of " + std::to_string(least) +
                                          " bytes, for the largest values of this service");
    }
    session_->theirs = {};
    // What came right behind the HELLO is in the reader already.
    return read_frames(now) ? receive(now) : State::Closed;
}

// @return false: the client has said good-bye
bool Link::read_frames(Time now) {
    while (const auto frame = session_->reader.next()) {
        const wire::Type type = frame->header.type;
        if (type == wire::Type::Refuse) {
            const wire::Refusal refusal = wire::decode_refusal(frame->payload);
            close("said: " + refusal.text, now);
            return false;
        }
        session_->check_sequence(frame->header);
        if (type == wire::Type::Bye) {
            close("closed the connection without leaving", now);
            return false;
        }
        registry_.handle(*client_, decode(static_cast<uint8_t>(type), frame->payload), now);
        partial_since_.reset();
    }
    return true;
}

Link::State Link::receive(Time now) {
    size_t total = 0;
    while (total < read_per_step) {
        const net::Io io = session_->stream->read(session_->reader.space());
        if (io.closed) {
            close("closed the connection without leaving: its process ended", now);
            return State::Closed;
        }
        if (io.bytes == 0) {
            break;
        }
        total += io.bytes;
        registry_.counters().bytes_in += io.bytes;
        session_->reader.received(io.bytes);
        if (!read_frames(now)) {
            return State::Closed;
        }
    }
    wants_step_ = total >= read_per_step && session_->stream->pending();
    if (session_->reader.partial() != 0) {
        if (!partial_since_) {
            partial_since_ = now;
        }
    } else {
        partial_since_.reset();
        // An idle member holds no buffer.
        session_->reader = wire::FrameReader(max_frame_);
    }
    return State::Open;
}

Link::State Link::flush(Time now) {
    if (!session_) {
        return State::Open;
    }
    try {
        while (true) {
            if (unsent_.empty()) {
                registry_.output(*client_, unsent_, write_per_pull);
            }
            if (unsent_.empty()) {
                wants_write_ = false;
                return State::Open;
            }
            size_t sent = 0;
            while (sent < unsent_.size()) {
                const net::Io io = session_->stream->write(View(unsent_).subspan(sent));
                if (io.bytes == 0) {
                    break;
                }
                sent += io.bytes;
            }
            registry_.counters().bytes_out += sent;
            if (sent < unsent_.size()) {
                unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<ptrdiff_t>(sent));
                wants_write_ = true;
                return State::Open;
            }
            Bytes().swap(unsent_);  // gives the memory back
        }
    } catch (const Error& error) {
        return failed(error, now);
    }
}

}  // namespace qpx::service
