// SPDX-License-Identifier: BSD-2-Clause
//
// What registering memory costs: time for each region, what the process reads of /proc meanwhile,
// and the mappings that are left. Plain libibverbs; for a kernel-less card:
//     dingo run -- build/bin/registration_bench --count 5000 --bytes 4096
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
constexpr std::size_t kPage = 4096;

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Processor time of this process: what the card takes is not in it.
double cpu_ms() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
           static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
}

std::size_t mappings() {
    std::ifstream file("/proc/self/maps");
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

/// Bytes that this process has read, of files in /proc too.
std::uint64_t bytes_read() {
    std::ifstream file("/proc/self/io");
    std::string name;
    std::uint64_t value = 0;
    file >> name >> value;
    return value;
}

struct Buffers {
    /// Apart: each lies between pages that are not its own.
    Buffers(std::size_t count, std::size_t bytes, bool apart) {
        step = (bytes + kPage - 1) / kPage * kPage + (apart ? kPage : 0);
        length = step * count;
        at = static_cast<std::uint8_t*>(
            ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (at == MAP_FAILED) {
            throw std::runtime_error("not enough memory");
        }
    }
    ~Buffers() { ::munmap(at, length); }
    std::uint8_t* at = nullptr;
    std::size_t step = 0;
    std::size_t length = 0;
};

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Times ibv_reg_mr() and ibv_dereg_mr()"};
    std::size_t count = 1000;
    std::size_t bytes = kPage;
    bool together = false;
    bool untouched = false;
    app.add_option("--count", count, "regions")->capture_default_str();
    app.add_option("--bytes", bytes, "of each")->transform(CLI::AsSizeValue(false));
    app.add_flag("--together", together, "no page between two buffers");
    app.add_flag("--untouched", untouched, "nothing was written there before");
    CLI11_PARSE(app, argc, argv);
    int devices = 0;
    ibv_device** const list = ibv_get_device_list(&devices);
    ibv_context* const context = devices > 0 ? ibv_open_device(list[0]) : nullptr;
    ibv_pd* const pd = context != nullptr ? ibv_alloc_pd(context) : nullptr;
    if (pd == nullptr) {
        std::fprintf(stderr, "registration_bench: no RDMA device: dingo run -- %s ...\n", argv[0]);
        return 1;
    }
    try {
        const Buffers buffers(count, bytes, !together);
        if (!untouched) {
            std::memset(buffers.at, 1, buffers.length);
        }
        const std::size_t mappings_before = mappings();
        const std::uint64_t read_before = bytes_read();
        std::vector<ibv_mr*> regions;
        const double cpu_before = cpu_ms();
        auto start = Clock::now();
        for (std::size_t i = 0; i < count; ++i) {
            regions.push_back(ibv_reg_mr(pd, buffers.at + i * buffers.step, bytes, kAccess));
            if (regions.back() == nullptr) {
                throw std::runtime_error(std::string("ibv_reg_mr: ") + std::strerror(errno));
            }
        }
        const double registering = ms_since(start);
        const double cpu = cpu_ms() - cpu_before;
        const std::uint64_t read = bytes_read() - read_before;
        const std::size_t left = mappings() - mappings_before;
        start = Clock::now();
        if (!untouched) {
            std::memset(buffers.at, 2, buffers.length);
        }
        const double touching = ms_since(start);
        start = Clock::now();
        for (ibv_mr* const region : regions) {
            ibv_dereg_mr(region);
        }
        std::printf(
            "%zu regions of %zu bytes: register %.1f ms (%.1f us each, %.1f ms of it this "
            "process's processor time), write %.1f ms, deregister "
            "%.1f ms, %.1f KiB read each, %zu mappings left\n",
            count, bytes, registering, registering * 1000 / static_cast<double>(count), cpu,
            touching, ms_since(start),
            static_cast<double>(read) / 1024 / static_cast<double>(count), left);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "registration_bench: %s\n", e.what());
        return 1;
    }
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
    ibv_free_device_list(list);
    return 0;
}
