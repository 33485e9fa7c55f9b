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

/// Returns the index of the smallest class whose buffers hold `bytes`.
std::size_t class_for(std::size_t bytes) {
    std::size_t i = 0;
    while (i + 1 < CudaBuffers::kClasses.size() && CudaBuffers::kClasses[i].bytes < bytes) {
        ++i;
    }
    return i;
}

/// Returns the class of the buffer at `offset` in the pool.
std::size_t class_at(std::size_t offset) {
    std::size_t i = 0;
    for (; offset >= CudaBuffers::kClasses[i].bytes * CudaBuffers::kClasses[i].count; ++i) {
        offset -= CudaBuffers::kClasses[i].bytes * CudaBuffers::kClasses[i].count;
    }
    return i;
}

}  // namespace

CudaBuffers::CudaBuffers(std::shared_ptr<CudaDevice> device,
                         const std::shared_ptr<Account>& account)
    : charge_(account, process_quotas().bytes, kBytes), device_(std::move(device)) {
    // Reserved here so that give_back() never allocates.
    for (std::size_t i = 0; i < kClasses.size(); ++i) {
        free_[i].reserve(kClasses[i].count);
    }
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
    std::byte* at = memory_;
    for (std::size_t i = 0; i < kClasses.size(); ++i) {
        for (std::size_t n = 0; n < kClasses[i].count; ++n, at += kClasses[i].bytes) {
            free_[i].push_back(at);
        }
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
        log::error("cannot unpin buffers for a GPU: {}", e.what());
    }
}

uverbs::FarBuffer CudaBuffers::take(std::size_t bytes) {
    if (bytes <= kLarge) {
        const std::scoped_lock lock(mutex_);
        for (std::size_t i = class_for(bytes); i < kClasses.size(); ++i) {
            if (!free_[i].empty()) {
                std::byte* const at = free_[i].back();
                free_[i].pop_back();
                return {at, kClasses[i].bytes, shared_from_this()};
            }
        }
    }
    return uverbs::FarBuffer(bytes);
}

bool CudaBuffers::has_many(std::size_t bytes) const {
    const std::size_t i = class_for(bytes);
    const std::scoped_lock lock(mutex_);
    return free_[i].size() >= kClasses[i].count / 2;
}

void CudaBuffers::give_back(std::byte* at) noexcept {
    const std::size_t i = class_at(static_cast<std::size_t>(at - memory_));
    const std::scoped_lock lock(mutex_);
    free_[i].push_back(at);
}

}  // namespace dingo::gpu
