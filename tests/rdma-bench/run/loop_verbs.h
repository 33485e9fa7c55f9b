// SPDX-License-Identifier: BSD-2-Clause
// An RDMA device in this process: QPs reach each other by number, and the thread that posts or
// polls moves the message. Threads of one side meet in nothing that two queues of a device do not
// share, so that ThreadSanitizer sees what the program forgets to order; the bytes move unseen, as
// by DMA.
#pragma once
#include <infiniband/verbs.h>

#include <cstdint>

namespace loop_verbs {

/// What goes wrong, once; messages of all QPs are counted from 1. 0: nothing.
struct Faults {
    std::uint64_t fail = 0;     ///< completes with IBV_WC_REM_OP_ERR, and its QP is in error
    std::uint64_t corrupt = 0;  ///< has its first byte flipped
    std::uint64_t lose = 0;     ///< never arrives; on UC and UD its sender does not know
};
/// Messages count anew from here. Not while threads use the device.
void set_faults(const Faults& faults);
/// Objects that were made and not destroyed: contexts, PDs, MRs, CQs, channels, SRQs, QPs, AHs.
int live_objects();

}  // namespace loop_verbs
