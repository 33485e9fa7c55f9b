// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "memory/cuda_api.h"
#include "memory/gpu.h"
#include "memory/shared_library.h"

namespace rdma_bench {
namespace {

using namespace cuda;

class CudaGpu final : public Gpu {
  public:
    explicit CudaGpu(int index);
    ~CudaGpu() override;

    [[nodiscard]] std::string description() const override;
    std::uint64_t allocate(std::size_t bytes) override;
    void release(std::uint64_t address) noexcept override;
    void write(std::uint64_t address, std::span<const std::byte> data) override;
    void read(std::uint64_t address, std::span<std::byte> data) override;
    Export export_dmabuf(std::uint64_t address, std::size_t bytes) override;
    void synchronize() override;

  private:
    /// The driver keeps the current context per thread.
    void make_current() const;
    void check(Result result, const std::string& call) const;
    [[nodiscard]] std::string text(Result result) const;
    [[nodiscard]] int attribute(int which) const;

    SharedLibrary library_;
    std::string name_;
    Device device_ = 0;
    Context context_ = nullptr;
};

CudaGpu::CudaGpu(int index) : library_({"libcuda.so.1", "libcuda.so"}) {
    if (!library_) {
        throw std::runtime_error("memory kind cuda: no CUDA driver on this machine (" +
                                 library_.error() +
                                 "); install NVIDIA's driver, or use --mem host");
    }
    name_ = "cuda:" + std::to_string(index);
    const Result result = library_.need<Init>("cuInit")(0);
    if (result == kErrorNoDevice) {
        throw std::runtime_error("memory kind cuda: the CUDA driver finds no GPU (cuInit: " +
                                 text(result) + "); see nvidia-smi and CUDA_VISIBLE_DEVICES");
    }
    check(result, "cuInit");
    int count = 0;
    check(library_.need<DeviceGetCount>("cuDeviceGetCount")(&count), "cuDeviceGetCount");
    if (index >= count) {
        throw std::runtime_error("memory kind " + name_ + ": this machine has " +
                                 std::to_string(count) + " CUDA device(s), numbered from 0");
    }
    check(library_.need<DeviceGet>("cuDeviceGet")(&device_, index), "cuDeviceGet");
    check(library_.need<DevicePrimaryCtxRetain>("cuDevicePrimaryCtxRetain")(&context_, device_),
          "cuDevicePrimaryCtxRetain");
}

CudaGpu::~CudaGpu() {
    if (auto* release = library_.find<DevicePrimaryCtxRelease>("cuDevicePrimaryCtxRelease_v2");
        context_ != nullptr && release != nullptr) {
        release(device_);
    }
}

std::string CudaGpu::text(Result result) const {
    const char* name = nullptr;
    const char* words = nullptr;
    if (auto* get = library_.find<GetErrorName>("cuGetErrorName"); get != nullptr) {
        get(result, &name);
    }
    if (auto* get = library_.find<GetErrorString>("cuGetErrorString"); get != nullptr) {
        get(result, &words);
    }
    std::string out = name != nullptr ? name : "error " + std::to_string(result);
    return words != nullptr ? out + ", " + words : out;
}

void CudaGpu::check(Result result, const std::string& call) const {
    if (result != kSuccess) {
        throw std::runtime_error("memory kind " + name_ + ": " + call + ": " + text(result));
    }
}

void CudaGpu::make_current() const {
    check(library_.need<CtxSetCurrent>("cuCtxSetCurrent")(context_), "cuCtxSetCurrent");
}

int CudaGpu::attribute(int which) const {
    int value = 0;
    check(library_.need<DeviceGetAttribute>("cuDeviceGetAttribute")(&value, which, device_),
          "cuDeviceGetAttribute");
    return value;
}

std::string CudaGpu::description() const {
    std::array<char, 128> name{};
    int version = 0;
    check(library_.need<DeviceGetName>("cuDeviceGetName")(
              name.data(), static_cast<int>(name.size()) - 1, device_),
          "cuDeviceGetName");
    check(library_.need<DriverGetVersion>("cuDriverGetVersion")(&version), "cuDriverGetVersion");
    return std::string(name.data()) + ", CUDA " + std::to_string(version / 1000) + "." +
           std::to_string(version % 1000 / 10);
}

std::uint64_t CudaGpu::allocate(std::size_t bytes) {
    make_current();
    DevicePointer address = 0;
    const Result result = library_.need<MemAlloc>("cuMemAlloc_v2")(&address, bytes);
    if (result == kErrorOutOfMemory) {
        throw std::runtime_error("memory kind " + name_ + ": the GPU has no " +
                                 std::to_string(bytes) + " bytes free (see nvidia-smi)");
    }
    check(result, "cuMemAlloc");
    // Copies then wait for DMA by other devices (NVIDIA, GPUDirect RDMA: synchronization of memory
    // operations).
    const unsigned on = 1;
    if (auto* set = library_.find<PointerSetAttribute>("cuPointerSetAttribute"); set != nullptr) {
        set(&on, kPointerAttributeSyncMemops, address);
    }
    return address;
}

void CudaGpu::release(std::uint64_t address) noexcept {
    auto* set = library_.find<CtxSetCurrent>("cuCtxSetCurrent");
    auto* free = library_.find<MemFree>("cuMemFree_v2");
    if (set != nullptr && free != nullptr && set(context_) == kSuccess) {
        free(address);
    }
}

void CudaGpu::write(std::uint64_t address, std::span<const std::byte> data) {
    make_current();
    check(library_.need<MemcpyHtoD>("cuMemcpyHtoD_v2")(address, data.data(), data.size()),
          "cuMemcpyHtoD");
}

void CudaGpu::read(std::uint64_t address, std::span<std::byte> data) {
    make_current();
    check(library_.need<MemcpyDtoH>("cuMemcpyDtoH_v2")(data.data(), address, data.size()),
          "cuMemcpyDtoH");
}

Gpu::Export CudaGpu::export_dmabuf(std::uint64_t address, std::size_t bytes) {
    make_current();
    auto* get_handle = library_.find<MemGetHandleForAddressRange>("cuMemGetHandleForAddressRange");
    if (get_handle == nullptr) {
        throw std::runtime_error(
            "memory kind " + name_ +
            ": this CUDA driver cannot export DMABufs: 11.7 or later is needed");
    }
    if (attribute(kAttributeDmaBufSupported) == 0) {
        throw std::runtime_error("memory kind " + name_ + ": " + description() +
                                 ": this GPU cannot export DMABufs here: NVIDIA's open kernel "
                                 "modules and Linux 5.12 or later are needed");
    }
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t start = address / page * page;
    const std::uint64_t end = (address + bytes + page - 1) / page * page;
    int fd = -1;
    const Result result = get_handle(&fd, start, end - start, kRangeHandleDmaBufFd, 0);
    if (result == kErrorNotSupported) {
        throw std::runtime_error("memory kind " + name_ +
                                 ": cuMemGetHandleForAddressRange: " + text(result) +
                                 ": the kernel or NVIDIA's modules cannot export DMABufs");
    }
    check(result, "cuMemGetHandleForAddressRange");
    return {Descriptor(fd), address - start};
}

void CudaGpu::synchronize() {
    auto* const pop = library_.need<CtxPopCurrent>("cuCtxPopCurrent_v2");
    auto* const wait = library_.need<CtxSynchronize>("cuCtxSynchronize");
    check(library_.need<CtxPushCurrent>("cuCtxPushCurrent_v2")(context_), "cuCtxPushCurrent");
    const Result result = wait();
    Context popped = nullptr;
    pop(&popped);
    check(result, "cuCtxSynchronize");
}

}  // namespace

std::unique_ptr<Gpu> open_cuda(int index) {
    return std::make_unique<CudaGpu>(index);
}

}  // namespace rdma_bench
