// SPDX-License-Identifier: BSD-2-Clause
//
// Memory regions with page lists of 0 to 2 levels in a bench's host memory, and what the model's
// PageList says of them: the reference for every translation.
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
    std::vector<std::uint64_t> pages;  ///< as the list has them
    std::vector<bool> bad;             ///< the entry, or a list on the way to it, is of no use

    /// Bus address of byte `off`, or false.
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

/// Lays out regions and their lists one behind the other, from the start of the memory.
class RegionMaker {
  public:
    RegionMaker(HostMemory& memory, std::uint32_t seed)
        : memory_(memory), random_(seed), next_(memory.base()) {}

    /// `bytes` from `offset` of the first page on; pages are shuffled. Every n-th entry is
    /// misaligned when `spoil` is n.
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

    /// Space that is nobody's.
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
            take(count * 8 + 64, 8) + 8 * (random_() % 8);  // lists are 8-byte aligned
        for (std::uint64_t i = 0; i < count; ++i) {
            memory_.put64(at + 8 * i, entries[from + i]);
        }
        return at;
    }

    HostMemory& memory_;
    std::mt19937 random_;
    std::uint64_t next_;
};

/// xmem_t at bit `low`: 103 bits.
inline void put_xmem(std::uint32_t* words, unsigned low, const Xmem& m) {
    put_bits(words, low, 64, m.addr);
    put_bits(words, low + 64, 32, m.offset);
    put_bits(words, low + 96, 5, m.shift);
    put_bits(words, low + 101, 2, m.levels);
}

}  // namespace dingo::rtl
