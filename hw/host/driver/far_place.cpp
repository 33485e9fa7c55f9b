// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/far_place.h"

#include <chrono>
#include <map>

#include "base/locked_atomic.h"
#include "base/monotonic_clock.h"
#include "host/driver/mover.h"

namespace dingo::uverbs {
namespace {

/// One mutex for each process, so that a slow process delays only itself.
std::shared_ptr<std::mutex> atomics_of(pid_t pid) {
    static std::mutex mutex;
    static std::map<pid_t, std::weak_ptr<std::mutex>> processes;
    if (pid <= 0) {
        return std::make_shared<std::mutex>();  // unknown process
    }
    const std::scoped_lock lock(mutex);
    std::erase_if(processes, [](const auto& entry) { return entry.second.expired(); });
    std::shared_ptr<std::mutex> atomics = processes[pid].lock();
    if (atomics == nullptr) {
        atomics = std::make_shared<std::mutex>();
        processes[pid] = atomics;
    }
    return atomics;
}

}  // namespace

void Closing::done() {
    {
        const std::scoped_lock lock(mutex_);
        done_ = true;
    }
    changed_.notify_all();
}

void Closing::wait(FarRoom& room) {
    std::unique_lock lock(mutex_);
    room.wait(lock, changed_, [this] { return done_; });
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

// Atomic with respect to other accesses of the mover and to holders of the same lock.
bool FarPlace::atomic(std::uint64_t offset, const FarMemory::Atomic& request,
                      std::uint64_t& before) {
    return accessed([&] {
        const auto lock = lock_atomics();
        return do_atomic(offset, request, before);
    });
}

bool FarPlace::do_atomic(std::uint64_t offset, const FarMemory::Atomic& request,
                         std::uint64_t& before) {
    return request.make_by([&](std::span<std::byte> dst) { return do_read(offset, dst); },
                           [&](std::span<const std::byte> src) { return do_write(offset, src); },
                           before);
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

bool FarPlace::finish(const FarAccess& access) {
    const bool ok = do_finish(access);
    end();
    return ok;
}

void FarPlace::close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    mover_->room()->wait(lock, ended_, [this] { return busy_ == 0; });
}

// The client's descriptor also reaches memory that is mapped here.
FarWindow::FarWindow(std::shared_ptr<Mover> mover, const WindowMemory& memory)
    : FarPlace(std::move(mover)),
      atomics_(atomics_of(memory.client->pid())),
      memory_{memory.client, memory.va, {}, memory.files, ClientFile::Writer::kMover} {}

FarWindow::FarWindow(std::shared_ptr<Mover> mover, WindowMemory memory,
                     std::shared_ptr<const void> keep)
    : FarPlace(std::move(mover)),
      atomics_(atomics_of(memory.client != nullptr ? memory.client->pid() : 0)),
      keep_(std::move(keep)),
      memory_(std::move(memory)) {
    memory_.writer = ClientFile::Writer::kMover;
}

bool FarWindow::do_read(std::uint64_t offset, std::span<std::byte> dst) {
    return memory_.read(offset, dst);
}

bool FarWindow::do_write(std::uint64_t offset, std::span<const std::byte> src) {
    return memory_.write(offset, src);
}

/// Others may reach what is mapped as near memory, so one locked instruction makes it there.
bool FarWindow::do_atomic(std::uint64_t offset, const FarMemory::Atomic& request,
                          std::uint64_t& before) {
    if (std::byte* const at = memory_.pointer(offset, sizeof before);
        at != nullptr &&
        locked_atomic(at, request.swap, request.compare, request.operand, before)) {
        return true;
    }
    std::unique_lock<std::mutex> lock;
    if (const ClientFile* const file = memory_.file_at(offset)) {
        lock = file->lock_atomics(memory_.writer);
    }
    return FarPlace::do_atomic(offset, request, before);
}

}  // namespace dingo::uverbs
