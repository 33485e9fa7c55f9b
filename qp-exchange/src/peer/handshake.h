// SPDX-License-Identifier: BSD-2-Clause
// From a fresh stream to two sides that know each other's HELLO. Never blocks: step() when the
// stream is ready.
#pragma once
#include <memory>

#include "net/stream.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace qpx::peer {

/// A stream after its handshake, and where both directions stand.
struct Session {
    std::unique_ptr<net::Stream> stream;
    wire::FrameReader reader;
    wire::Hello theirs;
    std::uint32_t next_send = 0;     ///< sequence number of my next frame
    std::uint32_t next_receive = 0;  ///< and of the peer's

    /// Checks and advances. @throws Error(Protocol), detail Reason::Replay
    void check_sequence(const wire::Header& header);
};

class Handshake {
  public:
    Handshake(std::unique_ptr<net::Stream> stream, net::Role role, wire::Hello mine);

    /// Nothing: done. @throws Error; the peer has been told why, as far as its socket took it
    net::Want step();
    Session take() { return std::move(session_); }
    net::Stream& stream() const { return *session_.stream; }
    /// For "sent 12 bytes and nothing more for 10 s".
    std::size_t received() const { return received_; }

    /// Sends a REFUSE and closes for writing; without waiting.
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

/// A client's handshake to its end. @throws Error; Timeout says that the other side is `silent`, or
/// its HELLO `incomplete`
Session shake_hands(std::unique_ptr<net::Stream> stream, const wire::Hello& mine,
                    const net::Deadline& deadline, const std::string& silent,
                    const std::string& incomplete);

/// A random nonce, this host's name and process id as the name unless one is given.
wire::Hello make_hello(std::uint64_t features, std::uint64_t required, const PeerOptions& options);

}  // namespace qpx::peer
