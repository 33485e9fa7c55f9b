// SPDX-License-Identifier: BSD-2-Clause
// Implementation of Connection: the conversation of two peers after the handshake.
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
    /// Runs a call. An error ends the conversation after the peer was sent the reason, except a
    /// timeout of a resumable call.
    template <class Call>
    auto guarded(Call call, bool resumable = false);
    /// Waits for the next frame, valid until the next I/O, while sending queued frames.
    wire::FrameView expect(wire::Type type, net::Deadline deadline);
    void flush(net::Deadline deadline);
    /// Sends and receives without waiting. @return false if no bytes moved
    bool pump();
    bool read_some();
    bool wants_bytes() const { return !frames_.closed() && frames_.partial() <= limits_.max_frame; }
    /// Returns the next frame if it is complete and of this type.
    std::optional<wire::FrameView> take(wire::Type type);
    net::Deadline deadline() { return net::Deadline::in(timeout_, interrupt_.get()); }
    /// Updates the readiness of fd(); called after each call.
    void update();
    /// Throws the reason that the peer sent before the connection broke, if any.
    void throw_last_words();

    peer::FrameStream frames_;
    Limits limits_;
    std::chrono::milliseconds timeout_;
    std::unique_ptr<net::Interrupt> interrupt_;
    std::unique_ptr<net::Readiness> readiness_;  ///< created by the first fd()
    std::uint32_t round_ = 0;
    std::string ended_;  ///< why the conversation has ended; empty: it has not
};

}  // namespace qpx
