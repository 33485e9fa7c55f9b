// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

/// Calls of the CUDA driver API (libcuda.so.1) that buffers use, declared here because its header
/// must not be redistributed and the program is built without it. Names and values are those of
/// cuda.h.
namespace rdma_bench::cuda {

using Result = int;
using Device = int;
using Context = struct ContextObject*;
using DevicePointer = unsigned long long;

constexpr Result kSuccess = 0;
constexpr Result kErrorOutOfMemory = 2;
constexpr Result kErrorNoDevice = 100;
constexpr Result kErrorNotSupported = 801;
constexpr int kAttributeDmaBufSupported = 124;
constexpr int kRangeHandleDmaBufFd = 1;
constexpr int kPointerAttributeSyncMemops = 6;

using Init = Result(unsigned flags);
using DriverGetVersion = Result(int* version);
using GetErrorName = Result(Result error, const char** name);
using GetErrorString = Result(Result error, const char** text);
using DeviceGetCount = Result(int* count);
using DeviceGet = Result(Device* device, int ordinal);
using DeviceGetName = Result(char* name, int length, Device device);
using DeviceGetAttribute = Result(int* value, int attribute, Device device);
using DevicePrimaryCtxRetain = Result(Context* context, Device device);
using DevicePrimaryCtxRelease = Result(Device device);
using CtxSetCurrent = Result(Context context);
using CtxPushCurrent = Result(Context context);
using CtxPopCurrent = Result(Context* context);
using CtxSynchronize = Result();
using MemAlloc = Result(DevicePointer* address, std::size_t bytes);
using MemFree = Result(DevicePointer address);
using MemcpyHtoD = Result(DevicePointer to, const void* from, std::size_t bytes);
using MemcpyDtoH = Result(void* to, DevicePointer from, std::size_t bytes);
using PointerSetAttribute = Result(const void* value, int attribute, DevicePointer address);
/// Since CUDA 11.7. `address` and `bytes` are multiples of the host's page size.
using MemGetHandleForAddressRange = Result(void* handle, DevicePointer address, std::size_t bytes,
                                           int handle_type, unsigned long long flags);

}  // namespace rdma_bench::cuda
