// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/mr_memory.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/errno_error.h"
#include "base/monotonic_clock.h"
#include "base/offenders.h"
#include "host/driver/queue_memory.h"

namespace dingo::uverbs {

MrMemory::MrMemory(BusMap& bus, SegmentCache& segments, const Mr::Range& range, bool writable)
    : bus_(bus),
      client_(range.client),
      start_(range.start - range.start % kPageBytes),
      length_(range.start % kPageBytes + range.length),
      in_page_(range.start % kPageBytes),
      writable_(writable) {
    if (start_ + length_ < start_) {
        throw ErrnoError(EINVAL);
    }
    if (range.client) {
        account_ = range.client->account();
    }
    mapped_ = std::make_shared<MappedRange>(segments.map(start_, page_align(length_),
                                                         range.segments, writable, account_,
                                                         range.client ? range.client->pid() : 0));
}

MrMemory::MrMemory(BusMap& bus, int dmabuf, std::uint64_t offset, std::uint64_t length,
                   bool writable, const std::shared_ptr<Account>& account)
    : bus_(bus),
      length_(offset % kPageBytes + length),
      account_(account),
      in_page_(offset % kPageBytes),
      writable_(writable) {
    mapped_ = std::make_shared<MappedRange>(map_dmabuf(dmabuf, offset, length, writable, account));
}

void MrMemory::attach() {
    if (place_ != nullptr) {
        window_ = bus_.add(place_, length_, writable_);
        return;
    }
    const bool far = account_ != nullptr && offenders().is_far(account_->user(), clock_now());
    window_ = bus_.add({client_, start_, mapped_->parts, mapped_->files, account_, mapped_},
                       length_, writable_, far);
}

MrMemory::MrMemory(BusMap& bus, std::shared_ptr<FarPlace> place, std::uint64_t offset,
                   std::uint64_t length, bool writable)
    : bus_(bus),
      place_(std::move(place)),
      length_(offset + length),
      in_page_(offset),
      writable_(writable) {
    if (length_ < offset) {
        throw ErrnoError(EINVAL);
    }
}

void MrMemory::check_writable() const {
    if (!mapped_->may_write ||
        std::ranges::any_of(mapped_->mappings, [](const auto& m) { return !m->writable(); })) {
        throw ErrnoError(EFAULT);
    }
}

void MrMemory::set_writable(bool writable) {
    bus_.set_writable(window_, writable);
    writable_ = writable;
}

}  // namespace dingo::uverbs
