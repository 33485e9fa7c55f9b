// SPDX-License-Identifier: BSD-2-Clause
//
// Pinned host memory in buffers of a few sizes, which the GPU's copy engine reads and writes
// directly. Cards in other processes of this user may map it (base/exported_memory.h), so that data
// read from a GPU need not pass through the wire's ring.
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
    /// For a packet's data, for a message of usual size, and for a piece of a long message.
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

    /// Needs the device's context to be current. Throws CudaError or ErrnoError with ENOMEM, also
    /// if `account` has used up its share of clients' bytes.
    CudaBuffers(std::shared_ptr<CudaDevice> device, const std::shared_ptr<Account>& account);
    /// The worker's thread frees the memory.
    ~CudaBuffers() override;
    CudaBuffers(const CudaBuffers&) = delete;
    CudaBuffers& operator=(const CudaBuffers&) = delete;

    /// Returns a buffer of the pool, or of the heap if none is free or `bytes` exceeds kLarge.
    /// Thread-safe.
    uverbs::FarBuffer take(std::size_t bytes);
    /// Returns true if at least half of the buffers of the best fitting size are free. Thread-safe.
    [[nodiscard]] bool has_many(std::size_t bytes) const;
    void give_back(std::byte* at) noexcept override;

  private:
    Charge charge_;
    std::shared_ptr<CudaDevice> device_;
    std::unique_ptr<SharedMemory> file_;
    std::uint64_t exported_ = 0;  ///< its number in exported_memory(); 0: not exported
    std::byte* memory_ = nullptr;
    mutable std::mutex mutex_;
    std::array<std::vector<std::byte*>, kClasses.size()> free_;
};

}  // namespace dingo::gpu
