// SPDX-License-Identifier: BSD-2-Clause
// For LD_PRELOAD: replaces ibv_reg_dmabuf_mr by a mapping and ibv_reg_mr_iova2, so that the memfds
// of the fake GPU drivers can be registered where no DMABuf exporter exists. Prints each request to
// stderr.
#include <infiniband/verbs.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>

extern "C" ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length,
                                     std::uint64_t iova, int fd, int access) {
    constexpr std::uint64_t kPage = 4096;
    std::fprintf(stderr, "ibv_reg_dmabuf_mr: %zu bytes at offset %llu as %#llx\n", length,
                 static_cast<unsigned long long>(offset), static_cast<unsigned long long>(iova));
    if (((offset ^ iova) & (kPage - 1)) != 0) {
        errno = EINVAL;
        return nullptr;
    }
    // The mapping remains until the process exits, as its users do.
    void* map = mmap(nullptr, offset + length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        return nullptr;
    }
    return ibv_reg_mr_iova2(pd, static_cast<char*>(map) + offset, length, iova,
                            static_cast<unsigned>(access));
}
