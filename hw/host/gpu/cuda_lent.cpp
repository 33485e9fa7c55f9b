// SPDX-License-Identifier: BSD-2-Clause
#include "host/gpu/cuda_lent.h"

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "base/log.h"
#include "host/gpu/cuda_device.h"
#include "host/gpu/worker.h"

namespace dingo::gpu {
namespace {

/// Shared by all GPUs' threads. Concurrent calls may exceed the limit by what one of them pins.
std::atomic<std::size_t> pinned_bytes = 0;

}  // namespace

/// Thread-safe.
class CudaLent::Pinned {
  public:
    explicit Pinned(const CudaDevice& device) : device_(&device) {}

    void pin(const std::shared_ptr<LentMemory>& memory) {
        const std::scoped_lock lock(mutex_);
        if (device_ == nullptr || !device_->use())
            return;
        if (try_to_pin(memory))
            return;
        std::erase_if(refused_, [](const auto& weak) { return weak.expired(); });
        refused_.push_back(memory);
    }
    void unpin(const std::shared_ptr<LentMemory>& memory) {
        const std::scoped_lock lock(mutex_);
        if (std::erase(all_, memory) == 0)
            return;
        give_up(*memory);
        std::erase_if(refused_, [this](const std::weak_ptr<LentMemory>& weak) {
            const auto there = weak.lock();
            return there == nullptr || try_to_pin(there);
        });
    }
    void end() {
        const std::scoped_lock lock(mutex_);
        for (const auto& memory : all_)
            give_up(*memory);
        all_.clear();
        device_ = nullptr;
    }

  private:
    /// Limit for all GPUs together. Pinning makes memory resident, and other cards decide how much
    /// memory they lend.
    static constexpr std::size_t kMostPinned = std::size_t{1} << 30;

    bool try_to_pin(const std::shared_ptr<LentMemory>& memory) {
        const auto bytes = memory->bytes();
        if (bytes.size() > kMostPinned || pinned_bytes > kMostPinned - bytes.size())
            return false;
        // Fails if another GPU has pinned it for all contexts already. Memory that is not pinned is
        // copied once more.
        if (device_->calls().pin(const_cast<std::byte*>(bytes.data()), bytes.size(),
                                 cuda::kHostRegisterPortable | cuda::kHostRegisterReadOnly) !=
            cuda::kSuccess)
            return false;
        all_.push_back(memory);
        pinned_bytes += bytes.size();
        memory->set_pinned(true);
        return true;
    }
    void give_up(LentMemory& memory) {
        memory.set_pinned(false);
        pinned_bytes -= memory.bytes().size();
        if (device_->use())
            device_->calls().unpin(const_cast<std::byte*>(memory.bytes().data()));
    }

    std::mutex mutex_;
    const CudaDevice* device_;  ///< null after the device has ended
    std::vector<std::shared_ptr<LentMemory>> all_;
    std::vector<std::weak_ptr<LentMemory>> refused_;  ///< retried when other memory is unpinned
};

namespace {

void soon(std::function<void()> job) {
    try {
        do_soon(std::move(job));
    } catch (const std::exception& e) {
        log::error("cannot pin or unpin buffers that another card lends: {}", e.what());
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

// Jobs hold weak references, so that a card which lends and takes back endlessly does not
// accumulate mappings in the queue. Pinned keeps the memory that is pinned.
void CudaLent::lent(const std::shared_ptr<LentMemory>& memory) {
    soon([pinned = pinned_, weak = std::weak_ptr(memory)] {
        if (const auto there = weak.lock())
            pinned->pin(there);
    });
}

void CudaLent::taken_back(const std::shared_ptr<LentMemory>& memory) {
    soon([pinned = pinned_, weak = std::weak_ptr(memory)] {
        if (const auto there = weak.lock())
            pinned->unpin(there);
    });
}

}  // namespace dingo::gpu
