// SPDX-License-Identifier: BSD-2-Clause
//
// A GPU's memory as a card reaches it: an allocation of a client, opened here as well, and copied
// from and to by the GPU's copy engine (docs/reference/gpu.md).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "host/driver/far_place.h"
#include "host/driver/mover.h"
#include "host/gpu/cuda_device.h"

namespace dingo::gpu {

/// What a client says of its allocation.
struct CudaMemory {
    cuda::Uuid uuid;         ///< of the GPU
    std::uint64_t size = 0;  ///< of the allocation
    cuda::IpcHandle ipc;     ///< without a descriptor
    int descriptor = -1;     ///< of memory that was made by cuMemCreate
};

/// What all places of one client on one GPU share: the thread that copies, its stream and staging.
/// Made, and ended, on the worker's thread; between that the mover's alone.
class CudaLane {
  public:
    static constexpr std::size_t kStaging = uverbs::Mover::kMostJoined;

    /// CudaError: ENODEV, ENOMEM.
    explicit CudaLane(const cuda::Uuid& uuid);
    ~CudaLane();
    CudaLane(const CudaLane&) = delete;
    CudaLane& operator=(const CudaLane&) = delete;

    [[nodiscard]] const std::shared_ptr<uverbs::Mover>& mover() const { return mover_; }
    [[nodiscard]] const CudaDevice& device() const { return *device_; }

    /// False, and `why`: bus error. The data are there when it returns.
    bool read(cuda::DevicePointer from, std::span<std::byte> to, std::string& why);
    bool write(cuda::DevicePointer to, std::span<const std::byte> from, std::string& why);

  private:
    template <typename Copy>
    bool in_pieces(std::size_t bytes, std::string& why, Copy copy);

    std::shared_ptr<CudaDevice> device_;
    std::shared_ptr<uverbs::Mover> mover_ = std::make_shared<uverbs::Mover>();
    cuda::Stream stream_ = nullptr;
    std::byte* staging_ = nullptr;  ///< pinned: the copy engine writes and reads it itself
    std::mutex mutex_;              ///< an engine that does not know far memory comes itself
};

class CudaPlace final : public uverbs::FarPlace {
  public:
    /// The first `end` bytes of it are to be used. On the worker's thread. CudaError: ENODEV,
    /// ENOMEM, EINVAL the allocation is smaller, EOPNOTSUPP the driver gives it to no other
    /// process.
    CudaPlace(std::shared_ptr<CudaLane> lane, const CudaMemory& memory, std::uint64_t end);
    ~CudaPlace() override;

  private:
    struct Opened {
        cuda::DevicePointer address = 0;
        std::uint64_t mapped = 0;  ///< bytes of our mapping; 0: an IPC handle's
    };
    static Opened open_ipc(const CudaDevice& device, const CudaMemory& memory, std::uint64_t end);
    static Opened open_descriptor(const CudaDevice& device, const CudaMemory& memory,
                                  std::uint64_t end);
    static void close(const CudaDevice& device, const Opened& opened);
    bool do_read(std::uint64_t offset, std::span<std::byte> dst) override;
    bool do_write(std::uint64_t offset, std::span<const std::byte> src) override;
    bool told(bool ok, const std::string& why);

    std::shared_ptr<CudaLane> lane_;
    std::uint64_t end_;
    Opened opened_;
    bool has_told_ = false;
};

}  // namespace dingo::gpu
