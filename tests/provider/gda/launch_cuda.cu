// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Buffers are host memory allocated by CUDA, which the card can access directly.
#include <cuda_runtime.h>

#include <cstring>
#include <stdexcept>

#include "job.h"
#include "launch.h"

namespace gda {
namespace {

void check(cudaError_t error, const char* call) {
    if (error != cudaSuccess)
        throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
}

__global__ void kernel(Job* job) {
    const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread < job->threads)
        work(*job, thread);
}

cudaStream_t captured = nullptr;

}  // namespace

dingo_gda_kind device_kind() {
    return DINGO_GDA_CUDA;
}

void* device_memory(std::size_t bytes) {
    void* at = nullptr;
    check(cudaHostAlloc(&at, bytes, cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc");
    std::memset(at, 0, bytes);
    return at;
}

void start(Job* job) {
    constexpr std::uint32_t kBlock = 128;
    kernel<<<(job->threads + kBlock - 1) / kBlock, kBlock>>>(job);
    check(cudaGetLastError(), "kernel");
}

void finish() {
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void begin_capture() {
    check(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
}

void end_capture() {
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(captured, &graph), "cudaStreamEndCapture");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    check(cudaStreamDestroy(captured), "cudaStreamDestroy");
}

}  // namespace gda
