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

class Mover;
struct FarAccess;

class FarPlace {
  public:
    /// `fetcher` makes the accesses that fetch ahead; null: `mover` does.
    explicit FarPlace(std::shared_ptr<Mover> mover, std::shared_ptr<Mover> fetcher = nullptr)
        : mover_(std::move(mover)), fetcher_(fetcher != nullptr ? std::move(fetcher) : mover_) {}
    virtual ~FarPlace() = default;
    FarPlace(const FarPlace&) = delete;
    FarPlace& operator=(const FarPlace&) = delete;

    [[nodiscard]] const std::shared_ptr<Mover>& mover() const { return mover_; }
    /// The mover of reads that need no order with other accesses.
    [[nodiscard]] const std::shared_ptr<Mover>& fetcher() const { return fetcher_; }

    // By the mover's thread, or the fetcher's. `offset` in the window; false: bus error.
    bool read(std::uint64_t offset, std::span<std::byte> dst);
    bool write(std::uint64_t offset, std::span<const std::byte> src);
    /// `before` = what the 8 bytes were.
    bool atomic(std::uint64_t offset, const FarMemory::Atomic& request, std::uint64_t& before);

    /// Returns a buffer for an access of `bytes`, or a larger one. Any thread.
    [[nodiscard]] virtual FarBuffer buffer(std::size_t bytes) { return FarBuffer(bytes); }
    /// Whether enough buffers of this size are left to fetch data that nobody waits for yet. Any
    /// thread.
    [[nodiscard]] virtual bool has_buffers(std::size_t /*bytes*/) const { return true; }
    /// Those buffers may be lent to other cards.
    [[nodiscard]] virtual bool lends() const { return false; }
    /// Reads and writes that may be on their way at once, of all places of the mover, and as many
    /// of the fetcher. Reads are made in the order in which they were started, and so are writes; a
    /// read may pass a write.
    [[nodiscard]] virtual unsigned depth() const { return 1; }
    /// Whether start() takes it.
    [[nodiscard]] virtual bool can_start(const FarAccess& /*access*/) const { return false; }
    /// Starts a read or a write. False: bus error, and it is over.
    bool start(FarAccess& access);
    /// Waits for `access`, the oldest of its kind that was started. False: bus error.
    bool finish(const FarAccess& access);
    /// finish() would not wait.
    [[nodiscard]] bool is_done(const FarAccess& access) const { return do_is_done(access); }

    /// By any other thread: from now on all accesses are bus errors. Waits for those that are
    /// being made, as long as FarRoom lets it.
    void close();

  protected:
    virtual bool do_read(std::uint64_t offset, std::span<std::byte> dst) = 0;
    virtual bool do_write(std::uint64_t offset, std::span<const std::byte> src) = 0;
    /// By do_read() and do_write(), if it cannot be made in one.
    virtual bool do_atomic(std::uint64_t offset, const FarMemory::Atomic& request,
                           std::uint64_t& before);
    /// Held while an atomic reads and writes, if movers of others reach the same memory.
    [[nodiscard]] virtual std::unique_lock<std::mutex> lock_atomics() { return {}; }
    virtual bool do_start(FarAccess& /*access*/) { return false; }
    [[nodiscard]] virtual bool do_is_done(const FarAccess& /*access*/) const { return true; }
    virtual bool do_finish(const FarAccess& /*access*/) { return false; }

  private:
    /// False: it is closed.
    bool begin();
    void end();
    template <typename Access>
    bool accessed(Access access);

    std::shared_ptr<Mover> mover_;
    std::shared_ptr<Mover> fetcher_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool closed_ = false;
    unsigned busy_ = 0;  ///< accesses that are being made
};

/// Memory of a client that is not, or only in part, mapped here, or that its owner makes slow.
class FarWindow final : public FarPlace {
  public:
    /// What is mapped stays so until close() has returned.
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
