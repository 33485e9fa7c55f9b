// SPDX-License-Identifier: BSD-2-Clause
#include "memory.h"

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

namespace verbs_check {
namespace {

constexpr std::size_t kPage = 4096;
// Beyond the first page and no multiple of a page: tests both parts of the offset.
constexpr std::size_t kDmabufOffset = 3 * kPage + 512;

[[noreturn]] void fail(const std::string& step) {
    throw std::runtime_error(step + ": " + std::strerror(errno));
}

int open_udmabuf(std::size_t bytes) {
    const int memory = memfd_create("verbs_check", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, static_cast<off_t>(bytes)) != 0 ||
        fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
        fail("memfd");
    }
    const int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
    if (device < 0) {
        fail("/dev/udmabuf");
    }
    udmabuf_create create{};
    create.memfd = static_cast<__u32>(memory);
    create.flags = UDMABUF_FLAGS_CLOEXEC;
    create.size = bytes;
    const int fd = ioctl(device, UDMABUF_CREATE, &create);
    if (fd < 0) {
        fail("UDMABUF_CREATE");
    }
    close(device);
    close(memory);
    return fd;
}

int open_heap(std::size_t bytes) {
    const int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);
    if (heap < 0) {
        fail("/dev/dma_heap/system");
    }
    dma_heap_allocation_data allocation{};
    allocation.len = bytes;
    allocation.fd_flags = O_RDWR | O_CLOEXEC;
    if (ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &allocation) != 0) {
        fail("DMA_HEAP_IOCTL_ALLOC");
    }
    close(heap);
    return static_cast<int>(allocation.fd);
}

}  // namespace

Buffer::Buffer(ibv_pd* pd, const std::string& kind, std::size_t bytes, int access) : size_(bytes) {
    if (kind == "host") {
        mapped_ = (bytes + kPage - 1) / kPage * kPage;
        map_ = static_cast<std::uint8_t*>(
            mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (map_ == MAP_FAILED) {
            fail("mmap");
        }
        data_ = map_;
        iova_ = reinterpret_cast<std::uint64_t>(data_);
        mr_ = ibv_reg_mr(pd, data_, bytes, access);
        if (mr_ == nullptr) {
            fail("ibv_reg_mr");
        }
        return;
    }
    open_dmabuf(kind, bytes);
    data_ = map_ + kDmabufOffset;
    // An unused address with the page offset of the data.
    iova_ = 0x5'0000'0000ULL + kDmabufOffset % kPage;
    mr_ = ibv_reg_dmabuf_mr(pd, kDmabufOffset, bytes, iova_, fd_, access);
    if (mr_ == nullptr) {
        fail("ibv_reg_dmabuf_mr");
    }
}

void Buffer::open_dmabuf(const std::string& kind, std::size_t bytes) {
    mapped_ = (kDmabufOffset + bytes + kPage - 1) / kPage * kPage;
    if (kind == "udmabuf") {
        fd_ = open_udmabuf(mapped_);
    } else if (kind == "heap") {
        fd_ = open_heap(mapped_);
    } else {
        throw std::runtime_error("memory kind '" + kind + "' is none of host, udmabuf, heap");
    }
    map_ = static_cast<std::uint8_t*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
    if (map_ == MAP_FAILED) {
        fail("mmap of the DMABuf");
    }
}

Buffer::~Buffer() {
    if (mr_ != nullptr) {
        ibv_dereg_mr(mr_);
    }
    if (map_ != nullptr && map_ != MAP_FAILED) {
        munmap(map_, mapped_);
    }
    close_descriptor();
}

void Buffer::close_descriptor() {
    if (fd_ >= 0) {
        close(fd_);
        fd_ = -1;
    }
}

void Buffer::sync(std::uint64_t flags) const {
    if (fd_ < 0) {
        return;
    }
    dma_buf_sync request{};
    request.flags = flags;
    if (ioctl(fd_, DMA_BUF_IOCTL_SYNC, &request) != 0) {
        fail("DMA_BUF_IOCTL_SYNC");
    }
}

void Buffer::begin_cpu() const {
    sync(DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW);
}
void Buffer::end_cpu() const {
    sync(DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
}

}  // namespace verbs_check
