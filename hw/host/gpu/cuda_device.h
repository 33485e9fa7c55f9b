// SPDX-License-Identifier: BSD-2-Clause
//
// NVIDIA's driver library, loaded when a client first registers GPU memory.
#pragma once

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "host/gpu/cuda_api.h"
#include "host/gpu/cuda_lent.h"

namespace dingo::gpu {

/// Memory of a GPU cannot be opened: an errno for the client and a text for the log.
class CudaError : public std::runtime_error {
  public:
    CudaError(int error, const std::string& what) : std::runtime_error(what), error_(error) {}
    [[nodiscard]] int error() const { return error_; }

  private:
    int error_;
};

/// The driver functions that a card calls.
struct CudaCalls {
    cuda::Init* init;
    cuda::GetErrorName* error_name;
    cuda::DeviceGetCount* device_count;
    cuda::DeviceGet* device;
    cuda::DeviceGetUuid* uuid;
    cuda::DevicePrimaryCtxRetain* retain_context;
    cuda::DevicePrimaryCtxRelease* release_context;
    cuda::CtxSetCurrent* set_context;
    cuda::StreamCreate* create_stream;
    cuda::StreamDestroy* destroy_stream;
    cuda::StreamSynchronize* synchronize;
    cuda::EventCreate* create_event;
    cuda::EventDestroy* destroy_event;
    cuda::EventRecord* record_event;
    cuda::EventSynchronize* wait_for_event;
    cuda::EventQuery* query_event;
    cuda::MemHostRegister* pin;
    cuda::MemHostUnregister* unpin;
    cuda::MemcpyHtoDAsync* copy_to_device;
    cuda::MemcpyDtoHAsync* copy_to_host;
    cuda::Memcpy2dAsync* copy_2d;
    cuda::StreamWriteValue32* write_32;
    cuda::StreamWriteValue64* write_64;
    cuda::IpcOpenMemHandle* open_ipc;
    cuda::IpcCloseMemHandle* close_ipc;
    cuda::MemGetAddressRange* address_range;
    cuda::MemImportFromShareableHandle* import_handle;
    cuda::MemRelease* release_handle;
    cuda::MemAddressReserve* reserve;
    cuda::MemAddressFree* free_address;
    cuda::MemMap* map;
    cuda::MemUnmap* unmap;
    cuda::MemSetAccess* set_access;
};

/// A GPU and this process's primary context on it, retained during the object's lifetime.
class CudaDevice {
  public:
    /// Returns the GPU with this UUID; all callers share one object. Throws CudaError (ENODEV).
    static std::shared_ptr<CudaDevice> open(const cuda::Uuid& uuid);
    ~CudaDevice();
    CudaDevice(const CudaDevice&) = delete;
    CudaDevice& operator=(const CudaDevice&) = delete;

    [[nodiscard]] const CudaCalls& calls() const { return calls_; }
    [[nodiscard]] cuda::Device number() const { return device_; }
    /// Locked during an atomic operation, as clients, and lanes of one client, may share memory.
    [[nodiscard]] std::mutex& atomics() { return atomics_; }
    /// Makes the context current in this thread. Needed before any driver call. Returns false if
    /// the context is gone.
    [[nodiscard]] bool use() const;
    /// Returns for example "cuMemMap: CUDA_ERROR_INVALID_VALUE".
    [[nodiscard]] std::string words(const char* call, cuda::Result result) const;
    /// Throws CudaError(error) unless the call succeeded.
    void check(cuda::Result result, const char* call, int error) const;

  private:
    CudaDevice(const CudaCalls& calls, cuda::Device device);

    const CudaCalls& calls_;
    cuda::Device device_;
    cuda::Context context_ = nullptr;
    std::mutex atomics_;
    std::unique_ptr<CudaLent> lent_;
};

/// Returns "GPU-01020304-...", the format of nvidia-smi.
std::string name_of(const cuda::Uuid& uuid);

}  // namespace dingo::gpu
