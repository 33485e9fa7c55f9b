// SPDX-License-Identifier: BSD-2-Clause
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "device.h"
#include "interchange.h"

namespace gpu_interchange {
namespace {

constexpr unsigned kThreads = 64;

void check(cudaError_t error, const char* call) {
    if (error != cudaSuccess)
        throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
}

struct BlockBarrier {
    __device__ void operator()() const { __syncthreads(); }
};

__global__ void kernel(Transfer* transfer) {
    interchange(*transfer, threadIdx.x, blockDim.x, BlockBarrier{});
}

class CudaDevice final : public Device {
  public:
    explicit CudaDevice(bool pinned) : pinned_(pinned) { check(cudaSetDevice(0), "cudaSetDevice"); }
    ~CudaDevice() override {
        for (void* const buffer : buffers_)
            pinned_ ? cudaFreeHost(buffer) : cudaFree(buffer);
    }
    [[nodiscard]] dingo_gda_kind kind() const override { return DINGO_GDA_CUDA; }
    void* alloc(std::size_t bytes) override {
        void* at = nullptr;
        check(pinned_ ? cudaHostAlloc(&at, bytes, cudaHostAllocMapped) : cudaMalloc(&at, bytes),
              pinned_ ? "cudaHostAlloc" : "cudaMalloc");
        buffers_.push_back(at);
        check(cudaMemset(at, 0, bytes), "cudaMemset");
        return at;
    }
    void run(Transfer& transfer) override {
        Transfer* there = nullptr;
        check(cudaMalloc(&there, sizeof transfer), "cudaMalloc");
        check(cudaMemcpy(there, &transfer, sizeof transfer, cudaMemcpyHostToDevice), "cudaMemcpy");
        kernel<<<1, kThreads>>>(there);
        check(cudaDeviceSynchronize(), "the kernel");
        check(cudaMemcpy(&transfer, there, sizeof transfer, cudaMemcpyDeviceToHost), "cudaMemcpy");
        cudaFree(there);
    }

  private:
    bool pinned_;
    std::vector<void*> buffers_;
};

}  // namespace

std::unique_ptr<Device> cuda_device(bool pinned) {
    return std::make_unique<CudaDevice>(pinned);
}

}  // namespace gpu_interchange
