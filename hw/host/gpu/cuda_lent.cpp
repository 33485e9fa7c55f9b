// SPDX-License-Identifier: BSD-2-Clause
#include "host/gpu/cuda_lent.h"

#include <exception>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "base/log.h"
#include "host/gpu/cuda_device.h"
#include "host/gpu/worker.h"

namespace dingo::gpu {

/// Any thread.
class CudaLent::Pinned {
  public:
    explicit Pinned(const CudaDevice& device) : device_(&device) {}

    void pin(const std::shared_ptr<LentMemory>& memory) {
        const std::scoped_lock lock(mutex_);
        if (device_ == nullptr || !device_->use())
            return;
        const auto bytes = memory->bytes();
        if (bytes.size() > kMostPinned - pinned_bytes_)
            return;
        // Another GPU's may have pinned it for all; what a driver refuses is copied once more.
        if (device_->calls().pin(const_cast<std::byte*>(bytes.data()), bytes.size(),
                                 cuda::kHostRegisterPortable | cuda::kHostRegisterReadOnly) !=
            cuda::kSuccess)
            return;
        all_.push_back(memory);
        pinned_bytes_ += bytes.size();
        memory->set_pinned(true);
    }
    void unpin(const std::shared_ptr<LentMemory>& memory) {
        const std::scoped_lock lock(mutex_);
        if (std::erase(all_, memory) != 0)
            give_up(*memory);
    }
    void end() {
        const std::scoped_lock lock(mutex_);
        for (const auto& memory : all_)
            give_up(*memory);
        all_.clear();
        device_ = nullptr;
    }

  private:
    /// Pinning takes all of the host's memory that it names: other cards say how much that is.
    static constexpr std::size_t kMostPinned = std::size_t{1} << 30;

    void give_up(LentMemory& memory) {
        memory.set_pinned(false);
        pinned_bytes_ -= memory.bytes().size();
        if (device_->use())
            device_->calls().unpin(const_cast<std::byte*>(memory.bytes().data()));
    }

    std::mutex mutex_;
    const CudaDevice* device_;  ///< null: it has ended
    std::vector<std::shared_ptr<LentMemory>> all_;
    std::size_t pinned_bytes_ = 0;
};

namespace {

void soon(std::function<void()> job) {
    try {
        do_soon(std::move(job));
    } catch (const std::exception& e) {
        log::error("another card's buffers stay as they are: {}", e.what());
    }
}

}  // namespace

CudaLent::CudaLent(const CudaDevice& device) : pinned_(std::make_shared<Pinned>(device)) {
    lent_memories().watch(*this);
}

CudaLent::~CudaLent() {
    lent_memories().forget(*this);
    pinned_->end();
}

void CudaLent::lent(const std::shared_ptr<LentMemory>& memory) {
    soon([pinned = pinned_, memory] { pinned->pin(memory); });
}

void CudaLent::taken_back(const std::shared_ptr<LentMemory>& memory) {
    soon([pinned = pinned_, memory] { pinned->unpin(memory); });
}

}  // namespace dingo::gpu
