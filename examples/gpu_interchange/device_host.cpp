// SPDX-License-Identifier: BSD-2-Clause
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "device.h"
#include "interchange.h"

namespace gpu_interchange {
namespace {

constexpr std::size_t kPage = 4096;

class HostDevice final : public Device {
  public:
    [[nodiscard]] dingo_gda_kind kind() const override { return DINGO_GDA_HOST; }
    void* alloc(std::size_t bytes) override {
        const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
        buffers_.emplace_back(std::aligned_alloc(kPage, whole));
        if (buffers_.back() == nullptr)
            throw std::bad_alloc();
        return std::memset(buffers_.back().get(), 0, whole);
    }
    void run(Transfer& transfer) override {
        std::thread([&] { interchange(transfer, 0, 1, [] {}); }).join();
    }

  private:
    struct Free {
        void operator()(void* at) const { std::free(at); }
    };
    std::vector<std::unique_ptr<void, Free>> buffers_;
};

}  // namespace

std::unique_ptr<Device> host_device() {
    return std::make_unique<HostDevice>();
}

#ifndef GPU_INTERCHANGE_CUDA
std::unique_ptr<Device> cuda_device(bool /*pinned*/) {
    return nullptr;
}
#endif

}  // namespace gpu_interchange
