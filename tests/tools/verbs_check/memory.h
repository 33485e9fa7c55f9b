// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace verbs_check {

/// A registered buffer of one of the kinds: "host", "udmabuf" (/dev/udmabuf over a memfd), "heap"
/// (/dev/dma_heap/system). The DMABuf kinds register from an offset inside the exporter's buffer.
class Buffer {
  public:
    /// Throws std::runtime_error with the failed step and errno's text.
    Buffer(ibv_pd* pd, const std::string& kind, std::size_t bytes, int access);
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    std::span<std::uint8_t> bytes() const { return {data_, size_}; }
    /// Address for work requests and peers; differs from the CPU's for DMABuf kinds.
    std::uint64_t iova() const { return iova_; }
    std::uint32_t lkey() const { return mr_->lkey; }
    std::uint32_t rkey() const { return mr_->rkey; }

    /// Begin and end CPU access to a DMABuf (DMA_BUF_IOCTL_SYNC); no effect on host memory.
    void begin_cpu() const;
    void end_cpu() const;
    /// Closes this program's descriptor of the DMABuf; the registration must stay valid.
    void close_descriptor();

  private:
    void open_dmabuf(const std::string& kind, std::size_t bytes);
    void sync(std::uint64_t flags) const;

    std::size_t size_;
    std::size_t mapped_ = 0;
    std::uint8_t* map_ = nullptr;
    std::uint8_t* data_ = nullptr;
    std::uint64_t iova_ = 0;
    int fd_ = -1;
    ibv_mr* mr_ = nullptr;
};

}  // namespace verbs_check
