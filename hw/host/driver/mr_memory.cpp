// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/mr_memory.h"

#include <cerrno>

#include "base/errno_error.h"
#include "host/driver/queue_memory.h"

namespace dingo::uverbs {

MrMemory::MrMemory(BusMap& bus, SegmentCache& segments, const Mr::Range& range, bool writable)
    : bus_(bus), in_page_(range.start % kPageBytes), writable_(writable) {
    const std::uint64_t va = range.start - in_page_;
    const std::uint64_t length = in_page_ + range.length;
    if (va + length < va) {
        throw ErrnoError(EINVAL);
    }
    mapped_ = segments.map(va, page_align(length), range.segments, writable);
    window_ = bus_.add(range.client, va, length, mapped_.parts, writable, mapped_.files);
}

MrMemory::MrMemory(BusMap& bus, int dmabuf, std::uint64_t offset, std::uint64_t length,
                   bool writable)
    : bus_(bus), in_page_(offset % kPageBytes), writable_(writable) {
    mapped_ = map_dmabuf(dmabuf, offset, length, writable);
    window_ = bus_.add(nullptr, 0, in_page_ + length, mapped_.parts, writable);
}

void MrMemory::make_mappings_writable() {
    if (!mapped_.may_write) {
        throw ErrnoError(EFAULT);
    }
    for (const auto& mapping : mapped_.mappings) {
        if (!mapping->make_writable()) {
            throw ErrnoError(EFAULT);
        }
    }
}

void MrMemory::set_writable(bool writable) {
    bus_.set_writable(window_, writable);
    writable_ = writable;
}

}  // namespace dingo::uverbs
