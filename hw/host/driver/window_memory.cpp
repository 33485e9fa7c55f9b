// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/window_memory.h"

#include <algorithm>
#include <cstring>

#include "base/ordered_write.h"

namespace dingo::uverbs {
namespace {

/// The part that holds byte `offset`, or the next one.
auto part_at(const std::vector<MappedPart>& parts, std::uint64_t offset) {
    return std::upper_bound(
        parts.begin(), parts.end(), offset,
        [](std::uint64_t at, const MappedPart& p) { return at < p.offset + p.bytes.size(); });
}

/// Calls piece(offset in window, bytes, mapped address or nullptr) for each piece of the range.
template <typename Fn>
bool for_each_piece(const std::vector<MappedPart>& parts, std::uint64_t offset, std::size_t len,
                    Fn&& piece) {
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

bool read_unmapped(const WindowMemory& w, std::uint64_t offset, std::span<std::byte> dst) {
    return for_each_unmapped(
        w.files, offset, dst.size(), [&](const FilePart* file, std::uint64_t at, std::size_t n) {
            const auto to = dst.subspan(at - offset, n);
            return file != nullptr ? file->file->read(file->file_offset + (at - file->offset), to)
                                   : w.client != nullptr && w.client->read(w.va + at, to);
        });
}

bool write_unmapped(const WindowMemory& w, std::uint64_t offset, std::span<const std::byte> src) {
    return for_each_unmapped(
        w.files, offset, src.size(), [&](const FilePart* file, std::uint64_t at, std::size_t n) {
            const auto from = src.subspan(at - offset, n);
            return file != nullptr
                       ? file->file->write(file->file_offset + (at - file->offset), from, w.writer)
                       : w.client != nullptr && w.client->write(w.va + at, from);
        });
}

}  // namespace

bool WindowMemory::read(std::uint64_t offset, std::span<std::byte> dst) const {
    return for_each_piece(parts, offset, dst.size(),
                          [&](std::uint64_t at, std::size_t n, const std::byte* mapped) {
                              std::byte* const to = dst.data() + (at - offset);
                              if (mapped != nullptr) {
                                  std::memcpy(to, mapped, n);
                                  return true;
                              }
                              return read_unmapped(*this, at, {to, n});
                          });
}

bool WindowMemory::write(std::uint64_t offset, std::span<const std::byte> src) const {
    return for_each_piece(parts, offset, src.size(),
                          [&](std::uint64_t at, std::size_t n, std::byte* mapped) {
                              const std::byte* const from = src.data() + (at - offset);
                              if (mapped != nullptr) {
                                  write_in_order(mapped, {from, n});
                                  return true;
                              }
                              return write_unmapped(*this, at, {from, n});
                          });
}

std::byte* WindowMemory::pointer(std::uint64_t offset, std::size_t len) const {
    const auto part = part_at(parts, offset);
    if (part == parts.end() || part->offset > offset ||
        len > part->bytes.size() - (offset - part->offset)) {
        return nullptr;
    }
    return part->bytes.data() + (offset - part->offset);
}

const ClientFile* WindowMemory::file_at(std::uint64_t offset) const {
    const ClientFile* found = nullptr;
    for_each_unmapped(files, offset, 1, [&](const FilePart* file, std::uint64_t, std::size_t) {
        found = file != nullptr ? file->file.get() : nullptr;
        return true;
    });
    return found;
}

bool WindowMemory::has(std::uint64_t offset, std::uint64_t len) const {
    return for_each_piece(parts, offset, len,
                          [&](std::uint64_t at, std::size_t n, const std::byte* mapped) {
                              return mapped != nullptr ||
                                     for_each_unmapped(files, at, n,
                                                       [](const FilePart* file, std::uint64_t,
                                                          std::size_t) { return file != nullptr; });
                          });
}

}  // namespace dingo::uverbs
