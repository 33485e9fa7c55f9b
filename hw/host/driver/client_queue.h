// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "dingo_hw.h"
#include "host/driver/context.h"
#include "host/driver/doorbells.h"
#include "host/driver/queue_slabs.h"

struct dingo_ring_map;  // dingo-abi.h

namespace dingo::uverbs {

/// Memory of one queue of a context, zeroed, and what the context calls it. The card reaches it
/// from attach() on.
class ClientQueue {
  public:
    /// ErrnoError(ENOMEM).
    ClientQueue(Context& context, std::size_t bytes);
    ~ClientQueue();
    ClientQueue(const ClientQueue&) = delete;
    ClientQueue& operator=(const ClientQueue&) = delete;

    /// In one visit with what tells the card of the queue, or that it is gone. ErrnoError(ENOMEM).
    void attach();
    void detach();
    /// The ring as the card's commands describe it, once attached.
    [[nodiscard]] dingo_mem describe() const {
        dingo_mem mem{};
        mem.addr = address_;
        return mem;
    }
    /// Tells the client where it is.
    [[nodiscard]] dingo_ring_map map(const Doorbell& doorbell, unsigned log_size,
                                     unsigned log_stride) const;
    /// Where it is: of a file that stays the context's.
    [[nodiscard]] int fd() const { return memory_.fd(); }
    [[nodiscard]] std::uint64_t file_offset() const { return memory_.offset(); }
    /// From now on nobody can map it; existing mappings stay.
    void withdraw() { context_.withdraw(std::exchange(offset_, 0)); }

  private:
    Context& context_;
    QueueSlabs::Piece memory_;
    std::uint64_t address_ = 0;  ///< on the bus; 0: not there
    std::uint64_t offset_;       ///< for mmap()
};

}  // namespace dingo::uverbs
