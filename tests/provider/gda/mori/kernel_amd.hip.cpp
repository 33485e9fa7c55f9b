// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// MORI's shmem kernels for Dingo cards, compiled for AMD's GPUs by scripts/mori.sh, as no such GPU is at hand: each way by which
// they post, and the quiet.
#include <hip/hip_runtime.h>

#include "mori/shmem/shmem_device_kernels.hpp"
#include "mori/shmem/shmem_ibgda_kernels.hpp"

using namespace mori;
using namespace mori::shmem;

constexpr application::TransportType kRdma = application::TransportType::RDMA;

__global__ void everything(application::SymmMemObjPtr to, application::SymmMemObjPtr from,
                           size_t bytes, uint64_t value, int peer, int qp, uint64_t* result) {
    ShmemPutMemNbiThreadKernel<kRdma>(to, 0, from, 0, bytes, peer, qp);
    ShmemPutMemNbiSignalThreadKernel<kRdma, true>(to, 0, from, 0, bytes, to, 64, value,
                                                  core::AMO_ADD, peer, qp);
    ShmemPutSizeImmNbiThreadKernel<kRdma>(to, 0, &value, sizeof value, peer, qp);
    ShmemAtomicSizeNonFetchThreadKernel<kRdma>(to, 0, &value, sizeof value, core::AMO_ADD, peer,
                                               qp);
    *result = ShmemAtomicTypeFetchThreadKernel<kRdma, uint64_t>(
        to, 0, &value, nullptr, sizeof value, core::AMO_FETCH_ADD, peer, qp);
    ShmemQuietThreadKernel<kRdma>(peer, qp);
    ShmemQuietThreadKernel<kRdma>(peer);
    ShmemQuietThreadKernel<kRdma>();
}
