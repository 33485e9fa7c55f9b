// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/mover.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/monotonic_clock.h"

namespace dingo::uverbs {
namespace {

std::size_t price(const FarAccess& access) {
    return access.data.size() + Mover::kAccessBytes;
}

bool make_access(FarAccess& access) {
    switch (access.kind) {
        case FarAccess::Kind::kRead:
            return access.place->read(access.offset, access.data.bytes());
        case FarAccess::Kind::kWrite:
            return access.place->write(access.offset, access.data.bytes());
        case FarAccess::Kind::kAtomic:
            return access.place->atomic(access.offset, access.request, access.before);
    }
    return false;
}

}  // namespace

struct Mover::State {
    struct Posted {
        FarAccess access;
        std::shared_ptr<FarAccessSink> sink;
    };

    State(Nanoseconds spins, std::shared_ptr<FarRoom> its_room)
        : spin(spins), room(std::move(its_room)) {}

    const Nanoseconds spin;
    const std::shared_ptr<FarRoom> room;  ///< for everything posted or in progress
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Posted> posted;
    std::atomic<std::uint64_t> given = 0;
    /// how many of the given accesses are begun; the others are posted
    std::atomic<std::uint64_t> begun = 0;
    std::atomic<std::uint64_t> made = 0;  ///< number of completed accesses
    std::atomic<unsigned> writing = 0;    ///< writes in flight
    std::atomic<bool> news = false;       ///< something was posted, or the mover ends
    bool started = false;
    bool ends = false;
    std::atomic<Nanoseconds> since = 0;  ///< start of the oldest access in progress; 0: none
};

/// The mover's thread.
class Mover::Thread {
  public:
    explicit Thread(std::shared_ptr<State> state) : state_(std::move(state)) {}
    void run();

  private:
    /// Waits until something is posted. Returns false if the mover ends.
    bool wait(std::unique_lock<std::mutex>& lock);
    /// Returns true if the oldest posted access may be started beside those in flight.
    [[nodiscard]] bool may_start() const;
    void start(State::Posted next);
    /// Waits for the oldest access in flight. Returns false if something was posted meanwhile.
    [[nodiscard]] bool oldest_is_done() const;
    void finish_oldest();
    void finish_all();
    void make(State::Posted next);
    void report(State::Posted one, bool ok);

    std::shared_ptr<State> state_;
    std::deque<State::Posted> started_;
};

bool FarRoom::add(std::atomic<std::size_t>& to, std::size_t bytes, std::size_t most) {
    if (to.fetch_add(bytes) + bytes <= most) {
        return true;
    }
    to -= bytes;
    return false;
}

void FarRoom::wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                   const std::function<bool()>& over) {
    if (over()) {
        return;
    }
    const Nanoseconds begin = clock_now();
    changed.wait_for(lock, std::chrono::nanoseconds(may_wait(begin)), over);
    waited(begin, clock_now());
}

Nanoseconds FarRoom::may_wait(Nanoseconds now) {
    const std::scoped_lock lock(mutex_);
    const Nanoseconds passed = now - std::min(now, std::exchange(counted_, now));
    credit_ = std::min(kLongestWait, credit_ + passed / kWaitShare);
    return credit_;
}

void FarRoom::waited(Nanoseconds begin, Nanoseconds end) {
    const std::scoped_lock lock(mutex_);
    credit_ -= std::min(credit_, end - std::min(begin, end));
    counted_ = std::max(counted_, end);
}

Mover::Mover(Nanoseconds spin, std::shared_ptr<FarRoom> room)
    : state_(std::make_shared<State>(spin, std::move(room))) {}

Mover::~Mover() {
    {
        const std::scoped_lock lock(state_->mutex);
        state_->ends = true;
        state_->news.store(true, std::memory_order_relaxed);
    }
    state_->changed.notify_all();
}

bool Mover::post(FarAccess&& access, const std::shared_ptr<FarAccessSink>& sink) {
    {
        const std::size_t bytes = price(access);
        if (!state_->room->take(bytes)) {
            return false;
        }
        const std::scoped_lock lock(state_->mutex);
        if (!state_->started) {
            try {
                std::thread([state = state_] { Thread(state).run(); }).detach();
            } catch (const std::system_error&) {
                state_->room->give_back(bytes);
                return false;  // no thread now; maybe later
            }
            state_->started = true;
        }
        state_->posted.push_back({std::move(access), sink});
        state_->given.fetch_add(1, std::memory_order_relaxed);
        state_->news.store(true, std::memory_order_relaxed);
    }
    state_->changed.notify_one();
    return true;
}

void FarAccess::append(std::span<const std::byte> src) {
    if (const std::size_t size = data.size() + src.size(); data.capacity() < size) {
        // Allocate up to twice the needed size.
        FarBuffer larger =
            place->buffer(std::max(size, std::min(Mover::kMostJoined, 2 * data.size())));
        larger.append(data.bytes());
        data = std::move(larger);
    }
    data.append(src);
}

bool Mover::join(const FarAccess& write) {
    const Held& held = write.data.held();
    const std::span<const std::byte> src = write.data.bytes();
    if (held == nullptr && src.size() > kShort) {
        return false;
    }
    const std::scoped_lock lock(state_->mutex);
    if (state_->posted.empty()) {
        return false;
    }
    FarAccess& last = state_->posted.back().access;
    if (last.kind != FarAccess::Kind::kWrite || last.of != write.of ||
        last.message != write.message || last.place != write.place ||
        last.offset + last.data.size() != write.offset ||
        last.data.size() + src.size() > kMostJoined || last.data.held() != held ||
        (held != nullptr && last.data.bytes().data() + last.data.size() != src.data()) ||
        !state_->room->take(src.size())) {
        return false;
    }
    if (held != nullptr) {
        last.data.extend(src.size());
    } else {
        last.append(src);
    }
    last.count += write.count;
    return true;
}

const std::shared_ptr<FarRoom>& Mover::room() const {
    return state_->room;
}

std::uint64_t Mover::given() const {
    return state_->given.load(std::memory_order_relaxed);
}

bool Mover::wants(std::uint64_t given, std::size_t size) const {
    return state_->begun.load(std::memory_order_relaxed) >= given &&
           (size >= kFull || state_->writing.load(std::memory_order_relaxed) < kBusy ||
            state_->made.load(std::memory_order_relaxed) >= given);
}

bool Mover::is_stuck(Nanoseconds now) const {
    const Nanoseconds since = state_->since.load(std::memory_order_relaxed);
    return since != 0 && now > since && now - since > kTooLong;
}

bool Mover::Thread::wait(std::unique_lock<std::mutex>& lock) {
    State& s = *state_;
    if (s.posted.empty() && !s.ends && s.spin != 0) {
        s.news.store(false, std::memory_order_relaxed);
        lock.unlock();
        const Nanoseconds begin = clock_now();
        while (!s.news.load(std::memory_order_relaxed) && clock_now() - begin < s.spin) {
        }
        lock.lock();
    }
    s.changed.wait(lock, [&] { return !s.posted.empty() || s.ends; });
    return !s.posted.empty();
}

bool Mover::Thread::may_start() const {
    const std::deque<State::Posted>& posted = state_->posted;
    if (posted.empty() || started_.empty()) {
        return !posted.empty();
    }
    const FarAccess& next = posted.front().access;
    if (started_.size() >= next.place->depth()) {
        return false;
    }
    // The newest one grows while it waits.
    return next.kind != FarAccess::Kind::kWrite || posted.size() > 1 || next.data.size() >= kFull ||
           state_->writing.load(std::memory_order_relaxed) < kBusy;
}

void Mover::Thread::report(State::Posted one, bool ok) {
    state_->room->give_back(price(one.access));  // before made(): the sink sees the room
    state_->made.fetch_add(1, std::memory_order_relaxed);
    one.sink->made(std::move(one.access), ok);
    one = {};  // may end a place, and with it the mover
    state_->since.store(started_.empty() ? 0 : clock_now(), std::memory_order_relaxed);
}

bool Mover::Thread::oldest_is_done() const {
    // Without spinning, finish() waits.
    while (state_->spin != 0 && !started_.front().access.place->is_done(started_.front().access)) {
        if (state_->news.load(std::memory_order_relaxed)) {
            return false;
        }
    }
    return true;
}

void Mover::Thread::finish_oldest() {
    State::Posted oldest = std::move(started_.front());
    started_.pop_front();
    const bool ok = oldest.access.place->finish(oldest.access);
    state_->writing -= oldest.access.kind == FarAccess::Kind::kWrite ? 1 : 0;
    report(std::move(oldest), ok);
}

void Mover::Thread::finish_all() {
    while (!started_.empty()) {
        finish_oldest();
    }
}

void Mover::Thread::make(State::Posted next) {
    finish_all();
    bool ok = false;
    if (next.sink->wanted(next.access)) {
        state_->since.store(clock_now(), std::memory_order_relaxed);
        ok = make_access(next.access);
    }
    report(std::move(next), ok);
}

void Mover::Thread::start(State::Posted next) {
    FarAccess& access = next.access;
    if (access.kind == FarAccess::Kind::kAtomic || !access.place->can_start(access)) {
        make(std::move(next));
        return;
    }
    if (started_.empty()) {
        state_->since.store(clock_now(), std::memory_order_relaxed);
    }
    if (next.sink->wanted(access) && access.place->start(access)) {
        state_->writing += access.kind == FarAccess::Kind::kWrite ? 1 : 0;
        started_.push_back(std::move(next));
        return;
    }
    // After a failed access, no further one of the same owner is executed.
    finish_all();
    report(std::move(next), false);
}

void Mover::Thread::run() {
    std::unique_lock lock(state_->mutex);
    for (;;) {
        if (started_.empty() && !wait(lock)) {
            return;
        }
        if (may_start()) {
            State::Posted next = std::move(state_->posted.front());
            state_->posted.pop_front();
            state_->begun.fetch_add(1, std::memory_order_relaxed);
            lock.unlock();
            start(std::move(next));
        } else {
            const bool more_waits = !state_->posted.empty();
            state_->news.store(false, std::memory_order_relaxed);
            lock.unlock();
            if (more_waits || oldest_is_done()) {
                finish_oldest();
            }
        }
        lock.lock();
    }
}

}  // namespace dingo::uverbs
