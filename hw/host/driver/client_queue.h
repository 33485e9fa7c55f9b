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

/// Zeroed memory of one queue of a context, with its mmap() offset. The card can access it from
/// attach() on.
class ClientQueue {
  public:
    /// Throws ErrnoError(ENOMEM).
    ClientQueue(Context& context, std::size_t bytes);
    ~ClientQueue();
    ClientQueue(const ClientQueue&) = delete;
    ClientQueue& operator=(const ClientQueue&) = delete;

    /// Called in the same visit that tells the card of the queue, or of its end. Throws
    /// ErrnoError(ENOMEM).
    void attach();
    void detach();
    /// The ring in the format of the card's commands, after attach().
    [[nodiscard]] dingo_mem describe() const {
        dingo_mem mem{};
        mem.addr = address_;
        return mem;
    }
    /// Returns the description for the client.
    [[nodiscard]] dingo_ring_map map(const Doorbell& doorbell, unsigned log_size,
                                     unsigned log_stride) const;
    /// Location in a file that belongs to the context.
    [[nodiscard]] int fd() const { return memory_.fd(); }
    [[nodiscard]] std::uint64_t file_offset() const { return memory_.offset(); }
    /// The queue cannot be mapped any more; existing mappings stay.
    void withdraw() { context_.withdraw(std::exchange(offset_, 0)); }

  private:
    Context& context_;
    QueueSlabs::Piece memory_;
    std::uint64_t address_ = 0;  ///< on the bus; 0: not attached
    std::uint64_t offset_;       ///< for mmap()
};

}  // namespace dingo::uverbs
