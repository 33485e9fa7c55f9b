// SPDX-License-Identifier: BSD-2-Clause
//
// Copies between host and GPU for one client: for each direction a thread that makes them and a
// stream, and pinned memory.
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

/// Made, and ended, on the worker's thread; between that copies to the GPU are the mover's alone,
/// and those from it the fetcher's, but for read() and write().
class CudaLane {
  public:
    /// Copies on their way at once, of each direction.
    static constexpr unsigned kDepth = 8;

    /// CudaError, ErrnoError: ENODEV, ENOMEM. Pinned memory is charged to `account`.
    explicit CudaLane(const cuda::Uuid& uuid, std::shared_ptr<Account> account = nullptr);
    ~CudaLane();
    CudaLane(const CudaLane&) = delete;
    CudaLane& operator=(const CudaLane&) = delete;

    [[nodiscard]] const std::shared_ptr<uverbs::Mover>& mover() const { return mover_; }
    [[nodiscard]] const std::shared_ptr<uverbs::Mover>& fetcher() const { return fetcher_; }
    [[nodiscard]] CudaDevice& device() const { return *device_; }
    [[nodiscard]] CudaBuffers& buffers() { return *buffers_; }

    // False, and `why`: bus error.

    /// Copy any number of bytes and return when they are there. Any thread.
    bool read(cuda::DevicePointer from, std::span<std::byte> to, std::string& why);
    bool write(cuda::DevicePointer to, std::span<const std::byte> from, std::string& why);

    /// Starts a copy; `to` and `from` are pooled, and stay until it is finished or this has failed.
    bool start_read(cuda::DevicePointer from, std::span<std::byte> to, std::string& why);
    bool start_write(cuda::DevicePointer to, std::span<const std::byte> from, std::string& why);
    /// The oldest read, or write, on its way is done, or has failed.
    [[nodiscard]] bool is_done(bool read) const { return is_done(read ? out_ : in_); }
    /// Waits for it.
    bool finish(bool read, std::string& why) { return finish(read ? out_ : in_, why); }

  private:
    /// Copies of one direction.
    struct Way {
        cuda::Stream stream = nullptr;
        std::array<cuda::Event, kDepth> ends{};  ///< ends of the copies under way
        unsigned next = 0;                       ///< index of the next copy's event
        unsigned oldest = 0;
    };

    void make();
    void end();
    bool use(std::string& why) const;
    bool check(cuda::Result result, const char* call, std::string& why) const;
    /// From pinned memory.
    bool copy_in(cuda::DevicePointer to, std::span<const std::byte> from, std::string& why) const;
    bool copy_rows(cuda::DevicePointer to, const std::byte* from, std::size_t width,
                   std::string& why) const;
    /// Writes the word as a whole: a reader never sees a part of it.
    template <typename Word>
    bool write_word(cuda::DevicePointer to, std::span<const std::byte> from,
                    std::string& why) const;
    bool copy_out(std::byte* to, cuda::DevicePointer from, std::size_t bytes,
                  std::string& why) const;
    bool record(cuda::Event event, const Way& way, std::string& why) const;
    /// Ends a copy that was given to the stream (`ok`: without error). After a failure it waits
    /// until no part of the copy is under way.
    bool settled(bool ok, const Way& way) const;
    bool wait(cuda::Event event, std::string& why) const;
    /// Records the end of a copy that was given to the stream. Whether it is on its way; `ok`: it
    /// was given.
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
    std::mutex direct_mutex_;  ///< an engine that does not know far memory comes itself
};

}  // namespace dingo::gpu
