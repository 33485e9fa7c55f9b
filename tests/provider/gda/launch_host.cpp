// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <sys/mman.h>

#include <new>
#include <thread>
#include <vector>

#include "job.h"
#include "launch.h"

namespace gda {
namespace {

std::vector<std::thread> threads;

}  // namespace

dingo_gda_kind device_kind() {
    return DINGO_GDA_HOST;
}

void* device_memory(std::size_t bytes) {
    void* const at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        throw std::bad_alloc();
    return at;
}

void start(Job* job) {
    for (std::uint32_t i = 0; i < job->threads; ++i)
        threads.emplace_back([=] { work(*job, i); });
}

void finish() {
    for (std::thread& thread : threads)
        thread.join();
    threads.clear();
}

void begin_capture() {}

void end_capture() {}

}  // namespace gda
