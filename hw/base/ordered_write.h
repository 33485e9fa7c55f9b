// SPDX-License-Identifier: BSD-2-Clause
//
// Writes to memory that a program polls meanwhile, with the ordering of PCIe writes.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace dingo {

/// Copies `src` (may overlap) to `to` so that its end becomes visible last: a reader that sees the
/// new value of the last aligned 8-byte word, or of a part of it, sees all earlier bytes new. At
/// the end, naturally aligned units of 2, 4 or 8 bytes are stored atomically. memmove() guarantees
/// neither: glibc's copies backwards when source and destination have the same offset in a page.
/// Pollers that rely on it: phase bits (HostPort::dma_write), and programs that wait for the last
/// byte of a WRITE (perftest's ib_write_lat, eager protocols of MPI).
inline void write_in_order(std::byte* to, std::span<const std::byte> src) {
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    if (src.empty()) {
        return;
    }
    const auto end = reinterpret_cast<std::uintptr_t>(to) + src.size();
    std::size_t left = std::min<std::size_t>((end - 1) % kWord + 1, src.size());
    // The tail is read last, as the owner of `src` may write it meanwhile; but if the ranges
    // overlap, it is read before it is overwritten.
    const auto ahead = static_cast<std::uint64_t>(to - src.data());
    const bool overlaps = ahead < src.size();
    std::array<std::byte, kWord> tail;
    const auto read_tail = [&] { std::memcpy(tail.data(), src.data() + src.size() - left, left); };
    if (overlaps) {
        read_tail();
    }
    std::memmove(to, src.data(), src.size() - left);
    if (!overlaps) {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        read_tail();
    }
    to += src.size() - left;
    const std::byte* from = tail.data();
    const auto store = [&]<typename T>(T value) {
        std::memcpy(&value, from, sizeof value);
        std::atomic_ref<T>(*reinterpret_cast<T*>(to)).store(value, std::memory_order_release);
        to += sizeof value;
        from += sizeof value;
        left -= sizeof value;
    };
    while (left != 0) {
        const auto at = reinterpret_cast<std::uintptr_t>(to);
        if (left >= 8 && at % 8 == 0) {
            store(std::uint64_t{});
        } else if (left >= 4 && at % 4 == 0) {
            store(std::uint32_t{});
        } else if (left >= 2 && at % 2 == 0) {
            store(std::uint16_t{});
        } else {
            store(std::uint8_t{});
        }
    }
}

/// Reads the owner byte at the end of a ring's entry that write_in_order() writes; the bytes before
/// it are visible then. Loads the whole word, as ThreadSanitizer matches accesses by address and
/// size.
template <typename Entry>
std::uint8_t read_owner(const Entry& entry) {
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    static_assert(sizeof(Entry) % kWord == 0 && offsetof(Entry, owner) == sizeof(Entry) - 1);
    const auto* const end = reinterpret_cast<const std::byte*>(&entry) + sizeof(Entry);
    const std::uint64_t word =
        __atomic_load_n(reinterpret_cast<const std::uint64_t*>(end - kWord), __ATOMIC_ACQUIRE);
    return static_cast<std::uint8_t>(std::as_bytes(std::span(&word, 1)).back());
}

}  // namespace dingo
