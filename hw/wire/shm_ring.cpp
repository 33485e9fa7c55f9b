// SPDX-License-Identifier: BSD-2-Clause
#include "wire/shm_ring.h"

#include <sched.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/elsewhere.h"
#include "dingo/touch.h"

namespace dingo {

ShmProducer::~ShmProducer() {
    if (local_)
        return;
    const std::uint64_t tail = received();
    std::vector<Held> lent;
    for (Reference& reference : references_)
        if (reference.held != nullptr && (reference.at < tail || !take_into_frame(reference)))
            lent.push_back(std::move(reference.held));
    if (!lent.empty())
        let_go_later(std::make_shared<std::vector<Held>>(std::move(lent)));
}

void ShmProducer::forget_received() {
    if (references_.empty())
        return;
    const std::uint64_t tail = received();
    // A consumer that lies here reads memory that was reused, and harms only itself.
    const std::uint64_t let_go = std::min(tail, header_.let_go.load(std::memory_order_acquire));
    while (!references_.empty() &&
           references_.front().at < (references_.front().lent ? let_go : tail)) {
        lent_bytes_ -= references_.front().lent ? references_.front().payload.size() : 0;
        references_.pop_front();
    }
}

bool ShmProducer::gather(bool all, std::chrono::nanoseconds patience,
                         const std::function<bool()>& gone) {
    const std::uint64_t tail = received();
    bool ok = true;
    std::erase_if(references_, [&](const Reference& r) {
        if (r.at < tail)
            return !r.lent;
        if (r.held != nullptr && !all)
            return false;
        if (take_into_frame(r))
            return true;
        // A consumer that reads several frames at once violates the protocol: wait for one only.
        ok = wait_for_reader(r, ok ? patience : std::chrono::nanoseconds(0), gone) && ok;
        return !r.lent;
    });
    return ok;
}

Held ShmProducer::held_at(std::uint64_t at) {
    while (!references_.empty() && references_.front().at < at)
        references_.pop_front();
    return !references_.empty() && references_.front().at == at ? references_.front().held
                                                                : nullptr;
}

bool ShmProducer::gather_unread() {
    const std::uint64_t tail = received();
    bool none_read = true;
    std::erase_if(references_, [&](const Reference& r) {
        if (r.at < tail)
            return !r.lent;
        if (r.held != nullptr)
            return false;
        if (take_into_frame(r) || !is_read(r))
            return true;
        none_read = false;
        return false;
    });
    return none_read;
}

bool ShmProducer::take_into_frame(const Reference& r) {
    const auto len = static_cast<std::uint32_t>(r.len);
    const std::uint32_t flag = local_ ? kShmElsewhere : kShmHandedOver;
    const Mark there{len, r.flags | flag};
    if (!local_ && !change_mark(r.at, there, {len, there.flags | kShmGathering}))
        return false;
    touches(r.payload.data(), r.payload.size());
    std::memcpy(data_ + (r.at & kMask) + kAlign + r.offset, r.payload.data(), r.payload.size());
    store_mark(r.at, {len, r.flags});
    return true;
}

bool ShmProducer::is_read(const Reference& r) const {
    return load_mark(r.at).flags == (r.flags | kShmHandedOver | kShmReading);
}

bool ShmProducer::wait_for_reader(const Reference& r, std::chrono::nanoseconds patience,
                                  const std::function<bool()>& gone) {
    const auto begin = std::chrono::steady_clock::now();
    auto now = begin;
    bool reads = is_read(r);
    for (; reads && now - begin <= patience && !gone(); reads = is_read(r)) {
        ::sched_yield();
        now = std::chrono::steady_clock::now();
    }
    waited_ += now - begin;
    return !reads || gone();
}

}  // namespace dingo
