// SPDX-License-Identifier: BSD-2-Clause
//
// Copies between host and GPU for one client: a thread and a stream for each direction, and pinned
// memory.
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

/// Constructed and destroyed on the worker's thread. In between only the mover copies to the GPU
/// and only the fetcher copies from it, except through read() and write().
class CudaLane {
  public:
    /// Maximum number of copies in flight in each direction.
    static constexpr unsigned kDepth = 8;

    /// Throws CudaError or ErrnoError (ENODEV, ENOMEM). Pinned memory is charged to `account`.
    explicit CudaLane(const cuda::Uuid& uuid, std::shared_ptr<Account> account = nullptr);
    ~CudaLane();
    CudaLane(const CudaLane&) = delete;
    CudaLane& operator=(const CudaLane&) = delete;

    [[nodiscard]] const std::shared_ptr<uverbs::Mover>& mover() const { return mover_; }
    [[nodiscard]] const std::shared_ptr<uverbs::Mover>& fetcher() const { return fetcher_; }
    [[nodiscard]] CudaDevice& device() const { return *device_; }
    [[nodiscard]] CudaBuffers& buffers() { return *buffers_; }

    // The functions below return false and set `why` if the GPU reports an error.

    /// Copy any number of bytes and wait for completion. Thread-safe.
    bool read(cuda::DevicePointer from, std::span<std::byte> to, std::string& why);
    bool write(cuda::DevicePointer to, std::span<const std::byte> from, std::string& why);

    /// Start a copy. `to` or `from` is a pooled buffer, kept until the copy has finished or the
    /// call has failed.
    bool start_read(cuda::DevicePointer from, std::span<std::byte> to, std::string& why);
    bool start_write(cuda::DevicePointer to, std::span<const std::byte> from, std::string& why);
    /// Returns true if the oldest read or write in flight has completed or failed.
    [[nodiscard]] bool is_done(bool read) const { return is_done(read ? out_ : in_); }
    /// Waits for that copy.
    bool finish(bool read, std::string& why) { return finish(read ? out_ : in_, why); }

  private:
    /// Copies in one direction.
    struct Way {
        cuda::Stream stream = nullptr;
        std::array<cuda::Event, kDepth> ends{};  ///< recorded after each copy in flight
        unsigned next = 0;                       ///< index of the next copy's event
        unsigned oldest = 0;
    };

    void make();
    void end();
    bool use(std::string& why) const;
    bool check(cuda::Result result, const char* call, std::string& why) const;
    /// Copies from pinned memory to the GPU.
    bool copy_in(cuda::DevicePointer to, std::span<const std::byte> from, std::string& why) const;
    bool copy_rows(cuda::DevicePointer to, const std::byte* from, std::size_t width,
                   std::string& why) const;
    /// Writes the word atomically: a reader never sees a part of it.
    template <typename Word>
    bool write_word(cuda::DevicePointer to, std::span<const std::byte> from,
                    std::string& why) const;
    bool copy_out(std::byte* to, cuda::DevicePointer from, std::size_t bytes,
                  std::string& why) const;
    bool record(cuda::Event event, const Way& way, std::string& why) const;
    /// Handles a failed copy (`ok` false): waits until no part of it is in flight. Returns `ok`.
    bool settled(bool ok, const Way& way) const;
    bool wait(cuda::Event event, std::string& why) const;
    /// Records the end of a copy that was queued on the stream (`ok`: without error). Returns true
    /// if the copy is in flight.
    bool started(bool ok, Way& way, std::string& why) const;
    [[nodiscard]] bool is_done(const Way& way) const;
    bool finish(Way& way, std::string& why) const;

    std::shared_ptr<CudaDevice> device_;
    std::shared_ptr<Account> account_;
    std::shared_ptr<uverbs::Mover> mover_;
    std::shared_ptr<uverbs::Mover> fetcher_;
    Way in_;
    Way out_;
    std::shared_ptr<CudaBuffers> buffers_;
    uverbs::FarBuffer direct_;  ///< staging for read() and write()
    cuda::Event direct_end_ = nullptr;
    std::mutex direct_mutex_;  ///< for engines that access far memory directly
};

}  // namespace dingo::gpu
