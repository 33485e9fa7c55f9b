// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/bus_map.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/errno_error.h"
#include "base/locked_atomic.h"
#include "base/ordered_write.h"
#include "host/driver/mover.h"
#include "host/driver/queue_memory.h"

namespace dingo::uverbs {
namespace {

bool holds(std::uint64_t size, std::uint64_t offset, std::size_t len) {
    return offset <= size && len <= size - offset;
}

}  // namespace

void BusMap::copy_in(std::byte* to, const std::byte* from, std::size_t len) {
    std::memcpy(to, from, len);
}

std::uint64_t BusMap::add(Window window) {
    const Gate::Hold hold(gate_.get());
    window.id = ++last_id_;
    if (!window.memory.parts.empty()) {
        const MappedPart& first = window.memory.parts.front();
        window.first = first.bytes.data();
        window.first_offset = first.offset;
        window.first_size = first.bytes.size();
    }
    std::uint64_t index = 0;
    if (!free_.empty()) {
        index = free_.back();
        free_.pop_back();
        windows_[index] = std::move(window);
    } else {
        if (windows_.size() >= max_windows_) {
            throw ErrnoError(ENOMEM);
        }
        index = windows_.size();
        windows_.push_back(std::move(window));
    }
    return index << kOffsetBits;
}

std::uint64_t BusMap::add(std::span<std::byte> bytes) {
    Window window;
    window.length = window.readable = bytes.size();
    window.memory.parts.push_back({0, bytes});
    return add(std::move(window));
}

std::uint64_t BusMap::add(std::shared_ptr<ClientMemory> client, std::uint64_t va,
                          std::uint64_t length, std::vector<MappedPart> parts, bool writable,
                          std::vector<FilePart> files) {
    return add({std::move(client), va, std::move(parts), std::move(files), nullptr, nullptr},
               length, writable, false);
}

std::uint64_t BusMap::add(Backing backing, std::uint64_t length, bool writable, bool far) {
    if (length == 0 || length > kMaxWindow) {
        throw ErrnoError(ENOMEM);
    }
    Window window;
    window.length = length;
    window.readable = page_align(length);
    window.writable = writable;
    window.account = std::move(backing.account);
    window.keep = std::move(backing.keep);
    window.memory.client = std::move(backing.client);
    window.memory.va = backing.va;
    window.memory.parts = std::move(backing.parts);
    window.memory.files = std::move(backing.files);
    if (far) {
        make_far(window);
    } else if (window.memory.client != nullptr && !window.memory.has(0, length)) {
        window.far = std::make_shared<FarWindow>(mover_of(window.memory.client), window.memory);
    }
    return add(std::move(window));
}

void BusMap::make_far(Window& window) {
    std::shared_ptr<Mover> mover =
        window.memory.client != nullptr ? mover_of(window.memory.client) : mover_of(window.account);
    window.was = std::move(window.far);
    window.far = std::make_shared<FarWindow>(std::move(mover), std::move(window.memory),
                                             std::move(window.keep));
    window.memory = {};
    window.first = nullptr;
    window.first_offset = 0;
    window.first_size = 0;
}

std::size_t BusMap::make_far(const std::shared_ptr<Account>& account, std::size_t first,
                             std::size_t most) {
    std::size_t made = 0;
    const std::size_t end = std::min(windows_.size(), first + most);
    for (std::size_t i = first; i < end; ++i) {
        Window& window = windows_[i];
        if (window.account == account && window.has_near_part()) {
            make_far(window);
            ++made;
        }
    }
    return made;
}

std::uint64_t BusMap::add(std::shared_ptr<FarPlace> place, std::uint64_t length, bool writable) {
    if (length == 0 || length > kMaxWindow) {
        throw ErrnoError(ENOMEM);
    }
    Window window;
    window.length = window.readable = length;
    window.writable = writable;
    window.far = std::move(place);
    return add(std::move(window));
}

void BusMap::set_writable(std::uint64_t bus_address, bool writable) {
    const Gate::Hold hold(gate_.get());
    windows_.at(bus_address >> kOffsetBits).writable = writable;
}

void BusMap::remove(std::uint64_t bus_address) {
    const std::uint64_t index = bus_address >> kOffsetBits;
    const std::vector<OfAnotherThread> closed = close(index);
    {
        Window gone;  // ends after the gate is free again: that may close a client's files
        const Gate::Hold hold(gate_.get());
        gone = std::exchange(windows_.at(index), Window{});
        free_.push_back(static_cast<std::uint32_t>(index));
    }
    // The owner may free the memory, or give it away, when it learns that the window is gone.
    for (const OfAnotherThread& place : closed) {
        place.closing->wait(*place.room);
    }
}

/// The data thread continues while this waits for the end of the current access.
std::vector<BusMap::OfAnotherThread> BusMap::close(std::uint64_t index) {
    std::vector<OfAnotherThread> closed;
    std::shared_ptr<FarPlace> far;
    std::shared_ptr<FarPlace> was;
    {
        const Gate::Hold hold(gate_.get());
        far = windows_.at(index).far;
        was = windows_.at(index).was;
    }
    for (const auto& place : {far, was}) {
        if (place != nullptr) {
            place->close();
            if (auto closing = place->closing(); closing != nullptr) {
                closed.push_back({place->mover()->room(), std::move(closing)});
            }
        }
    }
    return closed;
}

std::shared_ptr<Mover> BusMap::mover_of(const std::shared_ptr<ClientMemory>& client) {
    const Gate::Hold hold(gate_.get());
    std::erase_if(movers_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<Mover>& known = movers_[client];
    std::shared_ptr<Mover> mover = known.lock();
    if (mover == nullptr) {
        mover = std::make_shared<Mover>(0, room_of(client->account()));
        known = mover;
    }
    return mover;
}

/// For windows without a client, as of DMABufs.
std::shared_ptr<Mover> BusMap::mover_of(const std::shared_ptr<Account>& account) {
    if (account == nullptr) {
        return std::make_shared<Mover>(0, room_of(account));
    }
    const Gate::Hold hold(gate_.get());
    std::erase_if(account_movers_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<Mover>& known = account_movers_[account];
    std::shared_ptr<Mover> mover = known.lock();
    if (mover == nullptr) {
        mover = std::make_shared<Mover>(0, room_of(account));
        known = mover;
    }
    return mover;
}

/// All programs of a user share the room of one.
std::shared_ptr<FarRoom> BusMap::room_of(const std::shared_ptr<Account>& account) {
    if (account == nullptr) {
        return std::make_shared<FarRoom>();
    }
    std::erase_if(rooms_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<FarRoom>& known = rooms_[account];
    std::shared_ptr<FarRoom> room = known.lock();
    if (room == nullptr) {
        room = std::make_shared<FarRoom>();
        known = room;
    }
    return room;
}

BusMap::Place BusMap::place(std::uint64_t addr, std::uint64_t len, bool write) {
    const Window* const w = find(addr);
    const std::uint64_t start = addr & (kMaxWindow - 1);
    if (w == nullptr || (write && !w->writable) ||
        !holds(write ? w->length : w->readable, start, len)) {
        ++errors_;
        return {};
    }
    return {true, w->far, start, w->id};
}

bool BusMap::is_there(std::uint64_t addr, const Place& place) {
    const Window* const w = find(addr);
    return (w != nullptr && w->id == place.window) || fail();
}

bool BusMap::is_far(std::uint64_t addr, std::uint64_t len) {
    const Window* const w = find(addr);
    return w != nullptr && w->far != nullptr && !w->memory.has(addr & (kMaxWindow - 1), len);
}

bool BusMap::lends(std::uint64_t addr) {
    const Window* const w = find(addr);
    return w != nullptr && w->far != nullptr && w->far->lends();
}

bool BusMap::fail() {
    ++errors_;
    return false;
}

BusMap::Window* BusMap::find(std::uint64_t addr) {
    const std::uint64_t index = addr >> kOffsetBits;
    return index < windows_.size() ? &windows_[index] : nullptr;
}

bool BusMap::slow_read(std::uint64_t addr, std::span<std::byte> dst) {
    const Window* w = find(addr);
    const std::uint64_t start = addr & (kMaxWindow - 1);
    if (w == nullptr || !holds(w->readable, start, dst.size())) {
        return fail();
    }
    if (w->is_a_place()) {
        return w->far->read(start, dst) || fail();
    }
    return w->memory.read(start, dst) || fail();
}

bool BusMap::write(std::uint64_t addr, std::span<const std::byte> src) {
    const Window* w = find(addr);
    const std::uint64_t start = addr & (kMaxWindow - 1);
    if (w == nullptr || !w->writable || !holds(w->length, start, src.size())) {
        return fail();
    }
    if (std::byte* to = pointer(addr, src.size(), src.data())) {
        write_in_order(to, src);
        return true;
    }
    if (w->is_a_place()) {
        return w->far->write(start, src) || fail();
    }
    return w->memory.write(start, src) || fail();
}

bool BusMap::atomic(std::uint64_t addr, const FarMemory::Atomic& request, std::uint64_t& before) {
    const Window* w = find(addr);
    if (w == nullptr || !w->writable || !holds(w->length, addr & (kMaxWindow - 1), sizeof before)) {
        return fail();
    }
    if (std::byte* at = pointer(addr, sizeof before);
        at != nullptr &&
        locked_atomic(at, request.swap, request.compare, request.operand, before)) {
        return true;
    }
    std::unique_lock<std::mutex> lock;
    if (const ClientFile* const file = w->memory.file_at(addr & (kMaxWindow - 1))) {
        lock = file->lock_atomics(w->memory.writer);
        if (!lock) {
            return fail();
        }
    }
    return request.make_by([&](std::span<std::byte> dst) { return read(addr, dst); },
                           [&](std::span<const std::byte> src) { return write(addr, src); },
                           before);
}

}  // namespace dingo::uverbs
