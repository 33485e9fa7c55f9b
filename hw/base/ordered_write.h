// SPDX-License-Identifier: BSD-2-Clause
//
// Writes into memory that a program polls while they are under way, as PCIe makes them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace dingo {

/// Copies `src` (may overlap) to `to` so that its end becomes visible last: a reader that finds the
/// last aligned 8-byte word of the write, or a part of it, new finds all before it new. Each
/// naturally aligned 2, 4 or 8 bytes at the end appear at once. memmove() promises neither: glibc's
/// copies from the end when source and destination have the same place in a page. Pollers that rely
/// on it: phase bits (HostPort::dma_write), and programs that wait for the last byte of a WRITE
/// (perftest's ib_write_lat, eager protocols of MPI).
inline void write_in_order(std::byte* to, std::span<const std::byte> src) {
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    if (src.empty()) {
        return;
    }
    const auto end = reinterpret_cast<std::uintptr_t>(to) + src.size();
    std::size_t left = std::min<std::size_t>((end - 1) % kWord + 1, src.size());
    // Read last, too, as `src` may be memory that its owner writes meanwhile; but where a region is
    // written onto itself, before it is overwritten.
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

/// The owner byte that ends a ring's entry, which write_in_order() has written: what stands before
/// it is seen then. Read with its whole word, as ThreadSanitizer pairs accesses by address and
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
