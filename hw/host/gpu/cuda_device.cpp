// SPDX-License-Identifier: BSD-2-Clause
#include "host/gpu/cuda_device.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <optional>

namespace dingo::gpu {
namespace {

std::string words_of(const CudaCalls& calls, const char* call, cuda::Result result) {
    const char* name = nullptr;
    if (calls.error_name(result, &name) != cuda::kSuccess || name == nullptr) {
        return fmt::format("{}: error {}", call, result);
    }
    return fmt::format("{}: {}", call, name);
}

template <typename Function>
void find(void* library, Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(::dlsym(library, name));
    if (function == nullptr) {
        throw CudaError(ENODEV, fmt::format("the NVIDIA driver is too old: it has no {}", name));
    }
}

CudaCalls load() {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) {
        throw CudaError(ENODEV, fmt::format("no NVIDIA driver here ({})", ::dlerror()));
    }
    CudaCalls calls{};
    find(library, calls.init, "cuInit");
    find(library, calls.error_name, "cuGetErrorName");
    find(library, calls.device_count, "cuDeviceGetCount");
    find(library, calls.device, "cuDeviceGet");
    find(library, calls.uuid, "cuDeviceGetUuid_v2");
    find(library, calls.retain_context, "cuDevicePrimaryCtxRetain");
    find(library, calls.release_context, "cuDevicePrimaryCtxRelease_v2");
    find(library, calls.set_context, "cuCtxSetCurrent");
    find(library, calls.create_stream, "cuStreamCreate");
    find(library, calls.destroy_stream, "cuStreamDestroy_v2");
    find(library, calls.synchronize, "cuStreamSynchronize");
    find(library, calls.create_event, "cuEventCreate");
    find(library, calls.destroy_event, "cuEventDestroy_v2");
    find(library, calls.record_event, "cuEventRecord");
    find(library, calls.wait_for_event, "cuEventSynchronize");
    find(library, calls.query_event, "cuEventQuery");
    find(library, calls.pin, "cuMemHostRegister_v2");
    find(library, calls.unpin, "cuMemHostUnregister");
    find(library, calls.copy_to_device, "cuMemcpyHtoDAsync_v2");
    find(library, calls.copy_to_host, "cuMemcpyDtoHAsync_v2");
    find(library, calls.copy_2d, "cuMemcpy2DAsync_v2");
    find(library, calls.write_32, "cuStreamWriteValue32_v2");
    find(library, calls.write_64, "cuStreamWriteValue64_v2");
    find(library, calls.open_ipc, "cuIpcOpenMemHandle_v2");
    find(library, calls.close_ipc, "cuIpcCloseMemHandle");
    find(library, calls.address_range, "cuMemGetAddressRange_v2");
    find(library, calls.import_handle, "cuMemImportFromShareableHandle");
    find(library, calls.release_handle, "cuMemRelease");
    find(library, calls.reserve, "cuMemAddressReserve");
    find(library, calls.free_address, "cuMemAddressFree");
    find(library, calls.map, "cuMemMap");
    find(library, calls.unmap, "cuMemUnmap");
    find(library, calls.set_access, "cuMemSetAccess");
    const cuda::Result result = calls.init(0);
    if (result != cuda::kSuccess) {
        throw CudaError(ENODEV, words_of(calls, "cuInit", result));
    }
    return calls;
}

/// The driver's functions and the GPUs in use. A failed initialization is retried next time.
struct Driver {
    std::mutex mutex;
    std::optional<CudaCalls> calls;
    std::map<std::array<std::uint8_t, 16>, std::weak_ptr<CudaDevice>> devices;
};

// Never destroyed: detached threads use it until the process ends.
Driver& driver() {
    static Driver& the_driver = *new Driver;
    return the_driver;
}

cuda::Device number_of(const CudaCalls& calls, const cuda::Uuid& wanted) {
    int count = 0;
    const cuda::Result result = calls.device_count(&count);
    if (result != cuda::kSuccess) {
        throw CudaError(ENODEV, words_of(calls, "cuDeviceGetCount", result));
    }
    for (int i = 0; i < count; ++i) {
        cuda::Device device = 0;
        cuda::Uuid uuid;
        if (calls.device(&device, i) == cuda::kSuccess &&
            calls.uuid(&uuid, device) == cuda::kSuccess && uuid.bytes == wanted.bytes) {
            return device;
        }
    }
    throw CudaError(
        ENODEV,
        fmt::format(
            "the card's process does not see {} among its {} GPU(s): check CUDA_VISIBLE_DEVICES of "
            "the card (with MIG: the same instance) and the devices of its container",
            name_of(wanted), count));
}

}  // namespace

std::string name_of(const cuda::Uuid& uuid) {
    std::string text = "GPU-";
    for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            text += '-';
        }
        text += fmt::format("{:02x}", uuid.bytes[i]);
    }
    return text;
}

std::shared_ptr<CudaDevice> CudaDevice::open(const cuda::Uuid& uuid) {
    Driver& d = driver();
    const std::scoped_lock lock(d.mutex);
    if (!d.calls) {
        d.calls = load();
    }
    std::shared_ptr<CudaDevice> device = d.devices[uuid.bytes].lock();
    if (device == nullptr) {
        device.reset(new CudaDevice(*d.calls, number_of(*d.calls, uuid)));
        d.devices[uuid.bytes] = device;
    }
    return device;
}

CudaDevice::CudaDevice(const CudaCalls& calls, cuda::Device device)
    : calls_(calls), device_(device) {
    check(calls_.retain_context(&context_, device_), "cuDevicePrimaryCtxRetain", ENODEV);
    lent_ = std::make_unique<CudaLent>(*this);
}

CudaDevice::~CudaDevice() {
    lent_.reset();
    calls_.release_context(device_);
}

bool CudaDevice::use() const {
    return calls_.set_context(context_) == cuda::kSuccess;
}

std::string CudaDevice::words(const char* call, cuda::Result result) const {
    return words_of(calls_, call, result);
}

void CudaDevice::check(cuda::Result result, const char* call, int error) const {
    if (result != cuda::kSuccess) {
        throw CudaError(error, words(call, result));
    }
}

}  // namespace dingo::gpu
