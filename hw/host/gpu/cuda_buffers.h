// SPDX-License-Identifier: BSD-2-Clause
//
// Pinned memory of the host, in buffers of two sizes: the copy engine reads and writes it itself.
// Cards of this user's other processes may be shown it (base/exported_memory.h), so that what was
// read from a GPU need not go through the wire's ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/quota.h"
#include "base/shared_memory.h"
#include "host/driver/far_buffer.h"
#include "host/gpu/cuda_device.h"

namespace dingo::gpu {

class CudaBuffers final : public uverbs::FarBufferPool,
                          public std::enable_shared_from_this<CudaBuffers> {
  public:
    static constexpr std::size_t kSmall = std::size_t{4} << 10;  ///< a packet's data
    static constexpr std::size_t kSmallOnes = 512;
    static constexpr std::size_t kLarge = std::size_t{256} << 10;
    static constexpr std::size_t kLargeOnes = 64;

    static constexpr std::size_t kBytes = kSmallOnes * kSmall + kLargeOnes * kLarge;

    /// With the device's context in use. CudaError, ErrnoError: ENOMEM, also when `account` has its
    /// share of clients' bytes.
    CudaBuffers(std::shared_ptr<CudaDevice> device, const std::shared_ptr<Account>& account);
    /// The memory is given back by the worker's thread.
    ~CudaBuffers() override;
    CudaBuffers(const CudaBuffers&) = delete;
    CudaBuffers& operator=(const CudaBuffers&) = delete;

    /// Of the heap where none is free, or so large. By any thread.
    uverbs::FarBuffer take(std::size_t bytes);
    void give_back(std::byte* at) noexcept override;

  private:
    Charge charge_;
    std::shared_ptr<CudaDevice> device_;
    std::unique_ptr<SharedMemory> file_;
    std::uint64_t exported_ = 0;  ///< its number there; 0: none
    std::byte* memory_ = nullptr;
    std::mutex mutex_;
    std::vector<std::byte*> small_;  ///< free ones
    std::vector<std::byte*> large_;
};

}  // namespace dingo::gpu
