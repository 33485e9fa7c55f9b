// SPDX-License-Identifier: BSD-2-Clause
//
// A window of the bus with far memory (docs/reference/far-memory.md), as the thread sees it that
// makes the accesses.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "dingo/far_memory.h"
#include "host/driver/far_buffer.h"
#include "host/driver/window_memory.h"

namespace dingo::uverbs {

class FarRoom;
class Mover;
struct FarAccess;

/// The end of memory that another thread closes after its place has ended.
class Closing {
  public:
    void done();
    /// Waits until it has ended, as long as `room` allows.
    void wait(FarRoom& room);

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = false;
};

class FarPlace {
  public:
    /// `fetcher` executes prefetches; null: `mover` does.
    explicit FarPlace(std::shared_ptr<Mover> mover, std::shared_ptr<Mover> fetcher = nullptr)
        : mover_(std::move(mover)), fetcher_(fetcher != nullptr ? std::move(fetcher) : mover_) {}
    virtual ~FarPlace() = default;
    FarPlace(const FarPlace&) = delete;
    FarPlace& operator=(const FarPlace&) = delete;

    [[nodiscard]] const std::shared_ptr<Mover>& mover() const { return mover_; }
    /// The mover of reads that need no order with other accesses.
    [[nodiscard]] const std::shared_ptr<Mover>& fetcher() const { return fetcher_; }

    // Called by the mover's or the fetcher's thread. `offset` is in the window. They return false
    // for a bus error.
    bool read(std::uint64_t offset, std::span<std::byte> dst);
    bool write(std::uint64_t offset, std::span<const std::byte> src);
    /// Sets `before` to the previous value of the 8 bytes.
    bool atomic(std::uint64_t offset, const FarMemory::Atomic& request, std::uint64_t& before);

    /// Returns a buffer of at least `bytes`. Thread-safe.
    [[nodiscard]] virtual FarBuffer buffer(std::size_t bytes) { return FarBuffer(bytes); }
    /// Returns true if enough buffers of this size are left to prefetch. Thread-safe.
    [[nodiscard]] virtual bool has_buffers(std::size_t /*bytes*/) const { return true; }
    /// Returns true if the buffers may be lent to other cards.
    [[nodiscard]] virtual bool lends() const { return false; }
    /// Maximum number of reads and writes in flight for all places of the mover, and the same
    /// number for the fetcher. Reads complete in the order of their start, and so do writes; a read
    /// may pass a write.
    [[nodiscard]] virtual unsigned depth() const { return 1; }
    /// Returns true if start() accepts the access.
    [[nodiscard]] virtual bool can_start(const FarAccess& /*access*/) const { return false; }
    /// Starts a read or a write. Returns false for a bus error; then the access has ended.
    bool start(FarAccess& access);
    /// Waits for `access`, the oldest of its kind that was started. Returns false for a bus error.
    bool finish(const FarAccess& access);
    /// Returns true if finish() would not wait.
    [[nodiscard]] bool is_done(const FarAccess& access) const { return do_is_done(access); }

    /// Null if the memory is closed with this object.
    [[nodiscard]] virtual std::shared_ptr<Closing> closing() const { return nullptr; }

    /// Makes all further accesses bus errors. Waits for those being executed, as long as FarRoom
    /// allows. Called by another thread.
    void close();

  protected:
    virtual bool do_read(std::uint64_t offset, std::span<std::byte> dst) = 0;
    virtual bool do_write(std::uint64_t offset, std::span<const std::byte> src) = 0;
    /// Executes an atomic. Made of do_read() and do_write() unless overridden.
    virtual bool do_atomic(std::uint64_t offset, const FarMemory::Atomic& request,
                           std::uint64_t& before);
    /// Locks atomics if movers of others access the same memory.
    [[nodiscard]] virtual std::unique_lock<std::mutex> lock_atomics() { return {}; }
    virtual bool do_start(FarAccess& /*access*/) { return false; }
    [[nodiscard]] virtual bool do_is_done(const FarAccess& /*access*/) const { return true; }
    virtual bool do_finish(const FarAccess& /*access*/) { return false; }

  private:
    /// Returns false if the place is closed.
    bool begin();
    void end();
    template <typename Access>
    bool accessed(Access access);

    std::shared_ptr<Mover> mover_;
    std::shared_ptr<Mover> fetcher_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool closed_ = false;
    unsigned busy_ = 0;  ///< accesses being executed
};

/// Memory of a client that is not mapped here, is mapped only in part, or that its owner makes
/// slow.
class FarWindow final : public FarPlace {
  public:
    /// Mapped memory must stay mapped until close() has returned.
    FarWindow(std::shared_ptr<Mover> mover, const WindowMemory& memory);
    /// The mapped parts are reached by their mappings, which `keep` keeps.
    FarWindow(std::shared_ptr<Mover> mover, WindowMemory memory, std::shared_ptr<const void> keep);

  private:
    bool do_read(std::uint64_t offset, std::span<std::byte> dst) override;
    bool do_write(std::uint64_t offset, std::span<const std::byte> src) override;
    bool do_atomic(std::uint64_t offset, const FarMemory::Atomic& request,
                   std::uint64_t& before) override;
    [[nodiscard]] std::unique_lock<std::mutex> lock_atomics() override {
        return std::unique_lock(*atomics_);
    }

    std::shared_ptr<std::mutex> atomics_;  ///< of the process, which may be several clients
    std::shared_ptr<const void> keep_;
    /// Without what is mapped and not kept: that may be unmapped while a call is stuck.
    WindowMemory memory_;
};

}  // namespace dingo::uverbs
