// SPDX-License-Identifier: BSD-2-Clause
//
// A GPU's memory as accessed by a card: an allocation of a client, opened in this process and
// copied by the GPU's copy engine (docs/reference/gpu.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "host/driver/far_place.h"
#include "host/driver/mover.h"
#include "host/gpu/cuda_device.h"
#include "host/gpu/cuda_lane.h"

namespace dingo::gpu {

/// Description of GPU memory received from a client.
struct CudaMemory {
    struct Piece {
        std::uint64_t bytes = 0;
        int descriptor = -1;
    };
    cuda::Uuid uuid;            ///< of the GPU
    std::uint64_t size = 0;     ///< bytes of the whole allocation
    cuda::IpcHandle ipc;        ///< of one allocation of cuMemAlloc; used without pieces
    std::vector<Piece> pieces;  ///< adjacent allocations of cuMemCreate
};

class CudaPlace final : public uverbs::FarPlace {
  public:
    /// Opens the memory, of which the first `end` bytes will be used. Call it on the worker's
    /// thread. Throws CudaError: ENODEV, ENOMEM, EINVAL if the allocation is smaller, EOPNOTSUPP if
    /// the driver does not export it to other processes.
    CudaPlace(std::shared_ptr<CudaLane> lane, const CudaMemory& memory, std::uint64_t end);
    ~CudaPlace() override;

    [[nodiscard]] uverbs::FarBuffer buffer(std::size_t bytes) override {
        return lane_->buffers().take(bytes);
    }
    [[nodiscard]] bool has_buffers(std::size_t bytes) const override {
        return lane_->buffers().has_many(bytes);
    }
    [[nodiscard]] bool lends() const override { return true; }
    [[nodiscard]] std::shared_ptr<uverbs::Closing> closing() const override { return closing_; }
    [[nodiscard]] unsigned depth() const override { return CudaLane::kDepth; }
    [[nodiscard]] bool can_start(const uverbs::FarAccess& access) const override {
        return access.data.is_pinned();
    }

  private:
    struct Opened {
        cuda::DevicePointer address = 0;
        std::uint64_t reserved = 0;         ///< bytes of address space reserved by us; 0 for an IPC
                                            ///< handle
        std::vector<std::uint64_t> mapped;  ///< size of each mapping in bytes
    };
    static Opened open_ipc(const CudaDevice& device, const CudaMemory& memory, std::uint64_t end);
    static Opened open_pieces(const CudaDevice& device, const CudaMemory& memory);
    static void map(const CudaDevice& device, const CudaMemory::Piece& piece,
                    cuda::DevicePointer address);
    static void close(const CudaDevice& device, const Opened& opened);
    bool do_read(std::uint64_t offset, std::span<std::byte> dst) override;
    bool do_write(std::uint64_t offset, std::span<const std::byte> src) override;
    [[nodiscard]] std::unique_lock<std::mutex> lock_atomics() override {
        return std::unique_lock(lane_->device().atomics());
    }
    bool do_start(uverbs::FarAccess& access) override;
    [[nodiscard]] bool do_is_done(const uverbs::FarAccess& access) const override {
        return lane_->is_done(access.kind == uverbs::FarAccess::Kind::kRead);
    }
    bool do_finish(const uverbs::FarAccess& access) override;
    [[nodiscard]] bool has(std::uint64_t offset, std::size_t bytes) const;
    bool told(bool ok, const std::string& why);

    std::shared_ptr<CudaLane> lane_;
    std::uint64_t end_;
    Opened opened_;
    std::shared_ptr<uverbs::Closing> closing_ = std::make_shared<uverbs::Closing>();
    std::atomic<bool> has_told_ = false;
};

}  // namespace dingo::gpu
