// SPDX-License-Identifier: BSD-2-Clause
//
// Internal to dingo_wire: common code of the wires that use a descriptor.
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

/// Throws WireSystemError "what: text of errno", followed by `hint` ("; do this") for EPERM and
/// EACCES.
[[noreturn]] void throw_errno(const std::string& what, int error, const std::string& hint = "");

/// Requests `bytes` of send and receive buffer; beyond the sysctl limits if privileged.
void set_socket_buffers(int fd, int bytes);

/// Returns the number of frames that the kernel dropped because the receive queue of `fd` was full
/// (SO_MEMINFO).
std::uint64_t socket_overruns(int fd);

/// Receives up to `ask` queued datagrams into `messages`, without blocking, and returns their
/// number; counts errors. Sets `ask` to the number that makes a batch of the processor cache's
/// size, by the average length. The caller has set up `messages`, control data included.
unsigned receive_batch(int fd, std::span<mmsghdr> messages, unsigned& ask, WireStats& stats);

/// A buffer whose pages are not touched, and so not allocated, until they are used.
using Buffer = std::unique_ptr<std::byte[]>;
Buffer make_buffer(std::size_t bytes);

/// Frames queued for sending, contiguous in one buffer, each preceded by `prefix` zero bytes.
class TxBatch {
  public:
    explicit TxBatch(std::size_t capacity, std::size_t prefix = 0)
        : prefix_(prefix), capacity_(capacity), buffer_(make_buffer(capacity)) {}

    /// Returns room for a frame; empty if full.
    std::span<std::byte> begin(std::size_t max_len);
    /// Queues the first `len` bytes of that room; 0: none.
    void end(std::size_t len);

    [[nodiscard]] bool empty() const { return next_ == lengths_.size(); }
    [[nodiscard]] std::size_t count() const { return lengths_.size() - next_; }
    [[nodiscard]] std::size_t bytes() const { return tail_ - head_; }

    /// Lengths of the queued frames, prefix included, oldest first; data() is the first frame.
    [[nodiscard]] std::span<const std::uint32_t> lengths() const {
        return std::span(lengths_).subspan(next_);
    }
    [[nodiscard]] std::byte* data() const { return buffer_.get() + head_; }

    /// Removes the `n` oldest frames.
    void pop(std::size_t n);

    [[nodiscard]] std::size_t prefix() const { return prefix_; }

  private:
    const std::size_t prefix_;
    const std::size_t capacity_;
    Buffer buffer_;
    std::size_t head_ = 0;  // the oldest queued frame
    std::size_t tail_ = 0;  // end of the newest one
    std::vector<std::uint32_t> lengths_;
    std::size_t next_ = 0;  // index into lengths_
};

/// A wire that collects frames and passes many to the kernel in one call.
class BatchWire : public Wire {
  public:
    /// Returns room in the batch, which is flushed first if full. Empty, and counted in tx_full, if
    /// the kernel accepts none.
    std::span<std::byte> begin_frame(std::size_t max_len) override;

  protected:
    explicit BatchWire(std::size_t capacity, std::size_t prefix = 0) : tx_(capacity, prefix) {}

    /// Sends the oldest frames, at most 32, one datagram each, and counts them without their
    /// prefix. Returns false with errno set if none was sent.
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
    /// end_frame() flushes when at least `auto_flush` bytes are queued.
    SocketWire(std::size_t capacity, std::size_t auto_flush, std::size_t prefix = 0)
        : BatchWire(capacity, prefix), auto_flush_(auto_flush) {}

    /// Sends some of the queued frames, or drops one; sets blocked_ if the kernel accepts none.
    virtual void send_some() = 0;

    UniqueFd socket_;
    bool blocked_ = false;

  private:
    const std::size_t auto_flush_;
};

}  // namespace dingo
