// SPDX-License-Identifier: BSD-2-Clause
// Compiled only: checks memory/hip_api.h against AMD's headers.
#include <hip/hip_runtime_api.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <type_traits>

#include "memory/hip_api.h"

namespace {

using namespace rdma_bench;

/// Enumerations are passed as int, pointers to them as pointers to int.
template <typename T>
struct Plain {
    using type = T;
};
template <typename T>
requires std::is_enum_v<T>
struct Plain<T> {
    static_assert(sizeof(T) == sizeof(int));
    using type = int;
};
template <typename T>
struct Signature;
template <typename R, typename... A>
struct Signature<R(A...)> {
    using type = typename Plain<R>::type(typename Plain<A>::type...);
};
template <typename R, typename... A>
struct Signature<R (*)(A...)> : Signature<R(A...)> {};
template <typename Ours, typename Theirs>
constexpr bool kSame = std::is_same_v<Ours, typename Signature<Theirs>::type>;

static_assert(kSame<hip::GetDeviceCount, decltype(&hipGetDeviceCount)>);
static_assert(kSame<hip::GetDevice, decltype(&hipGetDevice)>);
static_assert(kSame<hip::SetDevice, decltype(&hipSetDevice)>);
static_assert(kSame<hip::DeviceGetName, decltype(&hipDeviceGetName)>);
static_assert(kSame<hip::DriverGetVersion, decltype(&hipDriverGetVersion)>);
static_assert(kSame<hip::GetErrorName, decltype(&hipGetErrorName)>);
static_assert(kSame<hip::Malloc, hipError_t (*)(void**, size_t)>);
static_assert(kSame<hip::Free, decltype(&hipFree)>);
static_assert(kSame<hip::Memcpy, decltype(&hipMemcpy)>);
static_assert(kSame<hip::DeviceSynchronize, decltype(&hipDeviceSynchronize)>);
static_assert(kSame<hip::HsaSystemGetInfo, decltype(&hsa_system_get_info)>);
static_assert(hip::kSuccess == hipSuccess && hip::kErrorOutOfMemory == hipErrorOutOfMemory);
static_assert(hip::kErrorNoDevice == hipErrorNoDevice);
static_assert(hip::kMemcpyHostToDevice == hipMemcpyHostToDevice);
static_assert(hip::kMemcpyDeviceToHost == hipMemcpyDeviceToHost);
static_assert(hip::kHsaSuccess == HSA_STATUS_SUCCESS);

// ROCm 5.6 and later only.
#if HIP_VERSION >= 50600000
static_assert(kSame<hip::HsaPortableExportDmabuf, decltype(&hsa_amd_portable_export_dmabuf)>);
static_assert(hip::kHsaSystemInfoDmabufSupported == HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED);
#endif
// ROCm 7 and later only.
#if HIP_VERSION >= 70000000
static_assert(kSame<hip::MemGetHandleForAddressRange, decltype(&hipMemGetHandleForAddressRange)>);
static_assert(hip::kRangeHandleDmaBufFd == hipMemRangeHandleTypeDmaBufFd);
#endif

}  // namespace
