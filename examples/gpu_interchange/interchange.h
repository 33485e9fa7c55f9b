// SPDX-License-Identifier: BSD-2-Clause
//
// The kernel: fills the buffer, sends it, waits for completion, and checks the received data.
#pragma once

#include <cstdint>
#include <cstdio>

#include "mori_names.h"

namespace gpu_interchange {

struct Transfer {
    mori_names::WorkQueueHandle wq;
    mori_names::CompletionQueueHandle cq;
    std::uint32_t qpn;
    std::uint8_t* send;
    std::uint32_t send_key;
    std::uint8_t* recv;
    std::uint32_t recv_key;
    std::uint32_t bytes;
    std::uint8_t value;
    std::uint32_t wrong;  ///< number of wrong bytes; all if the transfer failed
    std::int32_t status;  ///< status of the transfer
};

/// Runs the kernel; `barrier` synchronizes all threads of the block.
template <typename Barrier>
DGDA_FN void interchange(Transfer& t, std::uint32_t thread, std::uint32_t threads,
                         const Barrier& barrier) {
    using namespace mori_names;
    constexpr ProviderType P = ProviderType::kDingo;

    for (std::uint32_t i = thread; i < t.bytes; i += threads)
        t.send[i] = t.value;
    barrier();
    if (thread == 0) {
        const std::uint64_t doorbell =
            PostWrite<P>(t.wq, t.qpn, reinterpret_cast<std::uint64_t>(t.send), t.send_key,
                         reinterpret_cast<std::uint64_t>(t.recv), t.recv_key, t.bytes);
        UpdateSendDbrRecord<P>(t.wq, doorbell);
        RingDoorbell<P>(t.wq, doorbell);
        t.status = PollCq<P>(t.cq);
        UpdateCqDbrRecord<P>(t.cq);
        t.wrong = 0;
        for (std::uint32_t i = 0; i < t.bytes; ++i)
            t.wrong += t.status != 0 || t.recv[i] != t.value;
        if (t.status != 0)
            printf("Failed: the transfer's status is %d\n", t.status);
        else if (t.wrong != 0)
            printf("Failed: %u of %u bytes are not %d\n", t.wrong, t.bytes, t.value);
        else
            printf("Success! All %u bytes verified with value %d\n", t.bytes, t.value);
    }
}

}  // namespace gpu_interchange
