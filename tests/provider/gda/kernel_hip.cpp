// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// The kernel of the tests for AMD's GPUs: compiled, as no such GPU is at hand.
#include <hip/hip_runtime.h>

#include "dingo_gda_slot.h"
#include "job.h"

__global__ void gda_kernel(gda::Job* job) {
    const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread < job->threads)
        gda::work(*job, thread);
}

// Single steps, of one thread.
__global__ void slot_kernel(std::uint64_t* sq, std::uint64_t* doorbell, const void* cq, std::uint64_t at,
                            std::uint32_t key, int* status) {
    std::uint32_t wqe;
    dingo_gda_slot_transfer(dingo_gda_slot(sq, 64, 0), DINGO_WR_WRITE, false, at, key, at, key, 8);
    dingo_gda_slot_write_inline(dingo_gda_slot(sq, 64, 1), false, &key, sizeof key, at, key);
    dingo_gda_slot_atomic(dingo_gda_slot(sq, 64, 2), DINGO_WR_FETCH_ADD, true, at, key, at, key, 1, 0);
    dingo_gda_slot_ring(doorbell, dingo_gda_slot_doorbell(3, 0));
    while ((*status = dingo_gda_slot_poll(cq, 64, 0, &wqe)) == DINGO_GDA_SLOT_NOTHING)
        ;
}
