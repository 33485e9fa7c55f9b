// SPDX-License-Identifier: BSD-2-Clause
#include "memory/dmabuf.h"

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace rdma_bench {
namespace {

constexpr std::string_view kHeaps = "/dev/dma_heap/";
constexpr std::string_view kUdmabuf = "/dev/udmabuf";

[[noreturn]] void fail(const std::string& exporter, const std::string& step, int error,
                       const std::string& advice = {}) {
    throw std::runtime_error("memory kind dmabuf:" + exporter + ": " + step + ": " +
                             std::strerror(error) + (advice.empty() ? "" : "; " + advice));
}

Descriptor open_exporter(const std::string& exporter, const std::string& absent) {
    Descriptor device(::open(exporter.c_str(), O_RDWR | O_CLOEXEC));
    if (!device) {
        fail(exporter, "open", errno,
             errno == EACCES ? "this user may not open it (see ls -l " + exporter + ")" : absent);
    }
    return device;
}

Descriptor from_udmabuf(const std::string& exporter, std::size_t bytes) {
    const Descriptor device = open_exporter(
        exporter, "load the module udmabuf (CONFIG_UDMABUF) or use a heap below /dev/dma_heap");
    const Descriptor memory(::memfd_create("rdma-bench", MFD_ALLOW_SEALING | MFD_CLOEXEC));
    // The kernel requires that the memfd is sealed against shrinking.
    if (!memory || ::ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0 ||
        ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
        fail(exporter, "memfd of " + std::to_string(bytes) + " bytes", errno);
    }
    udmabuf_create create{};
    create.memfd = static_cast<__u32>(memory.get());
    create.flags = UDMABUF_FLAGS_CLOEXEC;
    create.size = bytes;
    Descriptor buffer(::ioctl(device.get(), UDMABUF_CREATE, &create));
    if (!buffer) {
        fail(exporter, "UDMABUF_CREATE of " + std::to_string(bytes) + " bytes", errno,
             errno == EINVAL ? "/sys/module/udmabuf/parameters/size_limit_mb is the limit" : "");
    }
    return buffer;
}

Descriptor from_heap(const std::string& exporter, std::size_t bytes) {
    const Descriptor device = open_exporter(
        exporter, "this kernel has no such heap (CONFIG_DMABUF_HEAPS; see ls /dev/dma_heap)");
    dma_heap_allocation_data allocation{};
    allocation.len = bytes;
    allocation.fd_flags = O_RDWR | O_CLOEXEC;
    if (::ioctl(device.get(), DMA_HEAP_IOCTL_ALLOC, &allocation) != 0) {
        fail(exporter, "DMA_HEAP_IOCTL_ALLOC of " + std::to_string(bytes) + " bytes", errno);
    }
    return Descriptor(static_cast<int>(allocation.fd));
}

void sync(int dmabuf, std::uint64_t flags) {
    dma_buf_sync request{};
    request.flags = flags;
    int result = 0;
    do {
        result = ::ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &request);
    } while (result != 0 && (errno == EINTR || errno == EAGAIN));
    if (result != 0 && errno != ENOTTY) {
        throw std::runtime_error(std::string("DMA_BUF_IOCTL_SYNC: ") + std::strerror(errno));
    }
}

}  // namespace

Descriptor allocate_dmabuf(const std::string& exporter, std::size_t bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t whole_pages = (bytes + page - 1) / page * page;
    if (exporter == kUdmabuf) {
        return from_udmabuf(exporter, whole_pages);
    }
    if (exporter.size() > kHeaps.size() && exporter.compare(0, kHeaps.size(), kHeaps) == 0) {
        return from_heap(exporter, whole_pages);
    }
    throw std::runtime_error("memory kind dmabuf:" + exporter + ": the exporter is neither " +
                             std::string(kUdmabuf) + " nor a heap below " + std::string(kHeaps));
}

void begin_cpu_access(int dmabuf) {
    sync(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW);
}

void end_cpu_access(int dmabuf) {
    sync(dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
}

}  // namespace rdma_bench
