// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// HIP on threads of the processor, as much as libdingo-gda, its adapter for MORI and MORI's host
// code take: the calls. hip_cpu.cpp is their library. Nothing of ROCm is needed.
#pragma once

#include <cstddef>
#include <cstdint>

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline

enum hipError_t { hipSuccess = 0, hipErrorInvalidValue = 1, hipErrorNotSupported = 801 };
enum hipMemcpyKind { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2 };
enum hipMemoryType { hipMemoryTypeHost = 0, hipMemoryTypeDevice = 1 };
enum hipMemRangeHandleType { hipMemRangeHandleTypeDmaBufFd = 1 };
enum {
    hipHostRegisterPortable = 1,
    hipHostRegisterMapped = 2,
    hipDeviceMallocUncached = 3,
};
struct hipIpcMemHandle_t {
    char reserved[64];
};
struct hipPointerAttribute_t {
    hipMemoryType type;
    void* hostPointer;
};
struct hipMemAllocationProp {
    int type;
};
using hipMemGenericAllocationHandle_t = void*;
using hipDeviceptr_t = void*;
using hipStream_t = void*;
enum hipStreamCaptureMode { hipStreamCaptureModeGlobal = 0, hipStreamCaptureModeRelaxed = 2 };
enum { hipStreamNonBlocking = 1 };

extern "C" {
hipError_t hipInit(unsigned flags);
hipError_t hipGetDevice(int* ordinal);
hipError_t hipSetDevice(int ordinal);
hipError_t hipMalloc(void** at, std::size_t bytes);
hipError_t hipExtMallocWithFlags(void** at, std::size_t bytes, unsigned flags);
hipError_t hipFree(void* at);
hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                          hipStream_t stream);
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode);
hipError_t hipMemset(void* at, int value, std::size_t bytes);
hipError_t hipHostRegister(void* at, std::size_t bytes, unsigned flags);
hipError_t hipHostUnregister(void* at);
hipError_t hipHostGetDevicePointer(void** device, void* at, unsigned flags);
hipError_t hipMemGetHandleForAddressRange(void* handle, hipDeviceptr_t at, std::size_t bytes,
                                          hipMemRangeHandleType type, unsigned long long flags);
hipError_t hipPointerGetAttributes(hipPointerAttribute_t* out, const void* at);
hipError_t hipDeviceSynchronize();
hipError_t hipGetLastError();
const char* hipGetErrorName(hipError_t error);
const char* hipGetErrorString(hipError_t error);
}

template <typename T>
hipError_t hipMalloc(T** at, std::size_t bytes) {
    return hipMalloc(reinterpret_cast<void**>(at), bytes);
}
