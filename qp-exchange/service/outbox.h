// SPDX-License-Identifier: BSD-2-Clause
// Frames that wait for a client's socket. Empty it owns no memory.
#pragma once
#include <memory>
#include <vector>

#include "group/messages.h"

namespace qpx::service {

class Outbox {
  public:
    explicit Outbox(uint32_t first_sequence) : sequence_(first_sequence) {}

    void push(const Message& message);
    /// A frame that ends in bytes which other clients get, too.
    void push(const Message& message, std::shared_ptr<const Bytes> items);

    /// Moves frames into `out` until it holds `wanted` bytes.
    void pull(Bytes& out, size_t wanted);

    bool empty() const { return pieces_.empty(); }
    /// Bytes that wait.
    size_t size() const { return size_; }

    /// Number of the next frame, for one that goes to the client without lying here.
    uint32_t take_sequence() { return sequence_++; }

  private:
    struct Piece {
        Bytes own;
        std::shared_ptr<const Bytes> shared;
    };
    Bytes& tail();

    std::vector<Piece> pieces_;
    size_t first_ = 0;
    size_t size_ = 0;
    uint32_t sequence_;
};

}  // namespace qpx::service
