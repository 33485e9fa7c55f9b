// SPDX-License-Identifier: BSD-2-Clause
#include "wire/shm_ring.h"

#include <sched.h>

namespace dingo {
namespace {

// A consumer that has lost its processor at a frame gets it back within a few time slices.
constexpr std::chrono::milliseconds kReaderPatience{500};

}  // namespace

bool ShmProducer::gather(bool all, const std::function<bool()>& gone) {
    const std::uint64_t tail = received();
    bool ok = true;
    std::erase_if(references_, [&](const Reference& r) {
        if (r.at < tail)
            return true;
        if (r.held != nullptr && !all)
            return false;
        // One that is at several frames at once breaks the rules: it is waited for once.
        ok = gather(r, ok ? kReaderPatience : std::chrono::milliseconds(0), gone) && ok;
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

bool ShmProducer::gather(const Reference& r, std::chrono::milliseconds patience,
                         const std::function<bool()>& gone) {
    const auto len = static_cast<std::uint32_t>(r.len);
    const std::uint32_t flag = local_ ? kShmElsewhere : kShmHandedOver;
    const Mark there{len, kShmNoIcrc | flag};
    if (!local_ && !change_mark(r.at, there, {len, there.flags | kShmGathering})) {
        // The peer reads it, or has read it.
        const auto until = std::chrono::steady_clock::now() + patience;
        while (load_mark(r.at).flags == (there.flags | kShmReading)) {
            if (gone())
                return true;
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
