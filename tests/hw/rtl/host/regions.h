// SPDX-License-Identifier: BSD-2-Clause
//
// Memory regions with page lists of 0 to 2 levels in a bench's host memory, and their translation
// as a reference for RTL.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <random>
#include <vector>

#include "../support/host_memory.h"
#include "../support/wide_bits.h"

namespace dingo::rtl {

struct Xmem {
    unsigned levels = 0, shift = 0;
    std::uint32_t offset = 0;
    std::uint64_t addr = 0;
};

struct Region {
    Xmem mem;
    std::uint64_t bytes = 0;
    std::vector<std::uint64_t> pages;  ///< page addresses in the order of the list
    std::vector<bool> bad;             ///< the page's entry is misaligned

    /// Bus address of byte `off`; false if its entry is bad.
    [[nodiscard]] bool translate(std::uint64_t off, std::uint64_t& bus) const {
        const std::uint64_t position = off + mem.offset;
        if (mem.levels == 0) {
            bus = mem.addr + position;
            return true;
        }
        const std::uint64_t page = position >> mem.shift;
        bus = pages[page] + (position & ((1ull << mem.shift) - 1));
        return !bad[page];
    }
};

/// Allocates regions and their lists one after the other, from the start of the memory.
class RegionMaker {
  public:
    RegionMaker(HostMemory& memory, std::uint32_t seed)
        : memory_(memory), random_(seed), next_(memory.base()) {}

    /// A region of `bytes` bytes that begins at a random offset of its first page; pages are
    /// shuffled. With `spoil` every spoil-th entry is misaligned.
    Region make(unsigned levels, unsigned shift, std::uint64_t bytes, unsigned spoil = 0) {
        Region r;
        r.bytes = bytes;
        r.mem.levels = levels;
        if (levels == 0) {
            r.mem.addr = take(bytes + 4096, 1) + random_() % 4096;
            return r;
        }
        const std::uint64_t page = 1ull << shift;
        r.mem.shift = shift;
        r.mem.offset = static_cast<std::uint32_t>(random_() % page);
        const std::uint64_t count = (r.mem.offset + bytes - 1) / page + 1;
        std::uint64_t first = take(count * page, page);
        for (std::uint64_t i = 0; i < count; ++i) {
            r.pages.push_back(first + i * page);
        }
        std::shuffle(r.pages.begin(), r.pages.end(), random_);
        r.bad.resize(count);
        for (std::uint64_t i = 0; spoil != 0 && i < count; i += spoil) {
            r.pages[i] |= page / 2;
            r.bad[i] = true;
        }
        if (levels == 1) {
            r.mem.addr = list(r.pages, 0, count);
            return r;
        }
        std::vector<std::uint64_t> leaves;
        for (std::uint64_t i = 0; i < count; i += 512) {
            leaves.push_back(take(4096, 4096));
            for (std::uint64_t k = i; k < std::min(count, i + 512); ++k) {
                memory_.put64(leaves.back() + 8 * (k - i), r.pages[k]);
            }
        }
        r.mem.addr = list(leaves, 0, leaves.size());
        return r;
    }

    /// Allocates space.
    std::uint64_t take(std::uint64_t bytes, std::uint64_t align) {
        next_ = (next_ + align - 1) / align * align;
        const std::uint64_t at = next_;
        next_ += bytes;
        if (next_ > memory_.base() + memory_.size()) {
            throw std::bad_alloc();
        }
        return at;
    }

  private:
    std::uint64_t list(const std::vector<std::uint64_t>& entries, std::uint64_t from,
                       std::uint64_t count) {
        const std::uint64_t at =
            take(count * 8 + 64, 8) + 8 * (random_() % 8);  // lists are aligned to 8 bytes
        for (std::uint64_t i = 0; i < count; ++i) {
            memory_.put64(at + 8 * i, entries[from + i]);
        }
        return at;
    }

    HostMemory& memory_;
    std::mt19937 random_;
    std::uint64_t next_;
};

/// Writes xmem_t, 103 bits, from bit `low` on.
inline void put_xmem(std::uint32_t* words, unsigned low, const Xmem& m) {
    put_bits(words, low, 64, m.addr);
    put_bits(words, low + 64, 32, m.offset);
    put_bits(words, low + 96, 5, m.shift);
    put_bits(words, low + 101, 2, m.levels);
}

}  // namespace dingo::rtl
