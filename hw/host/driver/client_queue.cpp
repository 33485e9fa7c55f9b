// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/client_queue.h"

#include "dingo-abi.h"
#include "host/driver/driver.h"

namespace dingo::uverbs {

ClientQueue::ClientQueue(Context& context, std::size_t bytes)
    : context_(context),
      memory_(context.queue_memory().take(bytes)),
      offset_(context.publish(memory_.fd(), memory_.bytes().size(), memory_.offset())) {}

ClientQueue::~ClientQueue() {
    context_.withdraw(offset_);
    detach();
}

void ClientQueue::attach() {
    address_ = context_.driver().bus().add(memory_.bytes());
}

void ClientQueue::detach() {
    if (address_ != 0) {
        context_.driver().bus().remove(std::exchange(address_, 0));
    }
}

dingo_ring_map ClientQueue::map(const Doorbell& doorbell, unsigned log_size,
                                unsigned log_stride) const {
    DoorbellPage& page = doorbell.page();
    // The first queue of a page makes it mappable.
    if (page.mmap_offset == 0) {
        page.mmap_offset = context_.publish(page.fd(), DINGO_DB_PAGE_SIZE);
    }
    dingo_ring_map map{};
    map.ring_mmap = offset_;
    map.ring_bytes = memory_.bytes().size();
    map.db_mmap = page.mmap_offset;
    map.db_slot = doorbell.slot();
    map.log_size = static_cast<std::uint8_t>(log_size);
    map.log_stride = static_cast<std::uint8_t>(log_stride);
    return map;
}

}  // namespace dingo::uverbs
