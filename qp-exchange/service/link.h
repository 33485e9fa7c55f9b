// SPDX-License-Identifier: BSD-2-Clause
// A client's connection: handshake, then frames between socket and registry. Never blocks.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "peer/frame_stream.h"
#include "service/registry.h"

namespace qpx::service {

class Link {
  public:
    /// Result of a step.
    enum class State { Open, Closed };

    Link(std::unique_ptr<net::Stream> stream, const wire::Hello& hello, Registry& registry);
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /// Handles a ready descriptor.
    State step(Time now);
    /// Sends the registry's output for this client until the socket is full.
    State flush(Time now);
    /// Sends a REFUSE with the reason, unless the socket is full, and closes.
    void refuse(wire::Reason reason, const std::string& text, Time now);
    /// Closes; a member that has not left counts as failed for this reason.
    void close(std::string_view reason, Time now);

    bool handshaking() const { return handshake_ != nullptr; }
    bool wants_write() const { return wants_write_; }
    /// Returns true if bytes are in TLS's buffer, for which the descriptor does not become ready.
    bool wants_step() const { return wants_step_; }
    /// Start time of an incomplete message.
    std::optional<Time> stalled_since() const { return partial_since_; }
    std::optional<ClientId> client() const { return client_; }
    int fd() const { return fd_; }
    const std::string& address() const { return address_; }
    const std::string& host() const { return host_; }
    /// Reason of the end, for the log; empty if orderly.
    const std::string& end() const { return end_; }

  private:
    State shake(Time now);
    State receive(Time now);
    bool read_frames(Time now);
    std::optional<wire::FrameView> next_frame();
    State failed(const Error& error, Time now);
    void count(const Error& error);

    Registry& registry_;
    std::unique_ptr<peer::Handshake> handshake_;
    std::unique_ptr<peer::FrameStream> frames_;
    std::optional<ClientId> client_;
    std::optional<Time> partial_since_;
    int fd_;
    bool wants_write_ = false;
    bool wants_step_ = false;
    std::string host_;  ///< without the port
    std::string address_, end_;
};

}  // namespace qpx::service
