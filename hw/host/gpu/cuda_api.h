// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// The part of the CUDA driver API (libcuda.so.1) that a card needs, declared here because cuda.h
/// may not be redistributed and a card is built without it. Names and values are those of cuda.h.
namespace dingo::gpu::cuda {

using Result = int;
using Device = int;
using Context = struct ContextObject*;
using Stream = struct StreamObject*;
using Event = struct EventObject*;
using Array = struct ArrayObject*;
using DevicePointer = unsigned long long;
using AllocationHandle = unsigned long long;

constexpr Result kSuccess = 0;
constexpr Result kNotReady = 600;
constexpr unsigned kHostRegisterPortable = 1;  ///< pinned for all contexts
constexpr unsigned kHostRegisterReadOnly = 8;  ///< mapped for reading only
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDisableTiming = 2;
constexpr unsigned kMemoryHost = 1;
constexpr unsigned kMemoryDevice = 2;
constexpr unsigned kIpcLazyEnablePeerAccess = 1;
constexpr int kHandlePosixFd = 1;
constexpr int kLocationDevice = 1;
constexpr int kAccessReadWrite = 3;

struct Uuid {
    std::array<std::uint8_t, 16> bytes{};
};
struct IpcHandle {
    std::array<std::byte, 64> bytes{};
};
struct Location {
    int type = 0;
    int id = 0;
};
struct AccessDescription {
    Location location;
    int flags = 0;
};

/// CUDA_MEMCPY2D: copies rows of bytes.
struct Memcpy2d {
    std::size_t src_x = 0;
    std::size_t src_y = 0;
    unsigned src_type = 0;
    const void* src_host = nullptr;
    DevicePointer src_device = 0;
    Array src_array = nullptr;
    std::size_t src_pitch = 0;
    std::size_t dst_x = 0;
    std::size_t dst_y = 0;
    unsigned dst_type = 0;
    void* dst_host = nullptr;
    DevicePointer dst_device = 0;
    Array dst_array = nullptr;
    std::size_t dst_pitch = 0;
    std::size_t width = 0;
    std::size_t height = 0;
};

using Init = Result(unsigned flags);
using GetErrorName = Result(Result error, const char** name);
using DeviceGetCount = Result(int* count);
using DeviceGet = Result(Device* device, int ordinal);
using DeviceGetUuid = Result(Uuid* uuid, Device device);
using DevicePrimaryCtxRetain = Result(Context* context, Device device);
using DevicePrimaryCtxRelease = Result(Device device);
using CtxSetCurrent = Result(Context context);
using StreamCreate = Result(Stream* stream, unsigned flags);
using StreamDestroy = Result(Stream stream);
using StreamSynchronize = Result(Stream stream);
using EventCreate = Result(Event* event, unsigned flags);
using EventDestroy = Result(Event event);
using EventRecord = Result(Event event, Stream stream);
using EventSynchronize = Result(Event event);
using EventQuery = Result(Event event);
using StreamWriteValue32 = Result(Stream, DevicePointer to, std::uint32_t value, unsigned flags);
using StreamWriteValue64 = Result(Stream, DevicePointer to, std::uint64_t value, unsigned flags);
using Memcpy2dAsync = Result(const Memcpy2d* copy, Stream stream);
using MemHostRegister = Result(void* at, std::size_t bytes, unsigned flags);
using MemHostUnregister = Result(void* at);
using MemcpyHtoDAsync = Result(DevicePointer to, const void* from, std::size_t bytes, Stream);
using MemcpyDtoHAsync = Result(void* to, DevicePointer from, std::size_t bytes, Stream);
using IpcOpenMemHandle = Result(DevicePointer* address, IpcHandle handle, unsigned flags);
using IpcCloseMemHandle = Result(DevicePointer address);
using MemGetAddressRange = Result(DevicePointer* base, std::size_t* bytes, DevicePointer address);
using MemImportFromShareableHandle = Result(AllocationHandle* handle, void* os_handle, int type);
using MemRelease = Result(AllocationHandle handle);
using MemAddressReserve = Result(DevicePointer* address, std::size_t bytes, std::size_t alignment,
                                 DevicePointer wanted, unsigned long long flags);
using MemAddressFree = Result(DevicePointer address, std::size_t bytes);
using MemMap = Result(DevicePointer address, std::size_t bytes, std::size_t offset,
                      AllocationHandle handle, unsigned long long flags);
using MemUnmap = Result(DevicePointer address, std::size_t bytes);
using MemSetAccess = Result(DevicePointer address, std::size_t bytes,
                            const AccessDescription* access, std::size_t count);

}  // namespace dingo::gpu::cuda
