// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/far_streams.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>

#include "base/errno_error.h"
#include "base/monotonic_clock.h"
#include "dingo/touch.h"

namespace dingo::uverbs {
namespace {

/// Bytes of one stream that may wait for other movers.
constexpr std::size_t kMostHeld = std::size_t{8} << 20;
/// Maximum bytes moved to near memory in one call, or one access: the data thread must not stop for
/// everything that was held.
constexpr std::size_t kMostAtOnce = std::size_t{64} << 10;
/// Period at which waiting QPs are run even if no access has ended, as one access may take too
/// long.
constexpr Nanoseconds kLookEvery = 100'000'000;
constexpr Nanoseconds kLongestWait = 20'000'000;
constexpr Nanoseconds kWaitShare = 10;

}  // namespace

/// What the movers have executed of a stream.
struct FarStreams::Made {
    std::mutex mutex;
    std::uint64_t done = 0;
    bool failed = false;
    std::deque<std::uint64_t> results;
};

struct FarStreams::Shared final : FarAccessSink {
    explicit Shared(std::shared_ptr<UniqueFd> fd) : wake(std::move(fd)) {}

    bool wanted(const FarAccess& access) override {
        if (access.kind == FarAccess::Kind::kRead) {
            return access.of.use_count() > 1;  // an access still waits for the piece
        }
        Made& made = *static_cast<Made*>(access.of.get());
        const std::scoped_lock lock(made.mutex);
        return !made.failed;
    }

    void made(FarAccess access, bool ok) override {
        if (access.kind == FarAccess::Kind::kRead) {
            auto& piece = *static_cast<FetchedPiece*>(access.of.get());
            piece.bytes = std::move(access.data);
            auto expected = FetchedPiece::State::kFetching;
            piece.state.compare_exchange_strong(
                expected, ok ? FetchedPiece::State::kHere : FetchedPiece::State::kFailed,
                std::memory_order_acq_rel);
        } else {
            access.data = {};  // releases what it holds before the sink is called
            Made& made = *static_cast<Made*>(access.of.get());
            const std::scoped_lock lock(made.mutex);
            // Later accesses may have been in flight together with the one that failed.
            made.failed |= !ok;
            made.done += made.failed ? 0 : access.count;
            if (access.kind == FarAccess::Kind::kAtomic) {
                made.results.push_back(access.before);
            }
        }
        made_count.fetch_add(1, std::memory_order_release);
        tell();
    }

    // Does not depend on `moved`: it stays set while nothing waits, but the next waiter may sleep.
    void tell() {
        moved.store(true);
        if (!is_awake.exchange(true)) {
            ::eventfd_write(wake->get(), 1);
        }
    }

    std::shared_ptr<UniqueFd> wake;
    std::atomic<bool> moved = false;
    /// The eventfd is readable, or its reader is about to check `moved`.
    std::atomic<bool> is_awake = false;
    std::atomic<std::uint64_t> made_count = 0;
};

FarStreams::FarStreams(BusMap& bus)
    : bus_(bus), wake_(std::make_shared<UniqueFd>(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
    if (!*wake_) {
        throw ErrnoError(errno);
    }
    shared_ = std::make_shared<Shared>(wake_);
}

FarStreams::~FarStreams() {
    for (auto& [stream, s] : streams_) {
        const std::scoped_lock lock(s.made->mutex);
        s.made->failed = true;
    }
}

void FarStreams::woke() {
    ::eventfd_t count = 0;
    ::eventfd_read(wake_->get(), &count);
    shared_->is_awake.exchange(false);
}

FarStreams::State& FarStreams::state(Stream stream) {
    State& s = streams_[stream];
    if (s.made == nullptr) {
        s.made = std::make_shared<Made>();
    }
    return s;
}

bool FarStreams::is_idle(const State& s) {
    const std::scoped_lock lock(s.made->mutex);
    return s.made->done == s.given;
}

bool FarStreams::fetch(const std::shared_ptr<FetchedPiece>& piece, std::uint64_t least,
                       bool& error) {
    const BusMap::Place place = bus_.place(piece->addr, piece->length, false);
    if (!place.ok || place.far == nullptr || place.far->fetcher()->is_stuck(clock_now())) {
        error = true;
        return false;
    }
    // Near memory is not prefetched, as it is read without this port.
    if (least == 0 && !bus_.is_far(piece->addr, piece->length)) {
        return false;
    }
    for (std::uint64_t half = piece->length / 2;
         half >= std::max(least, FarReads::kPacket) &&
         !bus_.is_far(piece->addr + half, piece->length - half);
         half /= 2) {
        piece->length = half;
    }
    const std::shared_ptr<Mover> mover = place.far->fetcher();
    const std::size_t length = piece->length;
    if (least == 0 && !place.far->has_buffers(length)) {
        return false;
    }
    const std::shared_ptr<FarRoom> room = mover->room();
    if (room->take_fetched(length)) {
        piece->room = {room.get(), [room, length](FarRoom* r) { r->give_back_fetched(length); }};
    } else if (least != 0) {
        piece->length = std::min(piece->length, least);
    } else {
        return false;
    }
    FarAccess fetch;
    fetch.kind = FarAccess::Kind::kRead;
    fetch.place = place.far;
    fetch.offset = place.offset;
    fetch.data = place.far->buffer(piece->length);
    fetch.data.resize(piece->length);
    fetch.of = piece;
    piece->mover = mover;
    return mover->post(std::move(fetch), shared_);
}

FarMemory::Access FarStreams::read(Stream stream, std::uint64_t message, std::uint64_t addr,
                                   std::span<std::byte> dst, std::uint64_t ahead) {
    State& s = state(stream);
    seen_ = shared_->made_count.load(std::memory_order_acquire);
    bool error = false;
    const Access access = s.reads.read(
        message, addr, dst, ahead,
        [&](const auto& piece, std::uint64_t least) { return fetch(piece, least, error); });
    return error && access == Access::kLater ? Access::kError : access;
}

bool FarStreams::refer(Stream stream, std::uint64_t message, std::uint64_t addr, std::size_t bytes,
                       std::uint64_t ahead, Elsewhere& where) {
    bool error = false;  // the error is reported to the access that asks for the piece itself
    return state(stream).reads.refer(
        message, addr, bytes, ahead, where,
        [&](const auto& piece, std::uint64_t least) { return fetch(piece, least, error); });
}

bool FarStreams::prefetch(Stream stream, std::uint64_t message, std::uint64_t addr,
                          std::uint64_t bytes) {
    bool error = false;  // the error is reported to the access that asks for the piece itself
    return state(stream).reads.prefetch(
        message, addr, bytes,
        [&](const auto& piece, std::uint64_t least) { return fetch(piece, least, error); });
}

bool FarStreams::has_room(Stream stream) {
    const State& s = state(stream);
    const std::shared_ptr<Mover> mover = s.refused.lock();
    return s.held_bytes <= kMostHeld / 2 &&
           (mover == nullptr || mover->room()->is_half_empty() || mover->is_stuck(clock_now()));
}

bool FarStreams::give(State& s, HeldAccess& held) {
    const std::shared_ptr<FarPlace>& far = held.place.far;
    if (far == nullptr) {
        std::uint64_t before = 0;
        bool ok = bus_.is_there(held.addr, held.place);
        if (ok && held.access.kind == FarAccess::Kind::kWrite) {
            ok = bus_.write(held.addr, held.access.data.bytes());
        } else if (ok) {
            ok = bus_.atomic(held.addr, held.access.request, before);
        }
        s.given += held.access.count;
        s.mover.reset();
        const std::scoped_lock lock(s.made->mutex);
        s.made->failed |= !ok;
        s.made->done += ok ? held.access.count : 0;
        if (held.access.kind == FarAccess::Kind::kAtomic) {
            s.made->results.push_back(before);
        }
        return true;
    }
    const std::uint32_t count = held.access.count;
    if (!far->mover()->post(std::move(held.access), shared_)) {
        return false;
    }
    s.given += count;
    s.mover = far->mover();
    return true;
}

std::size_t FarStreams::follow(const State& s, HeldAccess& held) {
    FarBuffer& data = held.access.data;
    const std::size_t length =
        held.access.kind == FarAccess::Kind::kAtomic ? sizeof(std::uint64_t) : data.size();
    if (held.place.far != nullptr || !bus_.is_far(held.addr, length)) {
        return 0;
    }
    BusMap::Place place = bus_.place(held.addr, length, true);
    if (!place.ok || place.window != held.place.window) {
        return 0;
    }
    std::size_t copied = 0;
    if (data.held() != nullptr && place.far->depth() == 1) {  // as in write_held()
        FarBuffer copy = place.far->buffer(length);
        touches(data.bytes().data(), length);
        copy.append(data.bytes());
        data = std::move(copy);
        copied = length;
    }
    held.place = std::move(place);
    fill_in(s, held);
    return copied;
}

FarMemory::Access FarStreams::take(State& s, HeldAccess held, std::size_t length) {
    fill_in(s, held);
    const Mover* const mover = held.place.mover();
    if (mover != nullptr && mover->is_stuck(clock_now())) {
        return Access::kError;
    }
    if (s.held.empty() && (is_idle(s) || (mover != nullptr && s.mover.get() == mover))) {
        if (give(s, held)) {
            return Access::kDone;
        }
        s.refused = held.place.far->mover();  // near memory takes everything
        return Access::kLater;
    }
    if (s.held_bytes + length > kMostHeld) {
        s.refused.reset();
        return Access::kLater;
    }
    std::shared_ptr<Mover> blocker = s.mover;
    if (blocker == nullptr && !s.held.empty() && s.held.front().place.far != nullptr) {
        blocker = s.held.front().place.far->mover();
    }
    if (blocker == nullptr || !held.room.take(blocker->room(), length + Mover::kAccessBytes)) {
        s.refused = blocker;
        return Access::kLater;
    }
    s.held_bytes += length;
    s.held.push_back(std::move(held));
    return Access::kDone;
}

FarMemory::Access FarStreams::write_held(Stream stream, std::uint64_t addr,
                                         std::span<const std::byte> src, const Held& whose) {
    State& s = state(stream);
    const BusMap::Place place = bus_.place(addr, src.size(), true);
    if (!place.ok) {
        return Access::kError;
    }
    // A place that makes one copy at a time may be slow, and held memory belongs to another client:
    // such a place gets a copy of the data.
    const Held none;
    const Held& held = place.far == nullptr || place.far->depth() > 1 ? whose : none;
    if (extend(s, place, src, held)) {
        return Access::kDone;
    }
    flush(s);
    FarAccess access;
    access.kind = FarAccess::Kind::kWrite;
    access.message = s.message;
    if (held != nullptr) {
        access.data = FarBuffer(src, held, held->is_pinned());
    } else {
        access.data = place.far != nullptr ? place.far->buffer(src.size()) : FarBuffer(src.size());
        touches(src.data(), src.size());
        access.data.append(src);
    }
    HeldAccess write{place, addr, std::move(access), {}};
    if (!may_open(s, write)) {
        return take(s, std::move(write), src.size());
    }
    fill_in(s, write);
    s.open_behind = write.place.far->mover()->given();
    s.open = std::move(write);
    if (!std::exchange(s.is_listed, true)) {
        open_.push_back(stream);
    }
    return Access::kDone;
}

bool FarStreams::extend(State& s, const BusMap::Place& place, std::span<const std::byte> src,
                        const Held& held) {
    if (!s.open || s.open->place.far != place.far || s.open->access.message != s.message) {
        return false;
    }
    FarAccess& last = s.open->access;
    const std::size_t size = last.data.size() + src.size();
    if (last.offset + last.data.size() != place.offset || size > Mover::kMostJoined ||
        last.data.held() != held ||
        (held != nullptr && last.data.bytes().data() + last.data.size() != src.data())) {
        return false;
    }
    // Also reserve room for later writes that will probably be joined: movers share the room.
    const std::shared_ptr<FarRoom>& room = place.far->mover()->room();
    RoomShare& share = s.open->room;
    if (!share.take(room, std::min(2 * size, Mover::kMostJoined) + Mover::kAccessBytes) &&
        !share.take(room, size + Mover::kAccessBytes)) {
        return false;
    }
    if (held != nullptr) {
        last.data.extend(src.size());
    } else {
        touches(src.data(), src.size());
        last.append(src);
    }
    ++last.count;
    return true;
}

void FarStreams::flush(State& s) {
    if (!s.open) {
        return;
    }
    HeldAccess write = std::move(*s.open);
    s.open.reset();
    write.room.give_back();  // the mover takes its own room
    if (s.mover == write.place.far->mover() && s.held.empty() && s.mover->join(write.access)) {
        s.given += write.access.count;
        return;
    }
    if (s.held.empty() && give(s, write)) {
        return;
    }
    const std::size_t size = write.access.data.size();
    static_cast<void>(
        write.room.take(write.place.far->mover()->room(), size + Mover::kAccessBytes));
    s.held_bytes += size;
    s.held.push_back(std::move(write));  // progress() gives it to the mover when there is room
}

bool FarStreams::flush_if_idle(State& s) {
    if (s.open) {
        const Mover& mover = *s.open->place.far->mover();
        if (!mover.wants(s.open_behind, s.open->access.data.size()) &&
            !mover.is_stuck(clock_now())) {
            return false;
        }
        flush(s);
    }
    return true;
}

void FarStreams::flush_idle() {
    std::erase_if(open_, [this](Stream stream) {
        const auto found = streams_.find(stream);
        if (found == streams_.end()) {
            return true;
        }
        found->second.is_listed = !flush_if_idle(found->second);
        return !found->second.is_listed;
    });
}

bool FarStreams::may_open(const State& s, HeldAccess& write) {
    if (write.place.far == nullptr || !s.held.empty()) {
        return false;
    }
    const std::shared_ptr<Mover>& mover = write.place.far->mover();
    return (s.mover == mover || is_idle(s)) && !mover->is_stuck(clock_now()) &&
           write.room.take(mover->room(), write.access.data.size() + Mover::kAccessBytes);
}

void FarStreams::fill_in(const State& s, HeldAccess& write) {
    write.access.place = write.place.far;
    write.access.offset = write.place.offset;
    write.access.of = s.made;
}

FarMemory::Access FarStreams::atomic(Stream stream, std::uint64_t addr, const Atomic& request) {
    FarAccess access;
    access.kind = FarAccess::Kind::kAtomic;
    access.request = request;
    constexpr std::size_t kBytes = sizeof(std::uint64_t);
    BusMap::Place place = bus_.place(addr, kBytes, true);
    if (!place.ok) {
        return Access::kError;
    }
    // All atomics on a word are executed by the same thread, regardless of the region.
    if (!bus_.is_far(addr, kBytes)) {
        place.far = nullptr;
    }
    State& s = state(stream);
    flush(s);
    return take(s, {std::move(place), addr, std::move(access), {}}, kBytes);
}

std::uint64_t FarStreams::atomic_result(Stream stream) {
    State& s = state(stream);
    const std::scoped_lock lock(s.made->mutex);
    if (s.made->results.empty()) {
        return 0;
    }
    const std::uint64_t result = s.made->results.front();
    s.made->results.pop_front();
    return result;
}

FarMemory::Progress FarStreams::progress(Stream stream) {
    State& s = state(stream);
    flush_if_idle(s);
    std::size_t moved = 0;
    while (!s.held.empty()) {
        if (moved >= kMostAtOnce) {
            shared_->tell();
            break;
        }
        HeldAccess& next = s.held.front();
        moved += follow(s, next);
        const Mover* const mover = next.place.mover();
        if (!is_idle(s) && (mover == nullptr || s.mover.get() != mover)) {
            break;
        }
        const std::size_t bytes = next.access.data.size();
        moved += mover == nullptr ? bytes : 0;
        next.room.give_back();  // its own mover may be the one for which it waited
        if (!give(s, next)) {
            break;
        }
        s.held_bytes -= bytes;
        s.held.pop_front();
    }
    const std::scoped_lock lock(s.made->mutex);
    return {s.made->done, s.made->failed};
}

bool FarStreams::moved() {
    flush_idle();
    if (shared_->moved.load() && shared_->moved.exchange(false, std::memory_order_acq_rel)) {
        return true;
    }
    const Nanoseconds now = clock_now();
    if (now - looked_ < kLookEvery) {
        return false;
    }
    looked_ = now;
    for (auto& [stream, s] : streams_) {
        s.reads.fail([now](const FetchedPiece& piece) { return piece.mover->is_stuck(now); });
        if (s.mover != nullptr && s.mover->is_stuck(now) && !is_idle(s)) {
            const std::scoped_lock lock(s.made->mutex);
            s.made->failed = true;
        }
    }
    return true;
}

// The credit limits a client that ends QPs while its memory is slow to a tenth of the thread's
// time.
bool FarStreams::wait() {
    flush_idle();
    const Nanoseconds begin = clock_now();
    wait_credit_ = std::min(kLongestWait, wait_credit_ + (begin - waited_) / kWaitShare);
    bool came = false;
    Nanoseconds now = begin;
    for (; !came && now - begin < wait_credit_; now = clock_now()) {
        pollfd wake{wake_->get(), POLLIN, 0};
        if (::poll(&wake, 1, 1) == 1) {
            woke();
        }
        came = shared_->made_count.load(std::memory_order_acquire) != seen_;
    }
    waited_ = now;
    wait_credit_ -= std::min(wait_credit_, now - begin);
    return came;
}

bool FarStreams::is_waiting() const {
    return std::ranges::any_of(streams_, [](const auto& entry) {
        const State& s = entry.second;
        const std::scoped_lock lock(s.made->mutex);
        return s.reads.is_fetching() ||
               (!s.made->failed && (s.made->done != s.given || !s.held.empty() || s.open));
    });
}

void FarStreams::end(Stream stream) {
    const auto found = streams_.find(stream);
    if (found == streams_.end()) {
        return;
    }
    {
        const std::scoped_lock lock(found->second.made->mutex);
        found->second.made->failed = true;  // accesses that have not begun are not made
    }
    streams_.erase(found);
}

}  // namespace dingo::uverbs
