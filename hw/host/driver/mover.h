// SPDX-License-Identifier: BSD-2-Clause
//
// A thread that makes accesses to far memory in order. Places that can take several accesses at
// once have some under way together. Each client has a mover of its own, so slow memory delays only
// its owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "dingo/engine.h"
#include "host/driver/far_buffer.h"
#include "host/driver/far_place.h"

namespace dingo::uverbs {

/// An access, and what becomes of it.
struct FarAccess {
    enum class Kind : std::uint8_t { kRead, kWrite, kAtomic };

    Kind kind = Kind::kWrite;
    std::shared_ptr<FarPlace> place;
    std::uint64_t offset = 0;     ///< in the place
    FarBuffer data;               ///< write: what, maybe held; read: room of the size wanted
    FarMemory::Atomic request{};  ///< atomic
    std::uint64_t before = 0;     ///< atomic: the result
    std::uint32_t count = 1;      ///< write: calls that it was made of
    /// the write's owner; accesses of others are never joined with it
    std::shared_ptr<void> of;

    /// Appends to a write whose data are not held.
    void append(std::span<const std::byte> src);
};

/// Told of accesses by the mover's thread.
class FarAccessSink {
  public:
    virtual ~FarAccessSink() = default;
    /// False: it is not to be made any more.
    virtual bool wanted(const FarAccess& access) = 0;
    virtual void made(FarAccess access, bool ok) = 0;
};

/// Limits that the movers of one client share, or those of all clients of a user who does not own
/// the card. Any thread.
class FarRoom {
  public:
    /// Bytes that may wait, with what each access takes besides. More is refused.
    static constexpr std::size_t kMostBytes = std::size_t{64} << 20;
    /// Bytes fetched ahead and not read yet.
    static constexpr std::size_t kMostFetched = std::size_t{64} << 20;
    /// Longest wait for the end of an access, and the part of the time (1/N) that such waits may
    /// take.
    static constexpr Nanoseconds kLongestWait = 100'000'000;
    static constexpr Nanoseconds kWaitShare = 10;

    /// False: too much waits.
    bool take(std::size_t bytes) { return add(bytes_, bytes, kMostBytes); }
    void give_back(std::size_t bytes) { bytes_ -= bytes; }
    bool take_fetched(std::size_t bytes) { return add(fetched_, bytes, kMostFetched); }
    void give_back_fetched(std::size_t bytes) { fetched_ -= bytes; }
    /// True when so few bytes wait that a refused access is worth another attempt.
    [[nodiscard]] bool is_half_empty() const { return bytes_ <= kMostBytes / 2; }

    /// How long others may wait from `now` on.
    [[nodiscard]] Nanoseconds may_wait(Nanoseconds now);
    void waited(Nanoseconds begin, Nanoseconds end);

  private:
    static bool add(std::atomic<std::size_t>& to, std::size_t bytes, std::size_t most);

    std::atomic<std::size_t> bytes_ = 0;
    std::atomic<std::size_t> fetched_ = 0;
    std::mutex mutex_;
    Nanoseconds credit_ = kLongestWait;
    Nanoseconds counted_ = 0;  ///< when credit_ was that much
};

/// What one has taken of a room, until it is given back.
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

    /// Makes the share at least `bytes`. False: the room has not so many.
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
    /// What an access takes besides its bytes.
    static constexpr std::size_t kAccessBytes = 256;
    /// A write grows up to this by its neighbours while it waits.
    static constexpr std::size_t kMostJoined = std::size_t{256} << 10;
    /// Size from which on a write does not wait for more.
    static constexpr std::size_t kFull = std::size_t{192} << 10;
    /// Writes on their way that are enough for smaller ones to wait.
    static constexpr unsigned kBusy = 2;
    /// Longer ones are not copied once more.
    static constexpr std::size_t kShort = std::size_t{8} << 10;
    /// What takes longer has failed.
    static constexpr Nanoseconds kTooLong = 2'000'000'000;

    /// `spin`: how long the thread looks for the next access after its last one before it sleeps.
    explicit Mover(Nanoseconds spin = 0,
                   std::shared_ptr<FarRoom> room = std::make_shared<FarRoom>());
    /// Waits for nothing: a thread that is stuck ends when its access does.
    ~Mover();
    Mover(const Mover&) = delete;
    Mover& operator=(const Mover&) = delete;

    /// Takes the access. False: too much waits; it is as before.
    bool post(FarAccess&& access, const std::shared_ptr<FarAccessSink>& sink);
    /// A write of the same owner that begins where the newest one, not begun, ends: it is joined
    /// with it, if it is short, or held and behind it in the same memory. False: it is to be
    /// posted.
    bool join(const FarAccess& write);
    /// The room for waiting accesses of this mover, and for data that was fetched and not read yet.
    [[nodiscard]] const std::shared_ptr<FarRoom>& room() const;
    /// Accesses that it was given.
    [[nodiscard]] std::uint64_t given() const;
    /// A write of `size` bytes that comes behind the first `given` of them is to be posted now.
    /// False: it may grow, as they are not begun, or not done while enough is on its way.
    [[nodiscard]] bool wants(std::uint64_t given, std::size_t size) const;
    /// The present access has taken too long, at this time (clock_now()).
    [[nodiscard]] bool is_stuck(Nanoseconds now) const;

  private:
    struct State;
    class Thread;

    std::shared_ptr<State> state_;
};

}  // namespace dingo::uverbs
