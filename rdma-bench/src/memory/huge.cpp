// SPDX-License-Identifier: BSD-2-Clause
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "memory/buffer.h"
#include "memory/region.h"

namespace rdma_bench {
namespace {

/// Returns a value of /proc/meminfo, e.g. 2048 for "Hugepagesize:    2048 kB"; 0 if it is missing.
std::size_t meminfo(const std::string& key) {
    std::ifstream file("/proc/meminfo");
    for (std::string word; file >> word;) {
        if (std::size_t value = 0; word == key + ":" && file >> value) {
            return value;
        }
    }
    return 0;
}

/// Huge pages of the default size (hugetlbfs), which the administrator must reserve.
class HugeBuffer final : public Buffer {
  public:
    explicit HugeBuffer(const BufferRequest& request) : request_(request) {
        const std::size_t page_kib = meminfo("Hugepagesize");
        if (page_kib == 0) {
            throw std::runtime_error("memory kind huge: this kernel has no huge pages");
        }
        page_ = page_kib * 1024;
        const std::size_t pages = (request.size + page_ - 1) / page_;
        mapped_ = pages * page_;
        void* memory = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);
        if (memory == MAP_FAILED) {
            const int error = errno;
            throw std::runtime_error("memory kind huge: mmap of " + std::to_string(pages) +
                                     " page(s) of " + std::to_string(page_kib) +
                                     " KiB: " + std::strerror(error) + "; " +
                                     std::to_string(meminfo("HugePages_Free")) +
                                     " are free (as root: sysctl vm.nr_hugepages=" +
                                     std::to_string(meminfo("HugePages_Total") + pages) + ")");
        }
        memory_ = static_cast<std::byte*>(memory);
        try {
            mr_.reset(register_again());
        } catch (...) {
            ::munmap(memory_, mapped_);
            throw;
        }
    }
    ~HugeBuffer() override {
        mr_.reset();
        ::munmap(memory_, mapped_);
    }

    [[nodiscard]] std::uint64_t address() const override {
        return reinterpret_cast<std::uintptr_t>(memory_);
    }
    [[nodiscard]] std::size_t size() const override { return request_.size; }
    [[nodiscard]] std::byte* host() const override { return memory_; }
    [[nodiscard]] ibv_mr* mr() const override { return mr_.get(); }
    ibv_mr* register_again() override { return register_memory(request_, memory_, "huge pages"); }
    void write(std::size_t offset, std::span<const std::byte> data) override {
        check_range(request_.size, offset, data.size());
        std::memcpy(memory_ + offset, data.data(), data.size());
    }
    void read(std::size_t offset, std::span<std::byte> data) const override {
        check_range(request_.size, offset, data.size());
        std::memcpy(data.data(), memory_ + offset, data.size());
    }
    [[nodiscard]] std::string description() const override {
        return "huge pages of " + std::to_string(page_ / 1024) + " KiB";
    }

  private:
    BufferRequest request_;
    std::size_t page_ = 0;
    std::size_t mapped_ = 0;
    std::byte* memory_ = nullptr;
    Mr mr_;
};

}  // namespace

std::unique_ptr<Buffer> make_huge_buffer(std::string_view /*argument*/,
                                         const BufferRequest& request) {
    return std::make_unique<HugeBuffer>(request);
}

}  // namespace rdma_bench
