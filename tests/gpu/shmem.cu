// SPDX-License-Identifier: BSD-2-Clause
//
// NVSHMEM between two GPUs: put, get and atomics by a kernel; verifies every word. Two processes
// with LOCAL_RANK 0 and 1.
// usage: shmem FILE   rank 0 passes its unique id to rank 1 in FILE
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

constexpr int kWords = 4096;
constexpr unsigned kThreads = 256;

__device__ int word(int pe, int i) { return pe * 100000 + i; }

__global__ void work(int* data, int* back, unsigned long long* counter, int me, int* wrong) {
    const int peer = 1 - me;
    for (int i = threadIdx.x; i < kWords; i += blockDim.x)
        nvshmem_int_p(data + i, word(me, i), peer);
    nvshmem_quiet();
    __syncthreads();
    if (threadIdx.x == 0)
        nvshmem_int_get(back, data, kWords, peer);
    nvshmem_ulonglong_atomic_add(counter, 1, peer);
    nvshmem_quiet();
    __syncthreads();
    for (int i = threadIdx.x; i < kWords; i += blockDim.x)
        if (back[i] != word(me, i))
            atomicAdd(wrong, 1);
}

int main(int argc, char** argv) {
    const char* const local = std::getenv("LOCAL_RANK");
    if (argc != 2 || local == nullptr)
        return 2;
    const int rank = std::atoi(local);
    const std::string file = argv[1];
    cudaSetDevice(rank);
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    if (rank == 0) {
        nvshmemx_get_uniqueid(&id);
        std::FILE* const out = std::fopen((file + ".new").c_str(), "wb");
        if (out == nullptr || std::fwrite(&id, sizeof id, 1, out) != 1 || std::fclose(out) != 0)
            return 1;
        std::rename((file + ".new").c_str(), file.c_str());
    } else {
        std::FILE* in = nullptr;
        for (int i = 0; i < 10000 && (in = std::fopen(file.c_str(), "rb")) == nullptr; ++i)
            usleep(1000);
        if (in == nullptr || std::fread(&id, sizeof id, 1, in) != 1)
            return 1;
        std::fclose(in);
    }
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_set_attr_uniqueid_args(rank, 2, &id, &attr);
    if (nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0)
        return 1;
    auto* const data = static_cast<int*>(nvshmem_malloc(kWords * sizeof(int)));
    auto* const back = static_cast<int*>(nvshmem_malloc(kWords * sizeof(int)));
    auto* const counter = static_cast<unsigned long long*>(nvshmem_calloc(1, sizeof(unsigned long long)));
    int* wrong = nullptr;
    cudaMalloc(&wrong, sizeof *wrong);
    cudaMemset(wrong, 0, sizeof *wrong);
    cudaDeviceSynchronize();
    nvshmem_barrier_all();
    work<<<1, kThreads>>>(data, back, counter, nvshmem_my_pe(), wrong);
    const cudaError_t error = cudaDeviceSynchronize();
    nvshmem_barrier_all();
    int errors = -1;
    unsigned long long count = 0;
    cudaMemcpy(&errors, wrong, sizeof errors, cudaMemcpyDeviceToHost);
    cudaMemcpy(&count, counter, sizeof count, cudaMemcpyDeviceToHost);
    const bool right = error == cudaSuccess && errors == 0 && count == kThreads;
    std::printf("PE %d of %d: %s (%s, %d words wrong, counter %llu)\n", rank, nvshmem_n_pes(),
                right ? "every word and atomic is right" : "wrong", cudaGetErrorString(error), errors, count);
    nvshmem_finalize();
    return right ? 0 : 1;
}
