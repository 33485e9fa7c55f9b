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

/// A received message. Descriptors that a handler does not take are closed with it.
struct VfioMessage {
    Header header{};
    std::vector<std::byte> payload;
    std::vector<UniqueFd> fds;
};

/// Message framing over a non-blocking UNIX stream socket, with descriptors as SCM_RIGHTS.
class MessageStream {
  public:
    enum class Read {
        kMessage,     ///< `out` is a complete message
        kWouldBlock,  ///< no complete message yet: call again when readable
        kClosed,      ///< the peer has closed the connection
        kMalformed,   ///< the stream is no longer trusted: close it
    };

    enum class Sent {
        kTaken,    ///< taken by the kernel or queued here
        kGone,     ///< the peer has closed its end or exited
        kFull,     ///< the peer does not read its answers
        kRefused,  ///< the kernel rejects the message for another reason
    };

    /// Takes ownership of the socket and makes it non-blocking.
    explicit MessageStream(UniqueFd socket);

    /// Continues to read the current message.
    Read read(VfioMessage& out);

    /// Sends one message: a header (whose size is filled in), two pieces, and `fd` unless it is -1
    /// (duplicated if it must be queued). Queues what the socket does not take. With any result but
    /// kTaken the connection is unusable.
    Sent send(Header header, std::span<const std::byte> head, std::span<const std::byte> body = {},
              int fd = -1);

    /// Sends queued bytes.
    Sent flush();
    /// Returns true while the socket should be polled for POLLOUT.
    [[nodiscard]] bool wants_write() const { return !backlog_.empty(); }

    [[nodiscard]] int fd() const { return socket_.get(); }

  private:
    struct Queued {
        std::vector<std::byte> bytes;
        std::size_t sent = 0;
        UniqueFd fd;
    };

    Read receive(std::byte* to, std::size_t want, std::size_t& have);
    /// Returns the number of bytes taken by the kernel, or -1 with errno.
    long transmit(std::span<const std::span<const std::byte>> pieces, int fd);

    UniqueFd socket_;
    VfioMessage current_;
    std::size_t header_have_ = 0;
    std::size_t payload_have_ = 0;
    std::deque<Queued> backlog_;
    std::size_t backlog_bytes_ = 0;
};

}  // namespace dingo::vfio_user
