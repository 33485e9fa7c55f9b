// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

/// Calls of HIP (libamdhip64.so) and the HSA runtime that buffers use.
/// tests/rdma-bench/memory compares them with the headers of libamdhip64-dev.
namespace rdma_bench::hip {

using Error = int;
using HsaStatus = int;

constexpr Error kSuccess = 0;
constexpr Error kErrorOutOfMemory = 2;
constexpr Error kErrorNoDevice = 100;
constexpr int kMemcpyHostToDevice = 1;
constexpr int kMemcpyDeviceToHost = 2;
constexpr int kRangeHandleDmaBufFd = 1;
constexpr HsaStatus kHsaSuccess = 0;
/// hsa_amd_system_info_t HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED; one byte.
constexpr int kHsaSystemInfoDmabufSupported = 0x204;

using GetDeviceCount = Error(int* count);
using GetDevice = Error(int* index);
using SetDevice = Error(int index);
using DeviceGetName = Error(char* name, int length, int device);
using DriverGetVersion = Error(int* version);
using GetErrorName = const char*(Error error);
using Malloc = Error(void** address, std::size_t bytes);
using Free = Error(void* address);
using Memcpy = Error(void* to, const void* from, std::size_t bytes, int kind);
using DeviceSynchronize = Error();
/// Since ROCm 7. `address` and `bytes` are multiples of the host's page size.
using MemGetHandleForAddressRange = Error(void* handle, void* address, std::size_t bytes,
                                          int handle_type, unsigned long long flags);

using HsaSystemGetInfo = HsaStatus(int attribute, void* value);
/// Since ROCm 5.6. The DMABuf holds the whole allocation; `offset` is that of `address` in it.
using HsaPortableExportDmabuf = HsaStatus(const void* address, std::size_t bytes, int* fd,
                                          std::uint64_t* offset);

}  // namespace rdma_bench::hip
