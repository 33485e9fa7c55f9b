// SPDX-License-Identifier: BSD-2-Clause
//
// Device memory: one file per allocation, so that a client can map only its own.
#include "host/driver/dm.h"

#include <cerrno>

#include "dingo-abi.h"
#include "host/driver/driver.h"

namespace dingo::uverbs {
namespace {

constexpr std::uint32_t kLogPage = 12;

DmBudget& checked_budget(Driver& driver, std::uint64_t length, std::uint32_t log_alignment) {
    if (driver.device_memory().total() == 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    if (length == 0 || log_alignment > kLogPage) {
        throw ErrnoError(EINVAL);
    }
    return driver.device_memory();
}

}  // namespace

DmBudget::Share::Share(DmBudget& budget, std::uint64_t bytes)
    : budget_(budget), taken_(page_align(bytes)) {
    if (bytes > budget.total_ || taken_ > budget.total_ - budget.used_) {
        throw ErrnoError(ENOMEM);
    }
    budget_.used_ += taken_;
}

// The share is taken first: memory that is not free must not be allocated.
Dm::Dm(Driver& driver, Context& context, std::uint64_t length, std::uint32_t log_alignment)
    : share_(checked_budget(driver, length, log_alignment), length),
      context_(context),
      memory_(std::make_shared<const QueueMemory>(driver.bus(), length)),
      offset_(context.publish(memory_->fd(), memory_->bytes().size())),
      length_(length) {}

dingo_dm_resp Dm::describe() const {
    return {.dm_mmap = offset_, .map_bytes = memory_->bytes().size(), .length = length_};
}

}  // namespace dingo::uverbs
