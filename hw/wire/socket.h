// SPDX-License-Identifier: BSD-2-Clause
//
// Inside dingo_wire: what the wires that stand on a descriptor share.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "wire/wire.h"
#include "wire/wire_system_error.h"

namespace dingo {

/// Throws WireSystemError "what: text of errno", with `hint` ("; do this") behind it for
/// EPERM/EACCES.
[[noreturn]] void throw_errno(const std::string& what, int error, const std::string& hint = "");

/// Asks for `bytes` of send and receive buffer, beyond the sysctl limits where we may.
void set_socket_buffers(int fd, int bytes);

/// Frames the kernel dropped because the receive queue of `fd` was full (SO_MEMINFO).
std::uint64_t socket_overruns(int fd);

/// Fetches up to `ask` datagrams that are here into `messages` and counts a failure; returns how
/// many. Sets `ask` to what makes a batch that fits a processor's cache, by the sizes of these.
/// `messages` are set up, control data included.
unsigned receive_batch(int fd, std::span<mmsghdr> messages, unsigned& ask, WireStats& stats);

/// Memory that stays untouched, and so unbacked, until it is used.
using Buffer = std::unique_ptr<std::byte[]>;
Buffer make_buffer(std::size_t bytes);

/// Frames waiting to be sent, back to back in one buffer, each behind `prefix` zero bytes.
class TxBatch {
  public:
    explicit TxBatch(std::size_t capacity, std::size_t prefix = 0)
        : prefix_(prefix), capacity_(capacity), buffer_(make_buffer(capacity)) {}

    /// Room for a frame; empty when there is none.
    std::span<std::byte> begin(std::size_t max_len);
    /// Queues the first `len` bytes of that room; 0 = nothing.
    void end(std::size_t len);

    [[nodiscard]] bool empty() const { return next_ == lengths_.size(); }
    [[nodiscard]] std::size_t count() const { return lengths_.size() - next_; }
    [[nodiscard]] std::size_t bytes() const { return tail_ - head_; }

    /// Lengths of the waiting frames, prefix included, oldest first; data() is the first one.
    [[nodiscard]] std::span<const std::uint32_t> lengths() const {
        return std::span(lengths_).subspan(next_);
    }
    [[nodiscard]] std::byte* data() const { return buffer_.get() + head_; }

    /// Forgets the `n` oldest frames.
    void pop(std::size_t n);

    [[nodiscard]] std::size_t prefix() const { return prefix_; }

  private:
    const std::size_t prefix_;
    const std::size_t capacity_;
    Buffer buffer_;
    std::size_t head_ = 0;  // of the oldest waiting frame
    std::size_t tail_ = 0;  // end of the newest
    std::vector<std::uint32_t> lengths_;
    std::size_t next_ = 0;  // of lengths_
};

/// A wire that gathers frames and gives many to the kernel at once.
class BatchWire : public Wire {
  public:
    /// Room in the batch; when it is full it is flushed first. Empty, and counted, when the kernel
    /// takes none.
    std::span<std::byte> begin_frame(std::size_t max_len) override;

  protected:
    explicit BatchWire(std::size_t capacity, std::size_t prefix = 0) : tx_(capacity, prefix) {}

    /// Sends the oldest frames, at most 32, a datagram each, and counts them without their prefix.
    /// False: none was sent, errno says why.
    bool send_batch(int fd);

    WireStats stats_;
    TxBatch tx_;
};

/// A batch wire on one non-blocking socket, which the subclass opens.
class SocketWire : public BatchWire {
  public:
    void end_frame(std::size_t len) final;
    void flush() final;
    int fd() const final { return socket_.get(); }
    int tx_blocked_fd() const final { return blocked_ ? socket_.get() : -1; }

  protected:
    /// From `auto_flush` waiting bytes on end_frame() sends by itself.
    SocketWire(std::size_t capacity, std::size_t auto_flush, std::size_t prefix = 0)
        : BatchWire(capacity, prefix), auto_flush_(auto_flush) {}

    /// Sends some of the waiting frames, or drops one; sets blocked_ when the kernel takes none.
    virtual void send_some() = 0;

    UniqueFd socket_;
    bool blocked_ = false;

  private:
    const std::size_t auto_flush_;
};

}  // namespace dingo
