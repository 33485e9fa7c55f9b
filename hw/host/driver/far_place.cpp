// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/far_place.h"

#include <array>
#include <chrono>
#include <cstring>

#include "base/monotonic_clock.h"
#include "host/driver/mover.h"

namespace dingo::uverbs {
bool changes(const FarMemory::Atomic& request, std::uint64_t before, std::uint64_t& after) {
    after = request.swap ? request.operand : before + request.operand;
    return !request.swap || before == request.compare;
}

bool FarPlace::begin() {
    const std::scoped_lock lock(mutex_);
    busy_ += closed_ ? 0 : 1;
    return !closed_;
}

void FarPlace::end() {
    {
        const std::scoped_lock lock(mutex_);
        --busy_;
    }
    ended_.notify_all();
}

template <typename Access>
bool FarPlace::accessed(Access access) {
    if (!begin()) {
        return false;
    }
    const bool ok = access();
    end();
    return ok;
}

bool FarPlace::read(std::uint64_t offset, std::span<std::byte> dst) {
    return accessed([&] { return do_read(offset, dst); });
}

bool FarPlace::write(std::uint64_t offset, std::span<const std::byte> src) {
    return accessed([&] { return do_write(offset, src); });
}

// Atomic against all others that the mover makes, and those that take the same lock.
bool FarPlace::atomic(std::uint64_t offset, const FarMemory::Atomic& request,
                      std::uint64_t& before) {
    return accessed([&] {
        const auto lock = lock_atomics();
        std::array<std::byte, sizeof before> bytes{};
        if (!do_read(offset, bytes)) {
            return false;
        }
        std::memcpy(&before, bytes.data(), sizeof before);
        std::uint64_t after = 0;
        if (!changes(request, before, after)) {
            return true;
        }
        std::memcpy(bytes.data(), &after, sizeof after);
        return do_write(offset, bytes);
    });
}

bool FarPlace::start(FarAccess& access) {
    if (!begin()) {
        return false;
    }
    const bool ok = do_start(access);
    if (!ok) {
        end();
    }
    return ok;
}

bool FarPlace::finish() {
    const bool ok = do_finish();
    end();
    return ok;
}

void FarPlace::close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    if (busy_ == 0) {
        return;
    }
    FarRoom& room = *mover_->room();
    const Nanoseconds begin = clock_now();
    ended_.wait_for(lock, std::chrono::nanoseconds(room.may_wait(begin)),
                    [this] { return busy_ == 0; });
    room.waited(begin, clock_now());
}

// The client's descriptor reaches what is mapped here as well.
FarWindow::FarWindow(std::shared_ptr<Mover> mover, const WindowMemory& memory)
    : FarPlace(std::move(mover)), memory_{memory.client, memory.va, {}, memory.files} {}

bool FarWindow::do_read(std::uint64_t offset, std::span<std::byte> dst) {
    return memory_.read(offset, dst);
}

bool FarWindow::do_write(std::uint64_t offset, std::span<const std::byte> src) {
    return memory_.write(offset, src);
}

}  // namespace dingo::uverbs
