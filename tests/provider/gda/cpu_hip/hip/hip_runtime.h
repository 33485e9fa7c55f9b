// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// HIP on threads of the processor: what device code calls. A thread is a block and a wavefront of
// its own, so what lanes tell each other is what the one lane has.
#pragma once

#include <sched.h>

#include <cassert>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "hip/hip_runtime_api.h"

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};
struct uint4 {
    unsigned x, y, z, w;
};
inline thread_local dim3 blockIdx{0, 0, 0}, gridDim;
inline thread_local const dim3 threadIdx{0, 0, 0}, blockDim;

#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5
/// Device code waits in loops of loads. With more threads than processors, the thread that is
/// waited for must get to run.
template <typename T>
T cpu_hip_load(const T* at, int order) {
    thread_local unsigned loads = 0;
    if (++loads % 16 == 0)
        sched_yield();
    return __atomic_load_n(at, order);
}
#define __hip_atomic_load(at, order, scope) cpu_hip_load(at, order)
#ifdef __SANITIZE_THREAD__  // a fence and a relaxed store are one release to it
#define __hip_atomic_store(at, value, order, scope) __atomic_store_n(at, value, __ATOMIC_RELEASE)
#else
#define __hip_atomic_store(at, value, order, scope) __atomic_store_n(at, value, order)
#endif
#define __hip_atomic_fetch_add(at, value, order, scope) __atomic_fetch_add(at, value, order)
#define __hip_atomic_compare_exchange_strong(at, expected, value, success, failure, scope) \
    __atomic_compare_exchange_n(at, expected, value, false, success, failure)

template <typename T>
T cpu_hip_fetch_max(T* at, T value) {
    T old = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (old < value &&
           !__atomic_compare_exchange_n(at, &old, value, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        ;
    return old;
}
#define __hip_atomic_fetch_max(at, value, order, scope) cpu_hip_fetch_max(at, value)

template <typename T>
T atomicAdd(T* at, T value) {
    return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
}
inline std::uint32_t atomicAdd(std::uint32_t* at, int value) {
    return atomicAdd(at, static_cast<std::uint32_t>(value));
}
inline std::uint64_t atomicAdd(std::uint64_t* at, int value) {
    return atomicAdd(at, static_cast<std::uint64_t>(value));
}
inline std::uint32_t atomicExch(std::uint32_t* at, std::uint32_t value) {
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);
}
template <typename T, typename U>
T atomicCAS(T* at, U expected, U value) {
    T old = static_cast<T>(expected);
    __atomic_compare_exchange_n(at, &old, static_cast<T>(value), false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    return old;
}

/// ThreadSanitizer does not know fences: there it is a word that all threads change.
inline void cpu_hip_fence() {
#ifdef __SANITIZE_THREAD__
    static int word = 0;
    __atomic_fetch_add(&word, 0, __ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
inline void __threadfence() {
    cpu_hip_fence();
}
inline void __threadfence_block() {
    cpu_hip_fence();
}
inline void __threadfence_system() {
    cpu_hip_fence();
}
inline void __syncthreads() {}
#define __builtin_amdgcn_s_sleep(n) sched_yield()
#define __builtin_amdgcn_fence(order, scope) cpu_hip_fence()
#define __builtin_amdgcn_wave_barrier() ((void)0)

inline unsigned __lane_id() {
    return 0;
}
inline std::uint64_t __lanemask_lt() {
    return 0;
}
inline std::uint64_t __ballot(bool vote) {
    return vote ? 1 : 0;
}
template <typename T>
T __shfl(T value, int /*lane*/) {
    return value;
}
inline int __popcll(std::uint64_t x) {
    return __builtin_popcountll(x);
}
inline int __ffs(int x) {
    return __builtin_ffs(x);
}
inline int __ffsll(std::uint64_t x) {
    return __builtin_ffsll(static_cast<long long>(x));
}
inline int __clzll(std::uint64_t x) {
    return x == 0 ? 64 : __builtin_clzll(x);
}

/// In the place of kernel<<<blocks, 1>>>(...): all blocks at once, until they have ended.
template <typename Kernel>
void cpu_hip_launch(unsigned blocks, const Kernel& kernel) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < blocks; ++i)
        threads.emplace_back([&kernel, i, blocks] {
            blockIdx = {i, 0, 0};
            gridDim = {blocks, 1, 1};
            kernel();
        });
    for (std::thread& thread : threads)
        thread.join();
}
