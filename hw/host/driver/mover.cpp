// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/mover.h"

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
            return access.place->read(access.offset, access.data);
        case FarAccess::Kind::kWrite:
            return access.place->write(access.offset, access.data);
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

    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Posted> posted;
    std::size_t bytes = 0;  ///< of all that is posted or being made
    bool started = false;
    bool ends = false;
    std::size_t fetched = 0;
    std::atomic<Nanoseconds> since = 0;  ///< begin of the present access; 0: none
};

Mover::Mover() : state_(std::make_shared<State>()) {}

Mover::~Mover() {
    {
        const std::scoped_lock lock(state_->mutex);
        state_->ends = true;
    }
    state_->changed.notify_all();
}

bool Mover::post(FarAccess&& access, const std::shared_ptr<FarAccessSink>& sink) {
    {
        const std::scoped_lock lock(state_->mutex);
        if (state_->bytes + price(access) > kMostBytes) {
            return false;
        }
        if (!state_->started) {
            try {
                std::thread([state = state_] { run(state); }).detach();
            } catch (const std::system_error&) {
                return false;  // no thread now; maybe later
            }
            state_->started = true;
        }
        state_->bytes += price(access);
        state_->posted.push_back({std::move(access), sink});
    }
    state_->changed.notify_one();
    return true;
}

bool Mover::join(const std::shared_ptr<void>& of, const FarPlace& place, std::uint64_t offset,
                 std::span<const std::byte> src) {
    const std::scoped_lock lock(state_->mutex);
    if (state_->posted.empty() || state_->bytes + src.size() > kMostBytes) {
        return false;
    }
    FarAccess& last = state_->posted.back().access;
    if (last.kind != FarAccess::Kind::kWrite || last.of != of || last.place.get() != &place ||
        last.offset + last.data.size() != offset || last.data.size() + src.size() > kMostJoined) {
        return false;
    }
    last.data.insert(last.data.end(), src.begin(), src.end());
    ++last.count;
    state_->bytes += src.size();
    return true;
}

bool Mover::reserve(std::size_t bytes) {
    const std::scoped_lock lock(state_->mutex);
    if (state_->bytes + bytes > kMostBytes) {
        return false;
    }
    state_->bytes += bytes;
    return true;
}

void Mover::release(std::size_t bytes) {
    const std::scoped_lock lock(state_->mutex);
    state_->bytes -= bytes;
}

bool Mover::reserve_fetched(std::size_t bytes) {
    const std::scoped_lock lock(state_->mutex);
    if (state_->fetched + bytes > kMostFetched) {
        return false;
    }
    state_->fetched += bytes;
    return true;
}

void Mover::release_fetched(std::size_t bytes) {
    const std::scoped_lock lock(state_->mutex);
    state_->fetched -= bytes;
}

bool Mover::is_stuck(Nanoseconds now) const {
    const Nanoseconds since = state_->since.load(std::memory_order_relaxed);
    return since != 0 && now > since && now - since > kTooLong;
}

void Mover::run(const std::shared_ptr<State>& state) {
    std::unique_lock lock(state->mutex);
    for (;;) {
        state->changed.wait(lock, [&] { return !state->posted.empty() || state->ends; });
        if (state->posted.empty()) {
            return;
        }
        State::Posted next = std::move(state->posted.front());
        state->posted.pop_front();
        const std::size_t bytes = price(next.access);
        lock.unlock();
        bool ok = false;
        if (next.sink->wanted(next.access)) {
            state->since.store(clock_now(), std::memory_order_relaxed);
            ok = make_access(next.access);
            state->since.store(0, std::memory_order_relaxed);
        }
        next.sink->made(std::move(next.access), ok);
        next = {};  // may end a place, and with it this mover
        lock.lock();
        state->bytes -= bytes;
    }
}

}  // namespace dingo::uverbs
