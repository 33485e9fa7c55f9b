// SPDX-License-Identifier: BSD-2-Clause
// Frames in both directions over a stream after its handshake. Never blocks.
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

    /// Buffer to which whole frames are appended for sending.
    std::vector<std::byte>& out() { return out_; }
    /// Sequence number of the next frame in out(); take_sequence() also advances.
    std::uint32_t next_sequence() const { return session_.next_send; }
    std::uint32_t take_sequence() { return session_.next_send++; }
    std::size_t unsent() const { return out_.size() - sent_; }
    /// Writes from out() until the socket is full. @return bytes written
    std::size_t write_queued();

    /// Reads once. @return bytes read; sets closed() if the other side has closed
    std::size_t read_some();
    bool closed() const { return closed_; }
    /// Returns the next whole frame, valid until read_some(). Checks its sequence number, except
    /// that of a REFUSE. @throws Error(Protocol)
    std::optional<wire::FrameView> next();
    /// Returns true if a whole frame, bytes buffered by TLS, or the end of the stream is present.
    bool has_something() const;
    /// Limits the payload, from the next frame on. @see next()
    void set_max_frame(std::uint32_t bytes) { session_.reader.set_max_payload(bytes); }
    /// Buffered bytes that are not a whole frame yet.
    std::size_t partial() const { return session_.reader.partial(); }
    /// Frees the memory of empty buffers.
    void release_memory(std::uint32_t max_frame);

    /// Sends queued frames and closes this direction, without waiting. @throws Error(PeerGone)
    void finish();

  private:
    Session session_;
    std::vector<std::byte> out_;
    std::size_t sent_ = 0;
    bool closed_ = false;
};

}  // namespace qpx::peer
