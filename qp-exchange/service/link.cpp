// SPDX-License-Identifier: BSD-2-Clause
#include "service/link.h"

#include <utility>

namespace qpx::service {
namespace {

constexpr size_t read_per_step = 128 << 10;  // then other clients are served
constexpr size_t write_per_pull = 256 << 10;

std::string with_port(const std::string& host, uint16_t port) {
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace

Link::Link(std::unique_ptr<net::Stream> stream, const wire::Hello& hello, Registry& registry)
    : registry_(registry),
      fd_(stream->fd()),
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
    frames_.reset();
}

void Link::refuse(wire::Reason reason, const std::string& text, Time now) {
    if (handshake_) {
        handshake_->refuse(reason, text);
    } else if (frames_) {
        try {
            // If a frame is half sent, a refusal would be read as part of it.
            if (frames_->unsent() == 0) {
                // The registry has numbered all frames before this one.
                wire::encode(frames_->out(), wire::Refusal{reason, text},
                             registry_.next_sequence(*client_));
                frames_->finish();
            } else {
                net::end(frames_->stream());
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
        close(error.what(), now);  // the handshake has sent the reason
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
    peer::Session session = handshake_->take();
    handshake_.reset();
    const uint32_t their_max_frame = session.theirs.limits.max_frame;
    client_ = registry_.open({.address = address_,
                              .identity = session.stream->identity(),
                              .max_frame = their_max_frame,
                              .first_sequence = session.next_send},
                             now);
    session.theirs = {};
    frames_ = std::make_unique<peer::FrameStream>(std::move(session));
    const uint32_t least = static_cast<uint32_t>(registry_.limits().max_value) + 4096;
    if (their_max_frame < least) {
        throw Error(ErrorCode::Limit, "a member must take frames of " + std::to_string(least) +
                                          " bytes, for the largest values of this service");
    }
    // Frames right behind the HELLO are in the reader already.
    return read_frames(now) ? receive(now) : State::Closed;
}

// The limit may grow after each frame (JOIN).
std::optional<wire::FrameView> Link::next_frame() {
    frames_->set_max_frame(registry_.longest_message(*client_));
    return frames_->next();
}

// @return false if the client has ended the connection
bool Link::read_frames(Time now) {
    while (const auto frame = next_frame()) {
        const wire::Type type = frame->header.type;
        if (type == wire::Type::Refuse) {
            const wire::Refusal refusal = wire::decode_refusal(frame->payload);
            close("said: " + refusal.text, now);
            return false;
        }
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
        const size_t bytes = frames_->read_some();
        if (frames_->closed()) {
            close("closed the connection without leaving: its process ended", now);
            return State::Closed;
        }
        if (bytes == 0) {
            break;
        }
        total += bytes;
        registry_.counters().bytes_in += bytes;
        if (!read_frames(now)) {
            return State::Closed;
        }
    }
    wants_step_ = total >= read_per_step && frames_->stream().pending();
    registry_.set_begun(*client_, frames_->partial());
    if (frames_->partial() != 0) {
        if (!partial_since_) {
            partial_since_ = now;
        }
    } else {
        partial_since_.reset();
        // An idle member holds no buffer.
        frames_->release_memory(registry_.longest_message(*client_));
    }
    return State::Open;
}

Link::State Link::flush(Time now) {
    if (!frames_) {
        return State::Open;
    }
    try {
        while (true) {
            if (frames_->unsent() == 0) {
                registry_.output(*client_, frames_->out(), write_per_pull);
            }
            wants_write_ = frames_->unsent() != 0;
            if (!wants_write_) {
                frames_->release_memory(registry_.longest_message(*client_));
                return State::Open;
            }
            const size_t before = frames_->unsent();
            const size_t sent = frames_->write_queued();
            registry_.counters().bytes_out += sent;
            registry_.set_unsent(*client_, before - sent);
            if (frames_->unsent() != 0) {
                return State::Open;
            }
        }
    } catch (const Error& error) {
        return failed(error, now);
    }
}

}  // namespace qpx::service
