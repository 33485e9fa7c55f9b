// SPDX-License-Identifier: BSD-2-Clause
// Frames that wait for a client's socket. Empty it owns no memory.
#pragma once
#include <memory>
#include <vector>

#include "group/messages.h"

namespace qpx::service {

class Outbox {
  public:
    /// @param total bytes of all outboxes, without what they share
    Outbox(uint32_t first_sequence, size_t& total) : total_(total), sequence_(first_sequence) {}
    Outbox(const Outbox&) = delete;
    Outbox& operator=(const Outbox&) = delete;
    ~Outbox() { total_ -= own_ + unsent_; }

    void push(const Message& message);
    /// A frame that ends in bytes which other clients get, too: items, or a value.
    void push(const Message& message, std::shared_ptr<const Bytes> tail);

    /// Moves frames into `out` until it holds `wanted` bytes.
    void pull(Bytes& out, size_t wanted);

    bool empty() const { return pieces_.empty(); }
    /// Bytes that wait.
    size_t size() const { return size_; }
    /// Bytes that were pulled and are not sent.
    void set_unsent(size_t bytes) {
        total_ += bytes - unsent_;
        unsent_ = bytes;
    }

    /// Number of the next frame, for one that goes to the client without lying here.
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
    size_t own_ = 0;  ///< of size_, what no other client has
    size_t unsent_ = 0;
    size_t& total_;
    uint32_t sequence_;
};

}  // namespace qpx::service
