// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// MORI's shmem kernels on Dingo cards: threads of the processor are its wavefronts, all on the same
// few QPs. Each puts, puts with a signal, puts at once and adds; every byte, signal and result is
// checked. scripts/mori.sh builds it in a checkout.
//
// usage: shmem_threads [THREADS [QPS [ROUNDS]]]
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "mori/application/transport/rdma/rdma.hpp"
#include "mori/application/utils/check.hpp"
#include "mori/shmem/shmem_device_kernels.hpp"
#include "mori/shmem/shmem_ibgda_kernels.hpp"

using namespace mori;
using namespace mori::application;
using namespace mori::shmem;

namespace mori::shmem {
GpuStates globalGpuStates;
}

namespace {

constexpr TransportType kRdma = TransportType::RDMA;
constexpr int kPeer = 1;
// A thread's part of the heaps.
constexpr std::size_t kPart = 4096, kNow = 2048, kSignal = 3072;
constexpr std::size_t kMostData = 1000;

struct Heap {
    Heap(RdmaDeviceContext& context, std::size_t bytes) {
        HIP_RUNTIME_CHECK(hipMalloc(&at, bytes));
        region = context.RegisterRdmaMemoryRegionAuto(at, bytes);
    }
    std::uint8_t* at = nullptr;
    RdmaMemoryRegion region;
};

std::uint8_t pattern(std::size_t thread, std::uint32_t round, std::size_t i) {
    return static_cast<std::uint8_t>(thread * 7919 + round * 131 + i * 31 + (i >> 8));
}

/// Two ends of `count` QPs; the first one's kernels post.
std::vector<ShmemRdmaEndpoint> connected(RdmaDeviceContext& from, RdmaDeviceContext& to,
                                         std::uint32_t port, std::uint32_t to_port, int count) {
    std::vector<ShmemRdmaEndpoint> endpoints(2 * count);  // by PE, of which 0 is this one
    RdmaEndpointConfig config;
    config.maxMsgsNum = 64;
    config.onGpu = true;
    for (int i = 0; i < count; ++i) {
        config.portId = port;
        const RdmaEndpoint a = from.CreateRdmaEndpoint(config);
        config.portId = to_port;
        const RdmaEndpoint b = to.CreateRdmaEndpoint(config);
        from.ConnectEndpoint(a, b);
        to.ConnectEndpoint(b, a);
        ShmemRdmaEndpoint& endpoint = endpoints[kPeer * count + i];
        endpoint.vendorId = a.vendorId;
        endpoint.qpn = a.handle.qpn;
        endpoint.wqHandle = a.wqHandle;
        endpoint.cqHandle = a.cqHandle;
        endpoint.atomicIbuf = a.atomicIbuf;
    }
    return endpoints;
}

struct Run {
    SymmMemObjPtr from, to;
    Heap &local, &remote;
    std::uint32_t threads, rounds;
    std::vector<std::uint32_t> seen;  // by value of the counter: how often it was the result
    std::uint64_t wrong = 0;

    void work(std::uint32_t thread) {
        const std::size_t mine = thread * kPart;
        const int qp = static_cast<int>(thread);
        for (std::uint32_t round = 0; round < rounds; ++round) {
            const std::size_t bytes = 1 + (thread * 131 + round * 17) % kMostData;
            for (std::size_t i = 0; i < bytes; ++i)
                local.at[mine + i] = pattern(thread, round, i);
            std::uint64_t now = std::uint64_t{thread} << 32 | round;
            std::uint64_t one = 1;
            ShmemPutMemNbiThreadKernel<kRdma>(to, mine + kMostData, from, mine, bytes, kPeer, qp);
            ShmemPutMemNbiSignalThreadKernel<kRdma, true>(
                to, mine, from, mine, bytes, to, mine + kSignal, 1, core::AMO_ADD, kPeer, qp);
            ShmemPutSizeImmNbiThreadKernel<kRdma>(to, mine + kNow, &now, sizeof now, kPeer, qp);
            const std::uint64_t count = ShmemAtomicTypeFetchThreadKernel<kRdma, std::uint64_t>(
                to, threads * kPart, &one, nullptr, sizeof one, core::AMO_FETCH_ADD, kPeer, qp);
            ShmemQuietThreadKernel<kRdma>(kPeer, qp);
            check(thread, round, bytes, now, count);
        }
    }

    void check(std::uint32_t thread, std::uint32_t round, std::size_t bytes, std::uint64_t now,
               std::uint64_t count) {
        const std::uint8_t* const there = remote.at + thread * kPart;
        bool good =
            count < seen.size() && __atomic_fetch_add(&seen[count], 1, __ATOMIC_RELAXED) == 0;
        for (std::size_t i = 0; i < bytes; ++i)
            good &= there[i] == pattern(thread, round, i) &&
                    there[kMostData + i] == pattern(thread, round, i);
        good &= std::memcmp(there + kNow, &now, sizeof now) == 0;
        const std::uint64_t signals = round + 1;
        good &= std::memcmp(there + kSignal, &signals, sizeof signals) == 0;
        if (!good && __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED) == 0)
            std::printf("first wrong: thread %u, round %u, counter %llu\n", thread, round,
                        static_cast<unsigned long long>(count));
    }
};

}  // namespace

int main(int argc, char** argv) {
    const std::uint32_t threads = argc > 1 ? std::atoi(argv[1]) : 16;
    const int qps = argc > 2 ? std::atoi(argv[2]) : 1;
    const std::uint32_t rounds = argc > 3 ? std::atoi(argv[3]) : 200;
    if (threads == 0 || qps <= 0 || rounds == 0) {
        std::fprintf(stderr, "usage: shmem_threads [THREADS [QPS [ROUNDS]]]\n");
        return 2;
    }
    const RdmaContext rdma(RdmaBackendType::DirectVerbs);
    const ActiveDevicePortList ports = GetActiveDevicePortList(rdma.GetRdmaDeviceList());
    if (ports.empty()) {
        std::fprintf(stderr, "shmem_threads: no Dingo card here\n");
        return 1;
    }
    const std::unique_ptr<RdmaDeviceContext> a(ports.front().first->CreateRdmaDeviceContext());
    const std::unique_ptr<RdmaDeviceContext> b(ports.back().first->CreateRdmaDeviceContext());
    const std::size_t bytes = threads * kPart + sizeof(std::uint64_t);
    Heap local(*a, bytes), remote(*b, bytes);
    auto endpoints = connected(*a, *b, ports.front().second, ports.back().second, qps);

    std::uintptr_t addresses[2] = {local.region.addr, remote.region.addr};
    std::uint32_t rkeys[2] = {local.region.rkey, remote.region.rkey};
    SymmMemObj heap;
    heap.localPtr = local.at;
    heap.peerPtrs = addresses;
    heap.peerRkeys = rkeys;
    heap.lkey = local.region.lkey;
    heap.size = bytes;
    TransportType transports[2] = {kRdma, kRdma};
    globalGpuStates.rank = 0;
    globalGpuStates.worldSize = 2;
    globalGpuStates.numQpPerPe = qps;
    globalGpuStates.transportTypes = transports;
    globalGpuStates.rdmaEndpoints = endpoints.data();

    Run run{{&heap, &heap},
            {&heap, &heap},
            local,
            remote,
            threads,
            rounds,
            std::vector<std::uint32_t>(std::size_t{threads} * rounds)};
    std::vector<std::thread> workers;
    for (std::uint32_t i = 0; i < threads; ++i)
        workers.emplace_back([&run, i] { run.work(i); });
    for (std::thread& worker : workers)
        worker.join();
    if (run.wrong != 0) {
        std::printf("%llu rounds were wrong\n", static_cast<unsigned long long>(run.wrong));
        return 1;
    }
    std::printf("%u threads, %d QPs, %u rounds: every byte, signal and atomic is right\n", threads,
                qps, rounds);
    return 0;
}
