// SPDX-License-Identifier: BSD-2-Clause
// A thread that executes accesses to far memory in order. Places that support several accesses in
// flight get them together. Each client has its own mover, so slow memory delays only its owner.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "dingo/engine.h"
#include "host/driver/far_buffer.h"
#include "host/driver/far_place.h"

namespace dingo::uverbs {

/// An access and its result.
struct FarAccess {
    enum class Kind : std::uint8_t { kRead, kWrite, kAtomic };

    Kind kind = Kind::kWrite;
    std::shared_ptr<FarPlace> place;
    std::uint64_t offset = 0;     ///< in the place
    FarBuffer data;               ///< write: the data, maybe held; read: a buffer of the size to
                                  ///< read
    FarMemory::Atomic request{};  ///< atomic
    std::uint64_t before = 0;     ///< atomic: the previous value
    std::uint32_t count = 1;      ///< write: number of calls joined in it
    /// owner of the write; writes of other owners are never joined with it
    std::shared_ptr<void> of;
    std::uint32_t message = 0;  ///< write: nor are those of the owner's other messages

    /// Appends to a write whose data are not held.
    void append(std::span<const std::byte> src);
};

/// Told of accesses by the mover's thread.
class FarAccessSink {
  public:
    virtual ~FarAccessSink() = default;
    /// Returns false if the access is not needed any more.
    virtual bool wanted(const FarAccess& access) = 0;
    virtual void made(FarAccess access, bool ok) = 0;
};

/// Limits that the movers of one client share, or those of all clients of a user who does not own
/// the card. Any thread.
class FarRoom {
  public:
    /// Limit on waiting bytes, including a fixed cost per access.
    static constexpr std::size_t kMostBytes = std::size_t{64} << 20;
    /// Limit on bytes prefetched and not read yet.
    static constexpr std::size_t kMostFetched = std::size_t{64} << 20;
    /// Longest wait for the end of an access, and the part of the time (1/N) that such waits may
    /// take.
    static constexpr Nanoseconds kLongestWait = 100'000'000;
    static constexpr Nanoseconds kWaitShare = 10;

    /// Returns false if the limit would be exceeded.
    bool take(std::size_t bytes) { return add(bytes_, bytes, kMostBytes); }
    void give_back(std::size_t bytes) { bytes_ -= bytes; }
    bool take_fetched(std::size_t bytes) { return add(fetched_, bytes, kMostFetched); }
    void give_back_fetched(std::size_t bytes) { fetched_ -= bytes; }
    /// Returns true if a refused access is worth another attempt.
    [[nodiscard]] bool is_half_empty() const { return bytes_ <= kMostBytes / 2; }

    /// Another thread waits for `changed`, under `lock`, until `over` returns true or the time that
    /// such waits may take is used up.
    void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
              const std::function<bool()>& over);
    /// Returns how long others may wait from `now` on.
    [[nodiscard]] Nanoseconds may_wait(Nanoseconds now);
    void waited(Nanoseconds begin, Nanoseconds end);

  private:
    static bool add(std::atomic<std::size_t>& to, std::size_t bytes, std::size_t most);

    std::atomic<std::size_t> bytes_ = 0;
    std::atomic<std::size_t> fetched_ = 0;
    std::mutex mutex_;
    Nanoseconds credit_ = kLongestWait;
    Nanoseconds counted_ = 0;  ///< time at which credit_ was computed
};

/// Bytes taken of a room, until they are given back.
class RoomShare {
  public:
    RoomShare() = default;
    ~RoomShare() { give_back(); }
    RoomShare(RoomShare&& other) noexcept
        : room_(std::move(other.room_)), bytes_(std::exchange(other.bytes_, 0)) {}
    RoomShare& operator=(RoomShare&& other) noexcept {
        give_back();
        room_ = std::move(other.room_);
        bytes_ = std::exchange(other.bytes_, 0);
        return *this;
    }

    /// Increases the share to at least `bytes`. Returns false if the room has not enough.
    bool take(const std::shared_ptr<FarRoom>& room, std::size_t bytes) {
        if (bytes > bytes_) {
            if (!room->take(bytes - bytes_)) {
                return false;
            }
            room_ = room;
            bytes_ = bytes;
        }
        return true;
    }
    void give_back() {
        if (room_ != nullptr) {
            room_->give_back(bytes_);
        }
        room_.reset();
        bytes_ = 0;
    }

  private:
    std::shared_ptr<FarRoom> room_;
    std::size_t bytes_ = 0;
};

class Mover {
  public:
    /// Cost of an access in addition to its bytes.
    static constexpr std::size_t kAccessBytes = 256;
    /// Maximum size of a write joined from adjacent ones while it waits.
    static constexpr std::size_t kMostJoined = std::size_t{256} << 10;
    /// Size from which on a write does not wait for more.
    static constexpr std::size_t kFull = std::size_t{192} << 10;
    /// Number of writes in flight from which on smaller ones wait.
    static constexpr unsigned kBusy = 2;
    /// Longer ones are not copied once more.
    static constexpr std::size_t kShort = std::size_t{8} << 10;
    /// An access that takes longer has failed.
    static constexpr Nanoseconds kTooLong = 2'000'000'000;

    /// `spin`: how long the thread polls for the next access before it sleeps.
    explicit Mover(Nanoseconds spin = 0,
                   std::shared_ptr<FarRoom> room = std::make_shared<FarRoom>());
    /// Does not block: a stuck thread ends when its access does.
    ~Mover();
    Mover(const Mover&) = delete;
    Mover& operator=(const Mover&) = delete;

    /// Takes the access. Returns false, leaving it unchanged, if too much waits.
    bool post(FarAccess&& access, const std::shared_ptr<FarAccessSink>& sink);
    /// Joins a write with the newest one, if that is of the same message, ends where the write
    /// begins, and has not started: the write must be short, or held and adjacent in the same
    /// memory. Returns false if it must be posted.
    bool join(const FarAccess& write);
    /// The room for this mover's waiting accesses and for data fetched but not read yet.
    [[nodiscard]] const std::shared_ptr<FarRoom>& room() const;
    /// Number of accesses given to the mover.
    [[nodiscard]] std::uint64_t given() const;
    /// Returns true if a write of `size` bytes that follows the first `given` accesses should be
    /// posted now. Returns false if it may grow, as they have not started, or not finished while
    /// enough is in flight.
    [[nodiscard]] bool wants(std::uint64_t given, std::size_t size) const;
    /// Returns true if the current access has taken too long at `now` (clock_now()).
    [[nodiscard]] bool is_stuck(Nanoseconds now) const;

  private:
    struct State;
    class Thread;

    std::shared_ptr<State> state_;
};

}  // namespace dingo::uverbs
