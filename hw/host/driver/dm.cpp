// SPDX-License-Identifier: BSD-2-Clause
//
// Device memory: pages of the card process, one file for each piece, so that a client that maps its
// own reaches nobody else's.
#include "host/driver/dm.h"

#include <cerrno>

namespace dingo::uverbs {
namespace {

constexpr std::uint32_t kLogPage = 12;

}  // namespace

// Before the memory is made: what is not free must not be tried.
DmBudget::DmBudget(Driver::State& d, std::uint64_t bytes) : driver(d), taken(page_align(bytes)) {
    if (bytes > d.config.device_memory || taken > d.config.device_memory - d.device_memory_used) {
        throw ErrnoError(ENOMEM);
    }
    d.device_memory_used += taken;
}

DmBudget::~DmBudget() {
    driver.device_memory_used -= taken;
}

Dm::State::State(Driver::State& d, Context::State& c, std::uint64_t bytes)
    : budget(d, bytes),
      context(c),
      memory(d.bus, bytes),
      offset(c.publish({memory.fd(), memory.bytes().size()})),
      length(bytes) {}

Dm::State::~State() {
    context.mappings.erase(offset);
}

Dm::Dm(Driver& driver, Context& context, std::uint64_t length, std::uint32_t log_alignment) {
    if (driver.state().config.device_memory == 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    if (length == 0 || log_alignment > kLogPage) {
        throw ErrnoError(EINVAL);
    }
    state_ = std::make_unique<State>(driver.state(), context.state(), length);
}

Dm::~Dm() = default;

std::uint64_t Dm::length() const {
    return state_->length;
}

dingo_dm_resp Dm::describe() const {
    return {.dm_mmap = state_->offset,
            .map_bytes = state_->memory.bytes().size(),
            .length = state_->length};
}

}  // namespace dingo::uverbs
