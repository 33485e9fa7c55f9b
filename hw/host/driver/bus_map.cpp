// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/bus_map.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/errno_error.h"
#include "base/ordered_write.h"
#include "host/driver/queue_memory.h"

namespace dingo::uverbs {
namespace {

bool holds(std::uint64_t size, std::uint64_t offset, std::size_t len) {
    return offset <= size && len <= size - offset;
}

/// The part that holds byte `offset`, or the next one.
template <typename Parts>
auto part_at(Parts& parts, std::uint64_t offset) {
    return std::upper_bound(
        parts.begin(), parts.end(), offset,
        [](std::uint64_t at, const MappedPart& p) { return at < p.offset + p.bytes.size(); });
}

/// Calls piece(offset in window, bytes, mapped address or nullptr) for each piece of the range.
template <typename Parts, typename Fn>
bool for_each_piece(Parts& parts, std::uint64_t offset, std::size_t len, Fn&& piece) {
    auto part = part_at(parts, offset);
    while (len != 0) {
        std::size_t n = len;
        std::byte* mapped = nullptr;
        if (part != parts.end() && part->offset <= offset) {
            const std::uint64_t in_part = offset - part->offset;
            n = std::min<std::uint64_t>(len, part->bytes.size() - in_part);
            mapped = part->bytes.data() + in_part;
            ++part;
        } else if (part != parts.end()) {
            n = std::min<std::uint64_t>(len, part->offset - offset);
        }
        if (!piece(offset, n, mapped)) {
            return false;
        }
        offset += n;
        len -= n;
    }
    return true;
}

/// Calls piece(file part or nullptr, offset in window, bytes) for what is not mapped.
template <typename Fn>
bool for_each_unmapped(const std::vector<FilePart>& files, std::uint64_t offset, std::size_t len,
                       Fn&& piece) {
    auto part = std::upper_bound(
        files.begin(), files.end(), offset,
        [](std::uint64_t at, const FilePart& p) { return at < p.offset + p.length; });
    while (len != 0) {
        const FilePart* file = nullptr;
        std::size_t n = len;
        if (part != files.end() && part->offset <= offset) {
            file = &*part;
            n = std::min<std::uint64_t>(len, part->offset + part->length - offset);
            ++part;
        } else if (part != files.end()) {
            n = std::min<std::uint64_t>(len, part->offset - offset);
        }
        if (!piece(file, offset, n)) {
            return false;
        }
        offset += n;
        len -= n;
    }
    return true;
}

}  // namespace

bool BusMap::read_unmapped(const Window& w, std::uint64_t offset, std::span<std::byte> dst) {
    return for_each_unmapped(
        w.files, offset, dst.size(), [&](const FilePart* file, std::uint64_t at, std::size_t n) {
            const auto to = dst.subspan(at - offset, n);
            return file != nullptr ? file->file->read(file->file_offset + (at - file->offset), to)
                                   : w.client != nullptr && w.client->read(w.va + at, to);
        });
}

bool BusMap::write_unmapped(const Window& w, std::uint64_t offset, std::span<const std::byte> src) {
    return for_each_unmapped(
        w.files, offset, src.size(), [&](const FilePart* file, std::uint64_t at, std::size_t n) {
            const auto from = src.subspan(at - offset, n);
            return file != nullptr
                       ? file->file->write(file->file_offset + (at - file->offset), from)
                       : w.client != nullptr && w.client->write(w.va + at, from);
        });
}

void BusMap::copy_in(std::byte* to, const std::byte* from, std::size_t len) {
    std::memcpy(to, from, len);
}

std::byte* BusMap::slow_pointer(const Window& w, std::uint64_t offset, std::size_t len) {
    const auto part = part_at(w.parts, offset);
    if (part == w.parts.end() || part->offset > offset ||
        len > part->bytes.size() - (offset - part->offset)) {
        return nullptr;
    }
    return part->bytes.data() + (offset - part->offset);
}

std::uint64_t BusMap::add(Window window) {
    if (!window.parts.empty()) {
        window.first = window.parts.front().bytes.data();
        window.first_offset = window.parts.front().offset;
        window.first_size = window.parts.front().bytes.size();
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
    window.parts.push_back({0, bytes});
    return add(std::move(window));
}

std::uint64_t BusMap::add(std::shared_ptr<ClientMemory> client, std::uint64_t va,
                          std::uint64_t length, std::vector<MappedPart> parts, bool writable,
                          std::vector<FilePart> files) {
    if (length == 0 || length > kMaxWindow) {
        throw ErrnoError(ENOMEM);
    }
    Window window;
    window.length = length;
    window.readable = page_align(length);
    window.writable = writable;
    window.client = std::move(client);
    window.va = va;
    window.parts = std::move(parts);
    window.files = std::move(files);
    return add(std::move(window));
}

void BusMap::set_writable(std::uint64_t bus_address, bool writable) {
    windows_.at(bus_address >> kOffsetBits).writable = writable;
}

void BusMap::remove(std::uint64_t bus_address) {
    const std::uint64_t index = bus_address >> kOffsetBits;
    windows_.at(index) = Window{};
    free_.push_back(static_cast<std::uint32_t>(index));
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
    const bool ok = for_each_piece(w->parts, start, dst.size(),
                                   [&](std::uint64_t at, std::size_t n, const std::byte* mapped) {
                                       std::byte* const to = dst.data() + (at - start);
                                       if (mapped != nullptr) {
                                           copy_in(to, mapped, n);
                                           return true;
                                       }
                                       return read_unmapped(*w, at, {to, n});
                                   });
    return ok || fail();
}

bool BusMap::write(std::uint64_t addr, std::span<const std::byte> src) {
    const Window* w = find(addr);
    const std::uint64_t start = addr & (kMaxWindow - 1);
    if (w == nullptr || !w->writable || !holds(w->length, start, src.size())) {
        return fail();
    }
    if (std::byte* to = pointer(addr, src.size())) {
        write_in_order(to, src);
        return true;
    }
    const bool ok = for_each_piece(w->parts, start, src.size(),
                                   [&](std::uint64_t at, std::size_t n, std::byte* mapped) {
                                       const std::byte* const from = src.data() + (at - start);
                                       if (mapped != nullptr) {
                                           write_in_order(mapped, {from, n});
                                           return true;
                                       }
                                       return write_unmapped(*w, at, {from, n});
                                   });
    return ok || fail();
}

}  // namespace dingo::uverbs
