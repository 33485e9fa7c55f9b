// SPDX-License-Identifier: BSD-2-Clause
#include "wire/shm_ring.h"

#include <sched.h>

#include <chrono>

namespace dingo {
namespace {

// A consumer that has lost its processor at a frame gets it back within a few time slices.
constexpr std::chrono::milliseconds kReaderPatience{500};

}  // namespace

bool ShmProducer::gather(bool all) {
    const std::uint64_t tail = header_.tail.load(std::memory_order_acquire);
    bool ok = true;
    std::erase_if(references_, [&](const Reference& r) {
        if (r.at < tail)
            return true;
        if (r.held != nullptr && !all)
            return false;
        ok = gather(r) && ok;
        return true;
    });
    return ok;
}

Held ShmProducer::held_at(std::uint64_t at) {
    while (!references_.empty() && references_.front().at < at)
        references_.pop_front();
    return !references_.empty() && references_.front().at == at ? references_.front().held
                                                                : nullptr;
}

bool ShmProducer::gather(const Reference& r) {
    const auto len = static_cast<std::uint32_t>(r.len);
    const std::uint32_t flag = local_ ? kShmElsewhere : kShmHandedOver;
    const Mark there{len, kShmNoIcrc | flag};
    if (!local_ && !change_mark(r.at, there, {len, there.flags | kShmGathering})) {
        // The peer reads it, or has read it.
        const auto until = std::chrono::steady_clock::now() + kReaderPatience;
        while (load_mark(r.at).flags == (there.flags | kShmReading)) {
            if (std::chrono::steady_clock::now() > until)
                return false;
            ::sched_yield();
        }
        return true;
    }
    std::memcpy(data_ + (r.at & kMask) + kAlign + r.offset, r.payload.data(), r.payload.size());
    store_mark(r.at, {len, kShmNoIcrc});
    return true;
}

}  // namespace dingo
