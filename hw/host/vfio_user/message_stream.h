// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "protocol.h"

namespace dingo::vfio_user {

/// One received message. Descriptors that a handler does not move away close with it.
struct VfioMessage {
    Header header{};
    std::vector<std::byte> payload;
    std::vector<UniqueFd> fds;
};

/// Message framing over a non-blocking UNIX stream socket, with descriptors as SCM_RIGHTS.
class MessageStream {
  public:
    enum class Read {
        kMessage,     ///< one whole message is in `out`
        kWouldBlock,  ///< nothing, or only a part of one: call again when readable
        kClosed,      ///< the peer is gone
        kMalformed,   ///< the stream cannot be trusted any more: close it
    };

    enum class Sent {
        kTaken,    ///< by the kernel, or queued here
        kGone,     ///< the peer has closed its end, or is no more
        kFull,     ///< the peer does not read answers that it asked for
        kRefused,  ///< the kernel takes no message, for another reason
    };

    /// Takes the socket and makes it non-blocking.
    explicit MessageStream(UniqueFd socket);

    /// Reads the rest of the current message.
    Read read(VfioMessage& out);

    /// Sends one message made of a header (whose size is filled in) and two pieces; `fd` travels
    /// with it unless -1 (it is duplicated if it has to wait). What the socket does not take is
    /// queued. Unless that says kTaken the connection is of no more use.
    Sent send(Header header, std::span<const std::byte> head, std::span<const std::byte> body = {},
              int fd = -1);

    /// Sends queued bytes.
    Sent flush();
    /// True while the socket should be polled for POLLOUT.
    [[nodiscard]] bool wants_write() const { return !backlog_.empty(); }

    [[nodiscard]] int fd() const { return socket_.get(); }

  private:
    struct Queued {
        std::vector<std::byte> bytes;
        std::size_t sent = 0;
        UniqueFd fd;
    };

    Read receive(std::byte* to, std::size_t want, std::size_t& have);
    /// Bytes that the kernel took, -1 with errno.
    long transmit(std::span<const std::span<const std::byte>> pieces, int fd);

    UniqueFd socket_;
    VfioMessage current_;
    std::size_t header_have_ = 0;
    std::size_t payload_have_ = 0;
    std::deque<Queued> backlog_;
    std::size_t backlog_bytes_ = 0;
};

}  // namespace dingo::vfio_user
