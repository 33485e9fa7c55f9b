// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <vector>

#include "memory/buffer.h"
#include "memory/gpu.h"
#include "memory/region.h"

namespace rdma_bench {
namespace {

/// Device memory of a GPU, registered as a DMABuf: the RDMA device accesses it without going
/// through host memory.
class GpuBuffer final : public Buffer {
  public:
    GpuBuffer(std::unique_ptr<Gpu> gpu, std::string kind, const BufferRequest& request)
        : request_(request), kind_(std::move(kind)), gpu_(std::move(gpu)) {
        address_ = gpu_->allocate(request.size);
        try {
            clear();
            export_ = gpu_->export_dmabuf(address_, request.size);
            mr_.reset(register_again());
        } catch (...) {
            gpu_->release(address_);
            throw;
        }
    }
    ~GpuBuffer() override {
        mr_.reset();
        export_.fd.reset();
        gpu_->release(address_);
    }

    [[nodiscard]] std::uint64_t address() const override { return address_; }
    [[nodiscard]] std::size_t size() const override { return request_.size; }
    [[nodiscard]] std::byte* host() const override { return nullptr; }
    [[nodiscard]] ibv_mr* mr() const override { return mr_.get(); }
    ibv_mr* register_again() override {
        return register_dmabuf(request_, export_.fd, export_.offset, address_, kind_);
    }
    void write(std::size_t offset, std::span<const std::byte> data) override {
        check_range(request_.size, offset, data.size());
        gpu_->write(address_ + offset, data);
    }
    void read(std::size_t offset, std::span<std::byte> data) const override {
        check_range(request_.size, offset, data.size());
        gpu_->read(address_ + offset, data);
    }
    void settle() override { gpu_->synchronize(); }
    [[nodiscard]] std::string description() const override {
        return gpu_->description() + ", DMABuf offset " + std::to_string(export_.offset);
    }

  private:
    void clear() {
        constexpr std::size_t kPiece = 1U << 20U;
        const std::vector<std::byte> zeros(std::min(request_.size, kPiece));
        for (std::size_t at = 0; at < request_.size; at += kPiece) {
            gpu_->write(address_ + at,
                        std::span(zeros).first(std::min(kPiece, request_.size - at)));
        }
    }

    BufferRequest request_;
    std::string kind_;
    std::unique_ptr<Gpu> gpu_;
    std::uint64_t address_ = 0;
    Gpu::Export export_;
    Mr mr_;
};

}  // namespace

std::unique_ptr<Buffer> make_cuda_buffer(std::string_view argument, const BufferRequest& request) {
    const int index = device_index(argument, "cuda");
    return std::make_unique<GpuBuffer>(open_cuda(index), "cuda:" + std::to_string(index), request);
}

std::unique_ptr<Buffer> make_hip_buffer(std::string_view argument, const BufferRequest& request) {
    const int index = device_index(argument, "hip");
    return std::make_unique<GpuBuffer>(open_hip(index), "hip:" + std::to_string(index), request);
}

}  // namespace rdma_bench
