// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// The kernel of the tests for AMD's GPUs: compiled, as no such GPU is at hand.
#include <hip/hip_runtime.h>

#include "job.h"

__global__ void gda_kernel(gda::Job* job) {
    const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread < job->threads)
        gda::work(*job, thread);
}
