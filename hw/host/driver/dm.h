// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "base/quota.h"
#include "host/driver/context.h"
#include "host/driver/queue_memory.h"

struct dingo_dm_resp;  // dingo-abi.h

namespace dingo::uverbs {

class Driver;

/// Device memory: pages of the card's process.
class Dm {
  public:
    /// Pages, a descriptor and a mapping are charged to `account`. Throws ErrnoError: EOPNOTSUPP if
    /// the card has none, EINVAL for length 0 or an alignment above a page, ENOMEM if not enough is
    /// free or the account's share is used up, EMFILE.
    Dm(Driver& driver, Context& context, std::uint64_t length, std::uint32_t log_alignment,
       const std::shared_ptr<Account>& account = nullptr);
    ~Dm() { context_.withdraw(offset_); }
    Dm(const Dm&) = delete;
    Dm& operator=(const Dm&) = delete;

    [[nodiscard]] std::uint64_t length() const { return length_; }
    /// Returns the description for the client's mmap().
    [[nodiscard]] dingo_dm_resp describe() const;
    /// For regions, as the card may access the memory for longer than the client has it. Its
    /// charges end with it.
    [[nodiscard]] const std::shared_ptr<const QueueMemory>& memory() const { return memory_; }

  private:
    Context& context_;
    std::shared_ptr<const QueueMemory> memory_;
    std::uint64_t offset_;  ///< for mmap()
    std::uint64_t length_;
};

}  // namespace dingo::uverbs
