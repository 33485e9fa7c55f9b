// SPDX-License-Identifier: BSD-2-Clause
// Handshake: TLS, then both sides exchange HELLO. Never
// blocks: call step() when the stream is ready.
#pragma once
#include <memory>

#include "net/stream.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace qpx::peer {

/// A stream after its handshake, with the sequence numbers of both directions.
struct Session {
    std::unique_ptr<net::Stream> stream;
    wire::FrameReader reader;
    wire::Hello theirs;
    std::uint32_t next_send = 0;     ///< sequence number of the next frame sent
    std::uint32_t next_receive = 0;  ///< sequence number of the next frame received

    /// Checks a received sequence number and advances. @throws Error(Protocol), detail
    /// Reason::Replay
    void check_sequence(const wire::Header& header);
};

class Handshake {
  public:
    Handshake(std::unique_ptr<net::Stream> stream, net::Role role, wire::Hello mine);

    /// Advances; Want::Nothing if done. @throws Error after sending the reason to the peer, unless
    /// the socket was full
    net::Want step();
    Session take() { return std::move(session_); }
    net::Stream& stream() const { return *session_.stream; }
    /// Bytes received so far, for "sent 12 bytes and nothing more for 10 s".
    std::size_t received() const { return received_; }

    /// Sends a REFUSE and closes for writing, without waiting.
    void refuse(wire::Reason reason, const std::string& text) noexcept;

  private:
    enum class State { Tls, SendHello, ReceiveHello, Done };

    net::Want advance();
    net::Want flush();
    net::Want receive_hello();

    Session session_;
    net::Role role_;
    wire::Hello mine_;
    State state_ = State::Tls;
    std::vector<std::byte> out_;
    std::size_t sent_ = 0;
    std::size_t received_ = 0;
};

/// Completes a client's handshake. @throws Error; Timeout with the text `silent` if nothing was
/// received, or `incomplete`
Session shake_hands(std::unique_ptr<net::Stream> stream, const wire::Hello& mine,
                    const net::Deadline& deadline, const std::string& silent,
                    const std::string& incomplete);

/// Returns a HELLO with a random nonce; its name is host name and process id unless options have
/// one.
wire::Hello make_hello(std::uint64_t features, std::uint64_t required, const PeerOptions& options);

}  // namespace qpx::peer
