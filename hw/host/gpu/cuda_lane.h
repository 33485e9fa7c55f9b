// SPDX-License-Identifier: BSD-2-Clause
//
// Copies between host and GPU for one client: the thread that makes them, its streams, and its
// pinned memory.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "host/driver/mover.h"
#include "host/gpu/cuda_buffers.h"
#include "host/gpu/cuda_device.h"

namespace dingo::gpu {

/// Made, and ended, on the worker's thread; between that the mover's alone, but for read() and
/// write().
class CudaLane {
  public:
    /// Copies on their way at once.
    static constexpr unsigned kDepth = 8;

    /// CudaError, ErrnoError: ENODEV, ENOMEM. Pinned memory is charged to `account`.
    explicit CudaLane(const cuda::Uuid& uuid, std::shared_ptr<Account> account = nullptr);
    ~CudaLane();
    CudaLane(const CudaLane&) = delete;
    CudaLane& operator=(const CudaLane&) = delete;

    [[nodiscard]] const std::shared_ptr<uverbs::Mover>& mover() const { return mover_; }
    [[nodiscard]] CudaDevice& device() const { return *device_; }
    [[nodiscard]] CudaBuffers& buffers() { return *buffers_; }

    // False, and `why`: bus error.

    /// Of any size, by any thread. The data are there when it returns.
    bool read(cuda::DevicePointer from, std::span<std::byte> to, std::string& why);
    bool write(cuda::DevicePointer to, std::span<const std::byte> from, std::string& why);

    /// Starts a copy; `to` and `from` are pooled, and stay until it is finished or this has failed.
    bool start_read(cuda::DevicePointer from, std::span<std::byte> to, std::string& why);
    bool start_write(cuda::DevicePointer to, std::span<const std::byte> from, std::string& why);
    /// The oldest copy on its way is done, or has failed.
    [[nodiscard]] bool is_done() const;
    /// Waits for it.
    bool finish(std::string& why);

  private:
    void make();
    void end();
    bool use(std::string& why) const;
    bool check(cuda::Result result, const char* call, std::string& why) const;
    /// From pinned memory.
    bool copy_in(cuda::DevicePointer to, std::span<const std::byte> from, std::string& why) const;
    bool copy_rows(cuda::DevicePointer to, const std::byte* from, std::size_t width,
                   std::string& why) const;
    /// All of it at once, for who looks at it meanwhile.
    template <typename Word>
    bool write_word(cuda::DevicePointer to, std::span<const std::byte> from,
                    std::string& why) const;
    bool copy_out(std::byte* to, cuda::DevicePointer from, std::size_t bytes,
                  std::string& why) const;
    bool record(cuda::Event event, cuda::Stream stream, std::string& why) const;
    /// Of a copy that was given to the stream: of one that failed no part is on its way any more.
    bool settled(bool ok, cuda::Stream stream) const;
    bool wait(cuda::Event event, std::string& why) const;

    std::shared_ptr<CudaDevice> device_;
    std::shared_ptr<Account> account_;
    std::shared_ptr<uverbs::Mover> mover_;
    cuda::Stream in_ = nullptr;
    cuda::Stream out_ = nullptr;
    std::shared_ptr<CudaBuffers> buffers_;
    std::array<cuda::Event, kDepth> ends_{};  ///< of copies on their way
    unsigned next_ = 0;                       ///< of the next copy
    unsigned oldest_ = 0;
    uverbs::FarBuffer direct_;  ///< of read() and write()
    cuda::Event direct_end_ = nullptr;
    std::mutex direct_mutex_;  ///< an engine that does not know far memory comes itself
};

}  // namespace dingo::gpu
