// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "memory/buffer.h"
#include "memory/region.h"

namespace rdma_bench {
namespace {

/// Copies are in multiples of this many bytes: some devices do not support smaller units.
constexpr std::size_t kWord = 4;

struct DmDeleter {
    void operator()(ibv_dm* dm) const { ibv_free_dm(dm); }
};

/// Memory on the RDMA device itself (ibv_alloc_dm). Its addresses begin at 0.
class DeviceMemoryBuffer final : public Buffer {
  public:
    explicit DeviceMemoryBuffer(const BufferRequest& request) : request_(request) {
        ibv_device_attr_ex attributes{};
        const char* device = ibv_get_device_name(request.pd->context->device);
        if (const int error = ibv_query_device_ex(request.pd->context, nullptr, &attributes);
            error != 0) {
            throw std::runtime_error(std::string("memory kind dm: ibv_query_device_ex: ") +
                                     std::strerror(error));
        }
        if (attributes.max_dm_size == 0) {
            throw std::runtime_error(
                std::string("memory kind dm: ") + device +
                " has no memory of its own (max_dm_size is 0); use another kind");
        }
        whole_ = (request.size + kWord - 1) / kWord * kWord;
        ibv_alloc_dm_attr wanted{};
        wanted.length = whole_;
        dm_.reset(ibv_alloc_dm(request.pd->context, &wanted));
        if (!dm_) {
            throw std::runtime_error("memory kind dm: ibv_alloc_dm of " + std::to_string(whole_) +
                                     " bytes: " + std::strerror(errno) + "; " + device + " has " +
                                     std::to_string(attributes.max_dm_size) +
                                     " in all (smaller -s or fewer -q)");
        }
        const std::vector<std::byte> zeros(whole_);
        to_device(0, zeros);
        mr_.reset(register_again());
    }

    [[nodiscard]] std::uint64_t address() const override { return 0; }
    [[nodiscard]] std::size_t size() const override { return request_.size; }
    [[nodiscard]] std::byte* host() const override { return nullptr; }
    [[nodiscard]] ibv_mr* mr() const override { return mr_.get(); }
    ibv_mr* register_again() override {
        // Device memory is addressed by offset; relaxed ordering concerns host memory only.
        const auto access = (static_cast<unsigned>(request_.access) &
                             ~static_cast<unsigned>(IBV_ACCESS_RELAXED_ORDERING)) |
                            static_cast<unsigned>(IBV_ACCESS_ZERO_BASED);
        ibv_mr* mr = ibv_reg_dm_mr(request_.pd, dm_.get(), 0, request_.size, access);
        if (mr == nullptr) {
            throw std::runtime_error("memory kind dm: ibv_reg_dm_mr of " +
                                     std::to_string(request_.size) +
                                     " bytes: " + std::strerror(errno));
        }
        return mr;
    }
    void write(std::size_t offset, std::span<const std::byte> data) override {
        check_range(request_.size, offset, data.size());
        auto words = whole_words(offset, data.size());
        std::memcpy(words.data() + offset % kWord, data.data(), data.size());
        to_device(offset / kWord * kWord, words);
    }
    void read(std::size_t offset, std::span<std::byte> data) const override {
        check_range(request_.size, offset, data.size());
        const auto words = whole_words(offset, data.size());
        std::memcpy(data.data(), words.data() + offset % kWord, data.size());
    }
    [[nodiscard]] std::string description() const override {
        return "device memory (ibv_alloc_dm)";
    }

  private:
    /// Reads the words that contain the range.
    [[nodiscard]] std::vector<std::byte> whole_words(std::size_t offset, std::size_t length) const {
        const std::size_t first = offset / kWord * kWord;
        std::vector<std::byte> words((offset + length + kWord - 1) / kWord * kWord - first);
        check(ibv_memcpy_from_dm(words.data(), dm_.get(), first, words.size()),
              "ibv_memcpy_from_dm");
        return words;
    }
    void to_device(std::size_t offset, std::span<const std::byte> data) {
        check(ibv_memcpy_to_dm(dm_.get(), offset, data.data(), data.size()), "ibv_memcpy_to_dm");
    }
    static void check(int error, const char* call) {
        if (error != 0) {
            throw std::runtime_error(std::string("memory kind dm: ") + call + ": " +
                                     std::strerror(error));
        }
    }

    BufferRequest request_;
    std::size_t whole_ = 0;
    std::unique_ptr<ibv_dm, DmDeleter> dm_;
    Mr mr_;
};

}  // namespace

std::unique_ptr<Buffer> make_device_buffer(std::string_view /*argument*/,
                                           const BufferRequest& request) {
    return std::make_unique<DeviceMemoryBuffer>(request);
}

}  // namespace rdma_bench
