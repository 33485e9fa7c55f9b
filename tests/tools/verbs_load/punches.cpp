// SPDX-License-Identifier: BSD-2-Clause
//
// Clients that take pages away from under the card's hands: its next access waits until the kernel
// has taken them out of all mappings of the file. The system calls go past the preload library.
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "modes.h"
#include "self_link.h"

namespace verbs_load {
namespace {

constexpr std::size_t kPage = 4096;
constexpr unsigned kQps = 4;
constexpr std::size_t kBytes = std::size_t{2} * 65536 * kQps;

/// Maps what is at `at` again and again, and touches each mapping.
void map_again(void* at, std::size_t bytes, unsigned times) {
    for (unsigned i = 0; i < times; ++i) {
        const long one = ::syscall(SYS_mremap, at, 0, bytes, MREMAP_MAYMOVE, 0);
        if (one == -1)
            throw std::runtime_error("mremap");
        static_cast<void>(*reinterpret_cast<volatile char*>(one));
    }
}

[[noreturn]] void punch_for_ever(void* at, std::size_t bytes) {
    for (;;) {
        if (::syscall(SYS_madvise, at, bytes, MADV_REMOVE) != 0)
            throw std::runtime_error("MADV_REMOVE");
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

void* mapping_of(const char* file) {
    std::FILE* const maps = std::fopen("/proc/self/maps", "re");
    void* found = nullptr;
    char line[512];
    while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr)
        if (const std::string text(line); text.find(file) != std::string::npos)
            found = reinterpret_cast<void*>(std::stoull(text, nullptr, 16));
    if (maps != nullptr)
        std::fclose(maps);
    if (found == nullptr)
        throw std::runtime_error(std::string("no mapping of ") + file);
    return found;
}

/// Its own queue pairs may fail by what it does: then it makes new ones.
[[noreturn]] void send_for_ever(const SelfLink::Borrowed& borrowed) {
    for (;;) {
        try {
            SelfLink link(borrowed, kQps, kBytes);
            for (;;)
                link.round();
        } catch (const std::exception&) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
}

}  // namespace

void punch_region(unsigned mappings, bool shared) {
    const int file = ::memfd_create("punched", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0 || ::ftruncate(file, kBytes) != 0 ||
        ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
        throw std::runtime_error("memfd_create");
    auto* const at = static_cast<std::uint8_t*>(
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
               shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, shared ? file : -1, 0));
    const SelfLink own("", 1, 2 * kPage);
    ibv_mr* const mr =
        ibv_reg_mr(own.pd(), at, kBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (mr == nullptr)
        throw std::runtime_error("ibv_reg_mr");
    map_again(at, kBytes, mappings);
    std::puts("punches");
    std::fflush(stdout);
    std::thread([&] { send_for_ever({own.context(), own.pd(), mr, at}); }).detach();
    punch_for_ever(at, kBytes);
}

void punch_doorbells(unsigned mappings) {
    SelfLink link("", kQps, kBytes);
    link.round();
    void* const page = mapping_of("dingo-doorbells");
    map_again(page, kPage, mappings);
    std::puts("punches");
    std::fflush(stdout);
    std::thread([&] {
        for (;;) {
            for (unsigned qp = 0; qp < link.qps(); ++qp)
                link.post(qp);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }).detach();
    punch_for_ever(page, kPage);
}

}  // namespace verbs_load
