// SPDX-License-Identifier: BSD-2-Clause
// A conversation of two peers after the handshake.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/readiness.h"
#include "peer/frame_stream.h"
#include "qpx/peer.h"

namespace qpx {

class Connection::Impl {
  public:
    Impl(peer::Session session, const PeerOptions& options,
         std::unique_ptr<net::Interrupt> interrupt);
    ~Impl();

    std::vector<Endpoint> exchange(std::span<const Endpoint> mine);
    void send(std::span<const std::byte> message);
    std::vector<std::byte> receive();
    std::optional<std::vector<std::byte>> try_receive();
    void barrier();
    void cancel() noexcept { interrupt_->cancel(); }
    int fd();
    bool peer_gone() const;
    void refuse(wire::Reason reason, const std::string& text) noexcept;
    void close() noexcept;

    const net::Stream& stream() const { return frames_.stream(); }
    const wire::Hello& theirs() const { return frames_.theirs(); }
    void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }

  private:
    struct Updated;
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
    bool read_some();
    bool wants_bytes() const { return !frames_.closed() && frames_.partial() <= limits_.max_frame; }
    /// The next frame of this type if it is here.
    std::optional<wire::FrameView> take(wire::Type type);
    net::Deadline deadline() { return net::Deadline::in(timeout_, interrupt_.get()); }
    /// After each call: what fd() shows.
    void update();
    /// When the peer said why before the connection broke, that is the error.
    void throw_last_words();

    peer::FrameStream frames_;
    Limits limits_;
    std::chrono::milliseconds timeout_;
    std::unique_ptr<net::Interrupt> interrupt_;
    std::unique_ptr<net::Readiness> readiness_;  ///< from the first fd() on
    std::uint32_t round_ = 0;
    std::string ended_;  ///< why no call can succeed any more
};

}  // namespace qpx
