// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/queue_memory.h"

#include <cerrno>
#include <system_error>

#include "base/errno_error.h"
#include "base/quota.h"

namespace dingo::uverbs {
namespace {

SharedMemory make_memory(std::size_t bytes) {
    try {
        return SharedMemory("dingo-queue", page_align(bytes));
    } catch (const std::system_error&) {
        throw ErrnoError(ENOMEM);  // the card, not the client, lacks memory or descriptors
    }
}

}  // namespace

QueueMemory::QueueMemory(BusMap& bus, std::size_t bytes)
    : bus_(bus),
      memory_(make_memory(bytes)),
      address_((need_room(memory_.fd()), bus.add(memory_.bytes()))) {}

}  // namespace dingo::uverbs
