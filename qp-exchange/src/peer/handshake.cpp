// SPDX-License-Identifier: BSD-2-Clause
#include "peer/handshake.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "random.h"

namespace qpx::peer {

namespace {

/// Returns the refusal in bytes that were expected to be TLS, if there is one.
std::optional<wire::Refusal> plain_refusal(std::span<const std::byte> bytes) {
    wire::FrameReader reader;
    while (!bytes.empty()) {
        const auto space = reader.space();
        const std::size_t count = std::min(space.size(), bytes.size());
        std::copy_n(bytes.begin(), count, space.begin());
        reader.received(count);
        bytes = bytes.subspan(count);
    }
    try {
        if (const auto frame = reader.next(); frame && frame->header.type == wire::Type::Refuse) {
            return wire::decode_refusal(frame->payload);
        }
    } catch (const Error&) {
        return std::nullopt;
    }
    return std::nullopt;
}

bool is_frame(std::span<const std::byte> bytes) {
    constexpr std::array<std::byte, 4> magic = {std::byte{'Q'}, std::byte{'P'}, std::byte{'X'},
                                                std::byte{'1'}};
    return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
}

}  // namespace

void Session::check_sequence(const wire::Header& header) {
    if (header.sequence != next_receive) {
        throw Error(ErrorCode::Protocol,
                    "a frame is out of order, or replayed from another connection",
                    static_cast<int>(wire::Reason::Replay));
    }
    ++next_receive;
}

Handshake::Handshake(std::unique_ptr<net::Stream> stream, net::Role role, wire::Hello mine)
    : role_(role), mine_(std::move(mine)) {
    session_.stream = std::move(stream);
}

net::Want Handshake::step() {
    try {
        return advance();
    } catch (const Error& error) {
        if (state_ == State::Tls && !session_.stream->secure()) {
            // OpenSSL has sent its alert. A side without TLS gets the reason as a plain refusal.
            net::Stream& transport = session_.stream->transport();
            auto first = session_.stream->plain_bytes();
            std::vector<std::byte> bytes(first.begin(), first.end());
            if (is_frame(bytes) && role_ == net::Role::Client) {
                bytes.resize(bytes.size() + wire::max_hello);
                const auto more = transport.read(std::span(bytes).last(wire::max_hello));
                bytes.resize(bytes.size() - wire::max_hello + more.bytes);
                if (const auto refusal = plain_refusal(bytes)) {
                    throw wire::refused(*refusal, "the peer");
                }
            } else if (is_frame(bytes)) {
                refuse(wire::Reason::Auth, "TLS is required here: turn security on");
            } else {
                net::end(transport);
            }
        } else if (error.code() != ErrorCode::PeerGone && error.detail() == 0) {
            refuse(wire::reason_of(error.code()), error.what());
        }
        throw;
    }
}

net::Want Handshake::advance() {
    if (state_ == State::Tls) {
        const net::Want want = session_.stream->handshake();
        if (want != net::Want::Nothing) {
            return want;
        }
        state_ = role_ == net::Role::Client ? State::SendHello : State::ReceiveHello;
    }
    if (role_ == net::Role::Server && state_ == State::ReceiveHello) {
        if (const net::Want want = receive_hello(); want != net::Want::Nothing) {
            return want;
        }
        state_ = State::SendHello;
    }
    if (state_ == State::SendHello) {
        if (out_.empty()) {
            wire::encode(out_, mine_);
        }
        if (const net::Want want = flush(); want != net::Want::Nothing) {
            return want;
        }
        state_ = role_ == net::Role::Client ? State::ReceiveHello : State::Done;
    }
    if (state_ == State::ReceiveHello) {
        if (const net::Want want = receive_hello(); want != net::Want::Nothing) {
            return want;
        }
        state_ = State::Done;
    }
    session_.next_send = session_.theirs.nonce;
    session_.next_receive = mine_.nonce;
    session_.reader.set_max_payload(mine_.limits.max_frame);
    return net::Want::Nothing;
}

net::Want Handshake::flush() {
    while (sent_ < out_.size()) {
        const net::Io io = session_.stream->write(std::span(out_).subspan(sent_));
        if (io.bytes == 0) {
            return io.want;
        }
        sent_ += io.bytes;
    }
    return net::Want::Nothing;
}

net::Want Handshake::receive_hello() {
    for (;;) {
        if (const auto frame = session_.reader.next()) {
            if (frame->header.type == wire::Type::Refuse) {
                throw wire::refused(wire::decode_refusal(frame->payload), "the peer");
            }
            if (frame->header.type != wire::Type::Hello) {
                throw Error(ErrorCode::Protocol, "the first message is not a HELLO");
            }
            session_.theirs = wire::decode_hello(frame->payload);
            if (const std::string why = wire::why_no_talk(mine_.features, session_.theirs);
                !why.empty()) {
                refuse(wire::Reason::Feature, why);
                throw Error(ErrorCode::Refused, "the other side was refused: " + why,
                            static_cast<int>(wire::Reason::Feature));
            }
            return net::Want::Nothing;
        }
        const net::Io io = session_.stream->read(session_.reader.space());
        if (io.closed) {
            throw Error(ErrorCode::PeerGone,
                        received_ == 0
                            ? "the other side closed the connection at once: it is not "
                              "qp-exchange, or accepts no more clients"
                            : "the other side closed the connection in the middle of its HELLO");
        }
        if (io.bytes == 0) {
            return io.want;
        }
        received_ += io.bytes;
        session_.reader.received(io.bytes);
    }
}

void Handshake::refuse(wire::Reason reason, const std::string& text) noexcept {
    try {
        std::vector<std::byte> bytes;
        wire::encode(bytes, wire::Refusal{reason, text}, session_.next_send);
        net::Stream& way =
            session_.stream->secure() ? *session_.stream : session_.stream->transport();
        way.write(bytes);
        net::end(way);
    } catch (const std::exception&) {
        // The other side has closed.
        return;
    }
}

Session shake_hands(std::unique_ptr<net::Stream> stream, const wire::Hello& mine,
                    const net::Deadline& deadline, const std::string& silent,
                    const std::string& incomplete) {
    Handshake handshake(std::move(stream), net::Role::Client, mine);
    for (auto want = handshake.step(); want != net::Want::Nothing; want = handshake.step()) {
        if (!handshake.stream().wait(want == net::Want::Read, want == net::Want::Write, deadline)) {
            throw Error(ErrorCode::Timeout, handshake.received() == 0 ? silent : incomplete);
        }
    }
    return handshake.take();
}

wire::Hello make_hello(std::uint64_t features, std::uint64_t required, const PeerOptions& options) {
    if (options.limits.max_frame < wire::max_hello) {
        throw Error(ErrorCode::Argument, "a frame limit below 4096 bytes");
    }
    wire::Hello hello = {.features = features,
                         .required = required,
                         .nonce = random_u32(),
                         .limits = options.limits,
                         .name = options.name};
    if (hello.name.empty()) {
        std::array<char, 256> host{};
        gethostname(host.data(), host.size() - 1);
        hello.name = std::string(host.data()) + " pid " + std::to_string(getpid());
    }
    return hello;
}

}  // namespace qpx::peer
