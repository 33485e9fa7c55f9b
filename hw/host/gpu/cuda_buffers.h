// SPDX-License-Identifier: BSD-2-Clause
//
// Pinned memory of the host, in buffers of some sizes: the copy engine reads and writes it itself.
// Cards of this user's other processes may be shown it (base/exported_memory.h), so that what was
// read from a GPU need not go through the wire's ring.
#pragma once

#include <array>
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
    struct Class {
        std::size_t bytes;
        std::size_t count;
    };
    /// A packet's data; a message's as most tools have it; a piece of a long message.
    static constexpr std::array<Class, 3> kClasses = {
        {{std::size_t{4} << 10, 512}, {std::size_t{64} << 10, 128}, {std::size_t{256} << 10, 64}}};
    static constexpr std::size_t kLarge = kClasses.back().bytes;

    static constexpr std::size_t kBytes = [] {
        std::size_t bytes = 0;
        for (const Class& c : kClasses) {
            bytes += c.bytes * c.count;
        }
        return bytes;
    }();

    /// With the device's context in use. CudaError, ErrnoError: ENOMEM, also when `account` has its
    /// share of clients' bytes.
    CudaBuffers(std::shared_ptr<CudaDevice> device, const std::shared_ptr<Account>& account);
    /// The memory is given back by the worker's thread.
    ~CudaBuffers() override;
    CudaBuffers(const CudaBuffers&) = delete;
    CudaBuffers& operator=(const CudaBuffers&) = delete;

    /// Takes a buffer of the pool, or of the heap when none is free or `bytes` is above kLarge. Any
    /// thread.
    uverbs::FarBuffer take(std::size_t bytes);
    /// True when half of the buffers that fit best are free. Any thread.
    [[nodiscard]] bool has_many(std::size_t bytes) const;
    void give_back(std::byte* at) noexcept override;

  private:
    Charge charge_;
    std::shared_ptr<CudaDevice> device_;
    std::unique_ptr<SharedMemory> file_;
    std::uint64_t exported_ = 0;  ///< its number there; 0: none
    std::byte* memory_ = nullptr;
    mutable std::mutex mutex_;
    std::array<std::vector<std::byte*>, kClasses.size()> free_;
};

}  // namespace dingo::gpu
