// SPDX-License-Identifier: BSD-2-Clause
//
// Clients that take as much as they can get, until they are killed, to test what their neighbours
// lose.
#include <infiniband/verbs.h>
#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "modes.h"
#include "self_link.h"

namespace verbs_load {
namespace {

constexpr std::size_t kPage = 4096;

void* map(std::size_t bytes) {
    void* const at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        throw std::runtime_error("mmap");
    return at;
}

/// Makes address handles for absent hosts; each request waits seconds for address resolution.
[[noreturn]] void wait_for_ever(const SelfLink& link, unsigned thread) {
    for (unsigned n = 0;; ++n) {
        ibv_ah_attr attr{};
        attr.is_global = 1;
        attr.port_num = 1;
        attr.grh.dgid = link.gid();
        attr.grh.dgid.raw[15] = static_cast<std::uint8_t>(100 + (thread + n) % 100);
        attr.grh.sgid_index = static_cast<std::uint8_t>(link.gid_index());
        attr.grh.hop_limit = 64;
        if (ibv_create_ah(link.pd(), &attr) == nullptr && errno != ETIMEDOUT)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the quota is used up
    }
}

}  // namespace

void wait_with(unsigned threads) {
    const SelfLink link("", 1, 8192);
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t)
        all.emplace_back([&link, t] { wait_for_ever(link, t); });
    for (std::thread& t : all)
        t.join();
}

void take_regions() {
    const SelfLink link("", 1, 8192);
    constexpr std::size_t kBytes = std::size_t{1} << 30;
    for (;;) {
        auto* const at = static_cast<std::uint8_t*>(map(kBytes));
        std::vector<ibv_mr*> regions;
        for (std::size_t n = 0; n < kBytes / kPage / 2; ++n) {  // each needs a mapping in the card
            ibv_mr* const mr = ibv_reg_mr(link.pd(), at + 2 * n * kPage, kPage, 0);
            if (mr == nullptr)
                break;
            regions.push_back(mr);
        }
        for (ibv_mr* const mr : regions)
            ibv_dereg_mr(mr);
        ::munmap(at, kBytes);
    }
}

void take_memory(unsigned mebibytes) {
    const SelfLink link("", 1, 8192);
    const std::size_t bytes = std::size_t{mebibytes} << 20;
    for (;;) {
        void* const at = map(bytes);
        ibv_mr* const mr = ibv_reg_mr(link.pd(), at, bytes, IBV_ACCESS_LOCAL_WRITE);
        if (mr != nullptr)
            ibv_dereg_mr(mr);
        ::munmap(at, bytes);
    }
}

}  // namespace verbs_load
