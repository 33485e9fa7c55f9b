// SPDX-License-Identifier: BSD-2-Clause
// Frames both ways over a stream after its handshake, as far as the socket goes. Never waits.
#pragma once
#include <optional>
#include <vector>

#include "peer/handshake.h"

namespace qpx::peer {

class FrameStream {
  public:
    FrameStream() = default;
    explicit FrameStream(Session session) : session_(std::move(session)) {}

    net::Stream& stream() const { return *session_.stream; }
    explicit operator bool() const { return session_.stream != nullptr; }
    const wire::Hello& theirs() const { return session_.theirs; }

    /// Where whole frames are appended to be sent.
    std::vector<std::byte>& out() { return out_; }
    /// The number of the next frame in out().
    std::uint32_t take_sequence() { return session_.next_send++; }
    std::size_t unsent() const { return out_.size() - sent_; }
    /// What of out() the socket takes. @return bytes
    std::size_t write_queued();

    /// Reads once. @return bytes; closed() tells of the other side's end
    std::size_t read_some();
    bool closed() const { return closed_; }
    /// The next whole frame, valid until read_some(); that of a REFUSE has no number to check.
    /// @throws Error(Protocol)
    std::optional<wire::FrameView> next();
    /// A whole frame lies here, or bytes that the descriptor will not tell of, or the end.
    bool has_something() const;
    /// No longer payload is taken from the next frame on. @see next()
    void set_max_frame(std::uint32_t bytes) { session_.reader.set_max_payload(bytes); }
    /// Bytes that are no whole frame yet.
    std::size_t partial() const { return session_.reader.partial(); }
    /// The empty buffers' memory.
    void release_memory(std::uint32_t max_frame);

    /// Sends queued frames and ends this direction, without waiting. @throws Error(PeerGone)
    void finish();

  private:
    Session session_;
    std::vector<std::byte> out_;
    std::size_t sent_ = 0;
    bool closed_ = false;
};

}  // namespace qpx::peer
