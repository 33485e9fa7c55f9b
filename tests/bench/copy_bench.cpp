// SPDX-License-Identifier: BSD-2-Clause
//
// The limit of the direct road: what one thread's memcpy() between two files in memory does, again
// and again on the same buffers. Prints Gb/s for each size given.
//     build/bin/copy_bench 65536 1048576
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::size_t kBytes = std::size_t{256} << 20;  ///< copied in a round
constexpr int kRounds = 5;

void* shared(std::size_t bytes) {
    const int fd = ::memfd_create("copy_bench", MFD_CLOEXEC);
    void* at = MAP_FAILED;
    if (fd >= 0 && ::ftruncate(fd, static_cast<off_t>(bytes)) == 0) {
        at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    ::close(fd);
    if (at == MAP_FAILED) {
        std::perror("copy_bench");
        std::exit(1);
    }
    std::memset(at, 1, bytes);
    return at;
}

double best_gbps(std::size_t bytes) {
    void* const from = shared(bytes);
    void* const to = shared(bytes);
    const std::size_t times = std::max<std::size_t>(1, kBytes / bytes);
    double best = 0;
    for (int round = 0; round < kRounds; ++round) {
        const auto start = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < times; ++i) {
            std::memcpy(to, from, bytes);
            asm volatile("" ::: "memory");
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        best = std::max(best, 8e-9 * static_cast<double>(times * bytes) / took.count());
    }
    ::munmap(from, bytes);
    ::munmap(to, bytes);
    return best;
}

}  // namespace

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const std::size_t bytes = std::strtoull(argv[i], nullptr, 10);
        if (bytes == 0) {
            std::fprintf(stderr, "copy_bench: '%s' is no size in bytes\n", argv[i]);
            return 2;
        }
        std::printf("%.1f\n", best_gbps(bytes));
    }
    return 0;
}
