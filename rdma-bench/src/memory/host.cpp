// SPDX-License-Identifier: BSD-2-Clause
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "memory/buffer.h"

namespace rdma_bench {
namespace {

/// Host memory in separate anonymous pages, so that nothing else lies in the registered pages.
class HostBuffer final : public Buffer {
  public:
    explicit HostBuffer(const BufferRequest& request) : request_(request) {
        void* memory =
            mmap(nullptr, request.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            throw std::system_error(errno, std::generic_category(),
                                    "mmap of " + std::to_string(request.size) + " bytes");
        }
        memory_ = static_cast<std::byte*>(memory);
        // Touch the pages now, so that no page fault occurs during the measurement.
        std::memset(memory_, 0, request.size);
        try {
            mr_ = register_again();
        } catch (...) {
            munmap(memory_, request_.size);
            throw;
        }
    }
    ~HostBuffer() override {
        ibv_dereg_mr(mr_);
        munmap(memory_, request_.size);
    }

    [[nodiscard]] std::uint64_t address() const override {
        return reinterpret_cast<std::uintptr_t>(memory_);
    }
    [[nodiscard]] std::size_t size() const override { return request_.size; }
    [[nodiscard]] std::byte* host() const override { return memory_; }
    [[nodiscard]] ibv_mr* mr() const override { return mr_; }

    ibv_mr* register_again() override {
        ibv_mr* mr = ibv_reg_mr(request_.pd, memory_, request_.size, request_.access);
        if (!mr) {
            const int error = errno;
            std::string what =
                "ibv_reg_mr of " + std::to_string(request_.size) + " bytes of host memory";
            if (error == ENOMEM || error == EAGAIN) {
                what += " (locked memory is limited: see `ulimit -l`)";
            }
            throw std::system_error(error, std::generic_category(), what);
        }
        return mr;
    }

    void write(std::size_t offset, std::span<const std::byte> data) override {
        check(offset, data.size());
        std::memcpy(memory_ + offset, data.data(), data.size());
    }
    void read(std::size_t offset, std::span<std::byte> data) const override {
        check(offset, data.size());
        std::memcpy(data.data(), memory_ + offset, data.size());
    }
    [[nodiscard]] std::string description() const override { return "host memory"; }

  private:
    void check(std::size_t offset, std::size_t size) const {
        if (offset > request_.size || size > request_.size - offset) {
            throw std::out_of_range("buffer of " + std::to_string(request_.size) + " bytes: no " +
                                    std::to_string(size) + " at " + std::to_string(offset));
        }
    }
    BufferRequest request_;
    std::byte* memory_ = nullptr;
    ibv_mr* mr_ = nullptr;
};

}  // namespace

std::unique_ptr<Buffer> make_host_buffer(std::string_view /*argument*/,
                                         const BufferRequest& request) {
    return std::make_unique<HostBuffer>(request);
}

}  // namespace rdma_bench
