// SPDX-License-Identifier: BSD-2-Clause
#include <infiniband/verbs.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cuda.h"
#include "loopback.h"

namespace gpu_test {
namespace {

constexpr const char* kHelp =
    R"(A GPU's memory as memory regions of the first RDMA device: one case, exit status 0 when it passed.

usage: gpu_regions CASE
       gpu_regions CASE thread     registers in threads that have no CUDA context
  address          ibv_reg_mr of cuMemAlloc's memory: WRITE, READ and atomic, every byte
  vmm              the same of cuMemCreate's memory
  pieces           regions that span several allocations of cuMemCreate, by address and DMABuf
  dmabuf           the same by ibv_reg_dmabuf_mr
  refused ERRNO    ibv_reg_mr of cuMemAlloc's memory fails so
  async            ibv_reg_mr of cudaMallocAsync's default pool is EOPNOTSUPP
  many             256 regions of one allocation, twice
  rounded          regions that end in the last page of an allocation, behind its last byte
  bad-range        regions that reach beyond the allocation are refused
  freed            memory is freed while it is registered: an error or not, and others go on
  context          the context ends before the regions do
  killed           dies by SIGKILL with work on its way
  rates            a table: WRITE from GPU to GPU
Exit status: 0 passed, 1 failed, 2 wrong usage, 77 no GPU here.
)";

constexpr std::size_t kBytes = (1U << 20U) - 8;
constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                     IBV_ACCESS_REMOTE_ATOMIC;

void need(bool ok, const std::string& what) {
    if (!ok) {
        throw std::runtime_error(what);
    }
}

using Mr = std::unique_ptr<ibv_mr, int (*)(ibv_mr*)>;

bool in_bare_thread = false;

/// Returns make()'s region and errno.
template <typename Make>
Mr made_by(Make make) {
    ibv_mr* mr = nullptr;
    int error = 0;
    const auto run = [&] {
        mr = make();
        error = errno;
    };
    if (in_bare_thread) {
        std::thread(run).join();
    } else {
        run();
    }
    errno = error;
    return {mr, ibv_dereg_mr};
}

Mr try_register(ibv_pd* pd, std::uint64_t address, std::size_t bytes) {
    return made_by([=] { return ibv_reg_mr(pd, reinterpret_cast<void*>(address), bytes, kAll); });
}

Mr reg(ibv_pd* pd, std::uint64_t address, std::size_t bytes = kBytes) {
    Mr mr = try_register(pd, address, bytes);
    need(mr != nullptr, std::string("ibv_reg_mr: ") + std::strerror(errno));
    return mr;
}

Mr reg_dmabuf(ibv_pd* pd, std::uint64_t address) {
    std::uint64_t offset = 0;
    const int fd = export_dmabuf(address, kBytes, offset);
    Mr mr = made_by([=] { return ibv_reg_dmabuf_mr(pd, offset, kBytes, address, fd, kAll); });
    need(mr != nullptr, std::string("ibv_reg_dmabuf_mr: ") + std::strerror(errno));
    ::close(fd);
    return mr;
}

std::vector<std::uint8_t> pattern(unsigned seed) {
    std::vector<std::uint8_t> data(kBytes);
    for (std::size_t i = 0; i < data.size(); ++i) {
        data[i] = static_cast<std::uint8_t>(i * 7 + (i >> 8U) + seed);
    }
    return data;
}

void must_succeed(std::optional<ibv_wc_status> status, const char* what) {
    need(status.has_value(), std::string(what) + ": no completion");
    need(*status == IBV_WC_SUCCESS, std::string(what) + ": " + ibv_wc_status_str(*status));
}

Loopback::Place at(std::uint64_t address, const Mr& mr) {
    return {address, mr->lkey};
}

void all_operations(std::uint64_t a, std::uint64_t b, const Mr& mr_a, const Mr& mr_b,
                    Loopback& card) {
    put(a, pattern(1));
    put(b, std::vector<std::uint8_t>(kBytes));
    must_succeed(card.run(IBV_WR_RDMA_WRITE, at(a, mr_a), at(b, mr_b), kBytes), "WRITE");
    need(get(b, kBytes) == pattern(1), "WRITE: wrong data");
    put(b, pattern(2));
    must_succeed(card.run(IBV_WR_RDMA_READ, at(a, mr_a), at(b, mr_b), kBytes), "READ");
    need(get(a, kBytes) == pattern(2), "READ: wrong data");
    std::uint64_t before = 40;
    std::vector<std::uint8_t> word(sizeof before);
    std::memcpy(word.data(), &before, sizeof before);
    put(b + 64, word);
    must_succeed(
        card.run(IBV_WR_ATOMIC_FETCH_AND_ADD, at(a, mr_a), at(b + 64, mr_b), sizeof before, 2),
        "FETCH_ADD");
    std::memcpy(&before, get(a, sizeof before).data(), sizeof before);
    need(before == 40, "FETCH_ADD: wrong result");
    std::memcpy(&before, get(b + 64, sizeof before).data(), sizeof before);
    need(before == 42, "FETCH_ADD: wrong sum");
}

void whole(std::uint64_t a, std::uint64_t b, bool dmabuf) {
    Loopback card;
    const Mr mr_a = dmabuf ? reg_dmabuf(card.pd(), a) : reg(card.pd(), a);
    const Mr mr_b = dmabuf ? reg_dmabuf(card.pd(), b) : reg(card.pd(), b);
    all_operations(a, b, mr_a, mr_b, card);
}

void refused(std::uint64_t address, int error, std::size_t bytes = kBytes) {
    Loopback card;
    const Mr mr = try_register(card.pd(), address, bytes);
    need(mr == nullptr && errno == error,
         std::string("ibv_reg_mr: ") + (mr ? "succeeded" : std::strerror(errno)));
}

/// Regions over several allocations, like PyTorch's expandable segments.
void pieces() {
    constexpr std::size_t kPiece = 2U << 20U;
    constexpr std::size_t kBefore = kPiece - 512UL * 1024 - 16;
    const std::uint64_t a = allocate_vmm(kPiece, 250);
    const std::uint64_t b = allocate_vmm(kPiece, 3);
    whole(a + kBefore, b + kPiece + kBefore, false);
    whole(b + kBefore, a + 200 * kPiece + kBefore, true);
    Loopback card;
    const Mr mr_a = reg(card.pd(), a, 250 * kPiece);
    const Mr mr_b = reg(card.pd(), b, 3 * kPiece);
    const std::size_t bytes = 3 * kPiece;
    std::vector<std::uint8_t> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        data[i] = static_cast<std::uint8_t>(i * 11 + (i >> 9U));
    }
    put(a + 240 * kPiece, data);
    must_succeed(card.run(IBV_WR_RDMA_WRITE, at(a + 240 * kPiece, mr_a), at(b, mr_b), bytes),
                 "WRITE of three allocations");
    need(get(b, bytes) == data, "WRITE of three allocations: wrong data");
    need(try_register(card.pd(), b, bytes + 65536) == nullptr,
         "a region beyond the last allocation");
    const Mr rounded = reg(card.pd(), b, bytes + 4096);
    must_succeed(card.run(IBV_WR_RDMA_WRITE, at(a, mr_a), at(b, rounded), bytes), "WRITE");
    refused(allocate_vmm(kPiece, 253), EOPNOTSUPP, 253 * kPiece);
}

void many() {
    const std::uint64_t a = allocate(kBytes);
    Loopback card;
    for (int round = 0; round < 2; ++round) {
        std::vector<Mr> all;
        for (std::size_t i = 0; i < 256; ++i) {
            all.push_back(reg(card.pd(), a + i * 4096, 4000));
        }
        const std::vector<std::uint8_t> data(4000, static_cast<std::uint8_t>(round + 1));
        put(a, data);
        must_succeed(card.run(IBV_WR_RDMA_WRITE, at(a, all[0]), at(a + 255 * 4096, all[255]), 4000),
                     "WRITE");
        need(get(a + 255 * 4096, 4000) == data, "WRITE: wrong data");
    }
}

/// Regions with rounded bounds, as UCX rounds to 16 bytes or to pages.
void rounded() {
    const std::uint64_t a = allocate(kBytes);
    const std::uint64_t b = allocate(kBytes);
    Loopback card;
    const Mr mr_a = reg(card.pd(), a, kBytes + 65535);
    std::uint64_t offset = 0;
    const int fd = export_dmabuf(b, kBytes, offset);
    const Mr mr_b(ibv_reg_dmabuf_mr(card.pd(), offset, kBytes + 8, b, fd, kAll), ibv_dereg_mr);
    need(mr_b != nullptr, std::string("ibv_reg_dmabuf_mr: ") + std::strerror(errno));
    ::close(fd);
    all_operations(a, b, mr_a, mr_b, card);
    const auto status = card.run(IBV_WR_RDMA_WRITE, at(a + kBytes, mr_a), at(b, mr_b), 8);
    need(status.has_value() && *status != IBV_WC_SUCCESS, "data from behind an allocation");
}

void bad_range() {
    const std::uint64_t a = allocate(kBytes);
    Loopback card;
    need(try_register(card.pd(), a, std::size_t{1} << 36U) == nullptr,
         "64 GiB of an allocation of 1 MiB");
    std::uint64_t offset = 0;
    const int fd = export_dmabuf(a, kBytes, offset);
    const Mr mr(ibv_reg_dmabuf_mr(card.pd(), offset, std::size_t{1} << 36U, a, fd, kAll),
                ibv_dereg_mr);
    need(mr == nullptr, "64 GiB of a DMABuf of 1 MiB");
}

void host_memory_works() {
    static std::uint64_t words[2] = {7, 0};
    Loopback card;
    const Mr mr = reg(card.pd(), reinterpret_cast<std::uint64_t>(words), sizeof words);
    must_succeed(card.run(IBV_WR_RDMA_WRITE, at(reinterpret_cast<std::uint64_t>(words), mr),
                          at(reinterpret_cast<std::uint64_t>(words + 1), mr), 8),
                 "WRITE of host memory");
    need(words[1] == 7, "WRITE of host memory: wrong data");
}

void freed() {
    const std::uint64_t a = allocate(kBytes);
    const std::uint64_t b = allocate(kBytes);
    {
        Loopback card;
        const Mr mr_a = reg(card.pd(), a);
        const Mr mr_b = reg(card.pd(), b);
        release(b);
        const auto status = card.run(IBV_WR_RDMA_WRITE, at(a, mr_a), at(b, mr_b), kBytes);
        need(status.has_value(), "WRITE to freed memory: no completion");
        std::printf("WRITE to freed memory: %s\n", ibv_wc_status_str(*status));
    }
    host_memory_works();
}

void context() {
    const std::uint64_t a = allocate(kBytes);
    Loopback card;
    Mr mr = reg(card.pd(), a);
    end_context();
    const auto status = card.run(IBV_WR_RDMA_WRITE, at(a, mr), at(a + 4096, mr), 64);
    need(status.has_value(), "WRITE without a context: no completion");
    std::printf("WRITE without a context: %s\n", ibv_wc_status_str(*status));
    need(ibv_dereg_mr(mr.release()) == 0, "ibv_dereg_mr");
    host_memory_works();
}

void killed() {
    const std::uint64_t a = allocate(kBytes);
    const std::uint64_t b = allocate(kBytes);
    Loopback card;
    const Mr mr_a = reg(card.pd(), a);
    const Mr mr_b = reg(card.pd(), b);
    for (int i = 0; i < 100; ++i) {
        card.post(IBV_WR_RDMA_WRITE, at(a, mr_a), at(b, mr_b), kBytes);
    }
    ::raise(SIGKILL);
}

void rates() {
    const std::uint64_t a = allocate(1U << 20U);
    const std::uint64_t b = allocate(1U << 20U);
    Loopback card;
    const Mr mr_a = reg(card.pd(), a, 1U << 20U);
    const Mr mr_b = reg(card.pd(), b, 1U << 20U);
    using Clock = std::chrono::steady_clock;
    for (const std::uint32_t bytes : {8U, 65536U, 1U << 20U}) {
        std::vector<double> alone;
        for (int i = 0; i < 200; ++i) {
            const auto begin = Clock::now();
            must_succeed(card.run(IBV_WR_RDMA_WRITE, at(a, mr_a), at(b, mr_b), bytes), "WRITE");
            alone.push_back(
                std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
        }
        std::nth_element(alone.begin(), alone.begin() + 100, alone.end());
        const int total = 512;
        const auto begin = Clock::now();
        for (int i = 0; i < total; ++i) {
            if (i >= 64) {
                must_succeed(card.wait(), "WRITE");
            }
            card.post(IBV_WR_RDMA_WRITE, at(a, mr_a), at(b, mr_b), bytes);
        }
        for (int i = 0; i < 64; ++i) {
            must_succeed(card.wait(), "WRITE");
        }
        const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        std::printf(
            "| WRITE of %u B, GPU to GPU, one card: alone; 64 at once | p50 %.1f us; %.3f GB/s |\n",
            bytes, alone[100], bytes * double{total} / seconds / 1e9);
    }
}

int run(int argc, char** argv) {
    const std::string name = argc > 1 ? argv[1] : "";
    if (name == "-h" || name == "--help") {
        std::fputs(kHelp, stdout);
        return 0;
    }
    in_bare_thread = argc > 2 && std::strcmp(argv[2], "thread") == 0;
    start_cuda();
    if (name == "address") {
        whole(allocate(kBytes), allocate(kBytes), false);
    } else if (name == "vmm") {
        whole(allocate_vmm(kBytes), allocate_vmm(kBytes), false);
    } else if (name == "pieces") {
        pieces();
    } else if (name == "dmabuf") {
        whole(allocate(kBytes), allocate(kBytes), true);
    } else if (name == "refused" && argc > 2) {
        refused(allocate(kBytes), std::atoi(argv[2]));
        host_memory_works();
    } else if (name == "async") {
        refused(allocate_async(kBytes), EOPNOTSUPP);
    } else if (name == "many") {
        many();
    } else if (name == "rounded") {
        rounded();
    } else if (name == "bad-range") {
        bad_range();
    } else if (name == "freed") {
        freed();
    } else if (name == "context") {
        context();
    } else if (name == "killed") {
        killed();
    } else if (name == "rates") {
        rates();
    } else {
        std::fputs(kHelp, stderr);
        return 2;
    }
    std::printf("gpu_regions %s: passed\n", name.c_str());
    return 0;
}

}  // namespace
}  // namespace gpu_test

int main(int argc, char** argv) {
    try {
        return gpu_test::run(argc, argv);
    } catch (const gpu_test::NoGpu&) {
        std::fputs("no NVIDIA GPU here\n", stderr);
        return 77;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "gpu_regions: %s\n", e.what());
        return 1;
    }
}
