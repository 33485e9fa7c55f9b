// SPDX-License-Identifier: BSD-2-Clause
#include "host/gpu/cuda_buffers.h"

#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include "base/exported_memory.h"
#include "base/log.h"
#include "host/gpu/worker.h"

namespace dingo::gpu {
namespace {

constexpr std::size_t kSmallBytes = CudaBuffers::kSmallOnes * CudaBuffers::kSmall;

}  // namespace

CudaBuffers::CudaBuffers(std::shared_ptr<CudaDevice> device,
                         const std::shared_ptr<Account>& account)
    : charge_(account, process_quotas().bytes, kBytes), device_(std::move(device)) {
    // give_back() never allocates.
    small_.reserve(kSmallOnes);
    large_.reserve(kLargeOnes);
    try {
        file_ = std::make_unique<SharedMemory>("dingo-gpu-buffers", kBytes);
    } catch (const std::system_error& e) {
        throw CudaError(ENOMEM, e.what());
    }
    memory_ = file_->bytes().data();
    device_->check(device_->calls().pin(memory_, kBytes, cuda::kHostRegisterPortable),
                   "cuMemHostRegister", ENOMEM);
    if (UniqueFd reader = open_for_reading(file_->fd())) {
        exported_ = exported_memory().add(file_->bytes(), std::move(reader), 0, true);
    }
    for (std::size_t i = 0; i < kSmallOnes; ++i) {
        small_.push_back(memory_ + i * kSmall);
    }
    for (std::size_t i = 0; i < kLargeOnes; ++i) {
        large_.push_back(memory_ + kSmallBytes + i * kLarge);
    }
}

CudaBuffers::~CudaBuffers() {
    if (exported_ != 0) {
        exported_memory().remove(exported_);
    }
    try {
        do_soon([device = std::move(device_), file = std::shared_ptr(std::move(file_))] {
            if (device->use()) {
                device->calls().unpin(file->bytes().data());
            }
        });
    } catch (const std::exception& e) {
        log::error("memory stays pinned: {}", e.what());
    }
}

uverbs::FarBuffer CudaBuffers::take(std::size_t bytes) {
    std::byte* at = nullptr;
    const bool is_small = bytes <= kSmall;
    if (bytes <= kLarge) {
        const std::scoped_lock lock(mutex_);
        auto& free = is_small && !small_.empty() ? small_ : large_;
        if (!free.empty()) {
            at = free.back();
            free.pop_back();
        }
    }
    if (at == nullptr) {
        return uverbs::FarBuffer(bytes);
    }
    return {at, at < memory_ + kSmallBytes ? kSmall : kLarge, shared_from_this()};
}

void CudaBuffers::give_back(std::byte* at) noexcept {
    const std::scoped_lock lock(mutex_);
    (at < memory_ + kSmallBytes ? small_ : large_).push_back(at);
}

}  // namespace dingo::gpu
