// SPDX-License-Identifier: BSD-2-Clause
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "memory/buffer.h"
#include "memory/dmabuf.h"
#include "memory/region.h"

namespace rdma_bench {
namespace {

struct Source {
    std::string exporter;
    std::uint64_t offset = 0;
};

/// Parses "PATH" or "PATH,offset=BYTES".
Source parse(std::string_view argument) {
    constexpr std::string_view kOffset = ",offset=";
    const auto comma = argument.find(kOffset);
    Source source{std::string(argument.substr(0, comma)), 0};
    if (comma != std::string_view::npos) {
        const std::string_view digits = argument.substr(comma + kOffset.size());
        const char* end = digits.data() + digits.size();
        const auto [stop, error] = std::from_chars(digits.data(), end, source.offset);
        if (digits.empty() || error != std::errc() || stop != end || source.offset >= 1ULL << 40U) {
            throw std::invalid_argument("memory kind dmabuf:" + std::string(argument) +
                                        ": behind offset= a number of bytes is expected");
        }
    }
    return source;
}

/// A DMABuf that the CPU can also map: the same registration path as GPU memory, without a GPU.
class DmabufBuffer final : public Buffer {
  public:
    DmabufBuffer(std::string_view argument, const BufferRequest& request)
        : request_(request), source_(parse(argument)), name_("dmabuf:" + std::string(argument)) {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        mapped_ = (source_.offset + request.size + page - 1) / page * page;
        dmabuf_ = allocate_dmabuf(source_.exporter, mapped_);
        void* map = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf_.get(), 0);
        if (map == MAP_FAILED) {
            throw std::runtime_error("memory kind " + name_ + ": mmap: " + std::strerror(errno));
        }
        map_ = static_cast<std::byte*>(map);
        data_ = map_ + source_.offset;
        try {
            mr_.reset(register_again());
        } catch (...) {
            ::munmap(map_, mapped_);
            throw;
        }
    }
    ~DmabufBuffer() override {
        mr_.reset();
        ::munmap(map_, mapped_);
    }

    [[nodiscard]] std::uint64_t address() const override {
        return reinterpret_cast<std::uintptr_t>(data_);
    }
    [[nodiscard]] std::size_t size() const override { return request_.size; }
    [[nodiscard]] std::byte* host() const override { return data_; }
    [[nodiscard]] ibv_mr* mr() const override { return mr_.get(); }
    ibv_mr* register_again() override {
        return register_dmabuf(request_, dmabuf_, source_.offset, address(), name_);
    }
    void write(std::size_t offset, std::span<const std::byte> data) override {
        check_range(request_.size, offset, data.size());
        begin_cpu_access(dmabuf_.get());
        std::memcpy(data_ + offset, data.data(), data.size());
        end_cpu_access(dmabuf_.get());
    }
    void read(std::size_t offset, std::span<std::byte> data) const override {
        check_range(request_.size, offset, data.size());
        begin_cpu_access(dmabuf_.get());
        std::memcpy(data.data(), data_ + offset, data.size());
        end_cpu_access(dmabuf_.get());
    }
    [[nodiscard]] std::string description() const override {
        return "DMABuf of " + source_.exporter + ", offset " + std::to_string(source_.offset);
    }

  private:
    BufferRequest request_;
    Source source_;
    std::string name_;
    std::size_t mapped_ = 0;
    Descriptor dmabuf_;
    std::byte* map_ = nullptr;
    std::byte* data_ = nullptr;
    Mr mr_;
};

}  // namespace

std::unique_ptr<Buffer> make_dmabuf_buffer(std::string_view argument,
                                           const BufferRequest& request) {
    return std::make_unique<DmabufBuffer>(argument, request);
}

}  // namespace rdma_bench
