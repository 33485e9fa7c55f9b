// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "memory/gpu.h"
#include "memory/hip_api.h"
#include "memory/shared_library.h"

namespace rdma_bench {
namespace {

using namespace hip;

void* pointer(std::uint64_t address) {
    return reinterpret_cast<void*>(address);  // NOLINT: HIP's addresses are pointers
}

class HipGpu final : public Gpu {
  public:
    explicit HipGpu(int index);

    [[nodiscard]] std::string description() const override;
    std::uint64_t allocate(std::size_t bytes) override;
    void release(std::uint64_t address) noexcept override;
    void write(std::uint64_t address, std::span<const std::byte> data) override;
    void read(std::uint64_t address, std::span<std::byte> data) override;
    Export export_dmabuf(std::uint64_t address, std::size_t bytes) override;
    void synchronize() override;

  private:
    /// HIP keeps the current device per thread.
    void make_current() const {
        check(hip_.need<SetDevice>("hipSetDevice")(index_), "hipSetDevice");
    }
    void check(Error error, const std::string& call) const;
    [[nodiscard]] std::string text(Error error) const;
    void copy(void* to, const void* from, std::size_t bytes, int kind) const;
    [[nodiscard]] bool may_export() const;

    SharedLibrary hip_;
    SharedLibrary hsa_;
    std::string name_;
    int index_;
};

HipGpu::HipGpu(int index)
    : hip_({"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}),
      hsa_({"libhsa-runtime64.so.1"}),
      index_(index) {
    if (!hip_) {
        throw std::runtime_error("memory kind hip: no HIP runtime on this machine (" +
                                 hip_.error() + "); install ROCm's libamdhip64, or use --mem host");
    }
    name_ = "hip:" + std::to_string(index);
    int count = 0;
    const Error error = hip_.need<GetDeviceCount>("hipGetDeviceCount")(&count);
    if (error == kErrorNoDevice || (error == kSuccess && count == 0)) {
        throw std::runtime_error(
            "memory kind hip: HIP finds no GPU; see rocminfo, the rights on /dev/kfd and "
            "HIP_VISIBLE_DEVICES");
    }
    check(error, "hipGetDeviceCount");
    if (index >= count) {
        throw std::runtime_error("memory kind " + name_ + ": this machine has " +
                                 std::to_string(count) + " HIP device(s), numbered from 0");
    }
    make_current();
}

std::string HipGpu::text(Error error) const {
    auto* name = hip_.find<GetErrorName>("hipGetErrorName");
    const char* words = name != nullptr ? name(error) : nullptr;
    return words != nullptr ? words : "error " + std::to_string(error);
}

void HipGpu::check(Error error, const std::string& call) const {
    if (error != kSuccess) {
        throw std::runtime_error("memory kind " + name_ + ": " + call + ": " + text(error));
    }
}

std::string HipGpu::description() const {
    std::array<char, 128> name{};
    int version = 0;
    check(hip_.need<DeviceGetName>("hipDeviceGetName")(name.data(),
                                                       static_cast<int>(name.size()) - 1, index_),
          "hipDeviceGetName");
    check(hip_.need<DriverGetVersion>("hipDriverGetVersion")(&version), "hipDriverGetVersion");
    return std::string(name.data()) + ", HIP " + std::to_string(version / 10000000) + "." +
           std::to_string(version / 100000 % 100);
}

std::uint64_t HipGpu::allocate(std::size_t bytes) {
    make_current();
    void* address = nullptr;
    const Error error = hip_.need<Malloc>("hipMalloc")(&address, bytes);
    if (error == kErrorOutOfMemory) {
        throw std::runtime_error("memory kind " + name_ + ": the GPU has no " +
                                 std::to_string(bytes) + " bytes free (see rocm-smi)");
    }
    check(error, "hipMalloc");
    return reinterpret_cast<std::uint64_t>(address);
}

void HipGpu::release(std::uint64_t address) noexcept {
    if (auto* free = hip_.find<Free>("hipFree"); free != nullptr) {
        free(pointer(address));
    }
}

void HipGpu::copy(void* to, const void* from, std::size_t bytes, int kind) const {
    make_current();
    check(hip_.need<Memcpy>("hipMemcpy")(to, from, bytes, kind), "hipMemcpy");
    check(hip_.need<DeviceSynchronize>("hipDeviceSynchronize")(), "hipDeviceSynchronize");
}

void HipGpu::write(std::uint64_t address, std::span<const std::byte> data) {
    copy(pointer(address), data.data(), data.size(), kMemcpyHostToDevice);
}

void HipGpu::read(std::uint64_t address, std::span<std::byte> data) {
    copy(data.data(), pointer(address), data.size(), kMemcpyDeviceToHost);
}

/// Returns whether the HSA runtime says that the kernel supports export; true if it cannot be
/// queried.
bool HipGpu::may_export() const {
    auto* get_info = hsa_.find<HsaSystemGetInfo>("hsa_system_get_info");
    unsigned char supported = 0;
    return get_info == nullptr ||
           get_info(kHsaSystemInfoDmabufSupported, &supported) != kHsaSuccess || supported != 0;
}

Gpu::Export HipGpu::export_dmabuf(std::uint64_t address, std::size_t bytes) {
    make_current();
    auto* whole = hsa_.find<HsaPortableExportDmabuf>("hsa_amd_portable_export_dmabuf");
    auto* range = hip_.find<MemGetHandleForAddressRange>("hipMemGetHandleForAddressRange");
    if (whole == nullptr && range == nullptr) {
        throw std::runtime_error("memory kind " + name_ +
                                 ": this ROCm cannot export DMABufs: 5.6 or later is needed");
    }
    if (!may_export()) {
        throw std::runtime_error("memory kind " + name_ +
                                 ": the kernel cannot export DMABufs of this GPU: Linux 6.2 with "
                                 "CONFIG_PCI_P2PDMA and CONFIG_DMABUF_MOVE_NOTIFY is needed");
    }
    int fd = -1;
    if (whole != nullptr) {
        std::uint64_t offset = 0;
        const HsaStatus status = whole(pointer(address), bytes, &fd, &offset);
        if (status != kHsaSuccess) {
            throw std::runtime_error("memory kind " + name_ +
                                     ": hsa_amd_portable_export_dmabuf: HSA status " +
                                     std::to_string(status));
        }
        return {Descriptor(fd), offset};
    }
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t start = address / page * page;
    const std::uint64_t end = (address + bytes + page - 1) / page * page;
    check(range(&fd, pointer(start), end - start, kRangeHandleDmaBufFd, 0),
          "hipMemGetHandleForAddressRange");
    return {Descriptor(fd), address - start};
}

void HipGpu::synchronize() {
    int before = 0;
    check(hip_.need<GetDevice>("hipGetDevice")(&before), "hipGetDevice");
    make_current();
    const Error error = hip_.need<DeviceSynchronize>("hipDeviceSynchronize")();
    hip_.need<SetDevice>("hipSetDevice")(before);
    check(error, "hipDeviceSynchronize");
}

}  // namespace

std::unique_ptr<Gpu> open_hip(int index) {
    return std::make_unique<HipGpu>(index);
}

}  // namespace rdma_bench
