// SPDX-License-Identifier: BSD-2-Clause
// A conversation of two peers after the handshake.
#pragma once
#include <string>
#include <vector>

#include "peer/handshake.h"
#include "qpx/peer.h"

namespace qpx {

class Connection::Impl {
  public:
    Impl(peer::Session session, const PeerOptions& options);
    ~Impl();

    std::vector<Endpoint> exchange(std::span<const Endpoint> mine);
    void send(std::span<const std::byte> message);
    std::vector<std::byte> receive();
    void barrier();
    void refuse(wire::Reason reason, const std::string& text) noexcept;
    void close() noexcept;

    const net::Stream& stream() const { return *session_.stream; }
    const wire::Hello& theirs() const { return session_.theirs; }
    void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }

  private:
    void check_open() const;
    void check_mine(std::span<const Endpoint> mine) const;
    /// Runs a call. An error ends the conversation, and the peer learns why; but a timeout of a
    /// resumable call.
    template <class Call>
    auto guarded(Call call, bool resumable = false);
    /// The next frame, valid until bytes move again; sends what is queued meanwhile.
    wire::FrameView expect(wire::Type type, net::Deadline deadline);
    void flush(net::Deadline deadline);
    /// Moves bytes both ways as far as it goes without waiting. @return false: none moved
    bool pump();
    bool write_queued();
    bool read_some();
    bool wants_bytes() const {
        return !peer_closed_ && session_.reader.partial() <= limits_.max_frame;
    }
    /// When the peer said why before the connection broke, that is the error.
    void throw_last_words();

    peer::Session session_;
    Limits limits_;
    std::chrono::milliseconds timeout_;
    std::vector<std::byte> out_;
    std::size_t sent_ = 0;
    std::uint32_t round_ = 0;
    bool peer_closed_ = false;
    std::string ended_;  ///< why no call can succeed any more
};

}  // namespace qpx
