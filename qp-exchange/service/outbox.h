// SPDX-License-Identifier: BSD-2-Clause
// Queue of frames that wait for a client's socket. Owns no memory while empty.
#pragma once
#include <memory>
#include <vector>

#include "group/messages.h"

namespace qpx::service {

class Outbox {
  public:
    /// @param total byte counter of all outboxes, without shared bytes
    Outbox(uint32_t first_sequence, size_t& total) : total_(total), sequence_(first_sequence) {}
    Outbox(const Outbox&) = delete;
    Outbox& operator=(const Outbox&) = delete;
    ~Outbox() { total_ -= own_ + unsent_; }

    void push(const Message& message);
    /// Queues a frame that ends in bytes shared with other clients: items, or a value.
    void push(const Message& message, std::shared_ptr<const Bytes> tail);

    /// Moves frames into `out` until it holds `wanted` bytes.
    void pull(Bytes& out, size_t wanted);

    bool empty() const { return pieces_.empty(); }
    /// Bytes in the queue.
    size_t size() const { return size_; }
    /// Sets the number of bytes that were pulled but not sent.
    void set_unsent(size_t bytes) {
        total_ += bytes - unsent_;
        unsent_ = bytes;
    }

    /// Takes the sequence number for a frame that bypasses the queue.
    uint32_t take_sequence() { return sequence_++; }

  private:
    struct Piece {
        Bytes own;
        std::shared_ptr<const Bytes> shared;
    };
    Bytes& tail();
    void grown(size_t bytes);

    std::vector<Piece> pieces_;
    size_t first_ = 0;
    size_t size_ = 0;
    size_t own_ = 0;  ///< part of size_ that is not shared
    size_t unsent_ = 0;
    size_t& total_;
    uint32_t sequence_;
};

}  // namespace qpx::service
