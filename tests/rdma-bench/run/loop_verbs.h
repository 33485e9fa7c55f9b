// SPDX-License-Identifier: BSD-2-Clause
// A fake RDMA device inside the process: QPs reach each other by number, and the thread that posts
// or polls moves the message. Its locks do not order threads that use different queues, so that
// ThreadSanitizer finds missing synchronization in the program; the copies themselves are hidden
// from it, as DMA is.
#pragma once
#include <infiniband/verbs.h>

#include <cstdint>

namespace loop_verbs {

/// Numbers of the messages to fail, each once; messages of all QPs are counted from 1. 0: none.
struct Faults {
    std::uint64_t fail = 0;     ///< completes with IBV_WC_REM_OP_ERR and puts its QP in error
    std::uint64_t corrupt = 0;  ///< arrives with its first byte flipped
    std::uint64_t lose = 0;     ///< never arrives; on UC and UD the sender gets a success
};
/// Sets the faults and restarts the count of messages. Not while threads use the device.
void set_faults(const Faults& faults);
/// Returns the number of live objects: contexts, PDs, MRs, CQs, channels, SRQs, QPs, AHs.
int live_objects();

}  // namespace loop_verbs
