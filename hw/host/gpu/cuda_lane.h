// SPDX-License-Identifier: BSD-2-Clause
//
// Copies between host and GPU for one client: the thread that makes them, its streams, and pinned
// staging that the copy engine reads and writes itself.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "host/driver/mover.h"
#include "host/gpu/cuda_device.h"

namespace dingo::gpu {

/// Made, and ended, on the worker's thread; between that the mover's alone, but for read() and
/// write().
class CudaLane {
  public:
    static constexpr std::size_t kStaging = uverbs::Mover::kMostJoined;
    /// Copies on their way at once.
    static constexpr unsigned kSlots = 8;

    /// CudaError: ENODEV, ENOMEM.
    explicit CudaLane(const cuda::Uuid& uuid);
    ~CudaLane();
    CudaLane(const CudaLane&) = delete;
    CudaLane& operator=(const CudaLane&) = delete;

    [[nodiscard]] const std::shared_ptr<uverbs::Mover>& mover() const { return mover_; }
    [[nodiscard]] const CudaDevice& device() const { return *device_; }

    // False, and `why`: bus error.

    /// Of any size, by any thread. The data are there when it returns.
    bool read(cuda::DevicePointer from, std::span<std::byte> to, std::string& why);
    bool write(cuda::DevicePointer to, std::span<const std::byte> from, std::string& why);

    /// Starts a copy of at most kStaging bytes; no more than kSlots are on their way.
    bool start_read(cuda::DevicePointer from, std::size_t bytes, std::string& why);
    bool start_write(cuda::DevicePointer to, std::span<const std::byte> from, std::string& why);
    /// Waits for the oldest copy. `to`: of a read, its data.
    bool finish(std::span<std::byte> to, std::string& why);

  private:
    struct Slot {
        std::byte* at = nullptr;
        cuda::Event done = nullptr;
    };

    void make();
    void end();
    bool use(std::string& why) const;
    bool check(cuda::Result result, const char* call, std::string& why) const;
    /// From pinned memory.
    bool copy_in(cuda::DevicePointer to, const std::byte* from, std::size_t bytes,
                 std::string& why) const;
    bool copy_rows(cuda::DevicePointer to, const std::byte* from, std::size_t width,
                   std::string& why) const;
    bool started(cuda::Stream stream, std::string& why);

    std::shared_ptr<CudaDevice> device_;
    std::shared_ptr<uverbs::Mover> mover_;
    cuda::Stream in_ = nullptr;
    cuda::Stream out_ = nullptr;
    std::byte* staging_ = nullptr;  ///< of all slots
    std::array<Slot, kSlots> slots_{};
    unsigned next_ = 0;        ///< slot of the next copy
    unsigned oldest_ = 0;      ///< slot of the oldest one on its way
    Slot direct_;              ///< of read() and write()
    std::mutex direct_mutex_;  ///< an engine that does not know far memory comes itself
};

}  // namespace dingo::gpu
