// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "host/driver/context.h"
#include "host/driver/queue_memory.h"

struct dingo_dm_resp;  // dingo-abi.h

namespace dingo::uverbs {

class Driver;

/// The card's device memory: total and used bytes.
class DmBudget {
  public:
    explicit DmBudget(std::uint64_t bytes) : total_(bytes) {}
    /// Bytes; 0: the card has none.
    [[nodiscard]] std::uint64_t total() const { return total_; }

    /// A share, in whole pages.
    class Share {
      public:
        /// Throws ErrnoError(ENOMEM) if `bytes` are not free.
        Share(DmBudget& budget, std::uint64_t bytes);
        ~Share() { budget_.used_ -= taken_; }
        Share(const Share&) = delete;
        Share& operator=(const Share&) = delete;

      private:
        DmBudget& budget_;
        std::uint64_t taken_;
    };

  private:
    std::uint64_t total_;
    std::uint64_t used_ = 0;
};

/// Device memory: pages of the card's process.
class Dm {
  public:
    /// Throws ErrnoError: EOPNOTSUPP if the card has none, EINVAL for length 0 or an alignment
    /// above a page, ENOMEM if not enough is free.
    Dm(Driver& driver, Context& context, std::uint64_t length, std::uint32_t log_alignment);
    ~Dm() { context_.withdraw(offset_); }
    Dm(const Dm&) = delete;
    Dm& operator=(const Dm&) = delete;

    [[nodiscard]] std::uint64_t length() const { return length_; }
    /// Returns the description for the client's mmap().
    [[nodiscard]] dingo_dm_resp describe() const;
    /// For regions, as the card may access the memory for longer than the client has it.
    [[nodiscard]] const std::shared_ptr<const QueueMemory>& memory() const { return memory_; }

  private:
    DmBudget::Share share_;
    Context& context_;
    std::shared_ptr<const QueueMemory> memory_;
    std::uint64_t offset_;  ///< for mmap()
    std::uint64_t length_;
};

}  // namespace dingo::uverbs
