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

/// The charges come first: memory that is refused must not be allocated.
struct Charged {
    Charged(Driver& driver, std::uint64_t length, const std::shared_ptr<Account>& account)
        : pages(account, driver.device_memory(), page_align(length)),
          descriptor(account, process_quotas().descriptors),
          mapping(account, process_quotas().mappings),
          memory(driver.bus(), length) {}
    Charge pages;
    Charge descriptor;
    Charge mapping;
    QueueMemory memory;
};

std::shared_ptr<const QueueMemory> allocate(Driver& driver, std::uint64_t length,
                                            std::uint32_t log_alignment,
                                            const std::shared_ptr<Account>& account) {
    const std::uint64_t total = driver.device_memory().limit();
    if (total == 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    if (length == 0 || log_alignment > kLogPage) {
        throw ErrnoError(EINVAL);
    }
    if (length > total) {  // also protects page_align() from an overflow
        throw ErrnoError(ENOMEM);
    }
    const auto charged = std::make_shared<const Charged>(driver, length, account);
    return {charged, &charged->memory};
}

}  // namespace

Dm::Dm(Driver& driver, Context& context, std::uint64_t length, std::uint32_t log_alignment,
       const std::shared_ptr<Account>& account)
    : context_(context),
      memory_(allocate(driver, length, log_alignment, account)),
      offset_(context.publish(memory_->fd(), memory_->bytes().size())),
      length_(length) {}

dingo_dm_resp Dm::describe() const {
    return {.dm_mmap = offset_, .map_bytes = memory_->bytes().size(), .length = length_};
}

}  // namespace dingo::uverbs
