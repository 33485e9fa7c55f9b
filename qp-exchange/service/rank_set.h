// SPDX-License-Identifier: BSD-2-Clause
// A set of ranks as a bit map.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace qpx::service {

class RankSet {
  public:
    bool has(uint32_t rank) const {
        return rank / 64 < words_.size() && (words_[rank / 64] >> (rank % 64) & 1) != 0;
    }
    /// Returns false if the rank was in the set.
    bool add(uint32_t rank) {
        if (rank / 64 >= words_.size()) {
            words_.resize(rank / 64 + 1);
        }
        uint64_t& word = words_[rank / 64];
        const uint64_t bit = uint64_t{1} << (rank % 64);
        const bool fresh = (word & bit) == 0;
        word |= bit;
        return fresh;
    }

    void remove(uint32_t rank) {
        if (has(rank)) {
            words_[rank / 64] &= ~(uint64_t{1} << (rank % 64));
        }
    }

    /// Returns the set of all ranks below `end`.
    static RankSet below(uint32_t end) {
        RankSet all;
        all.words_.assign(end / 64, ~uint64_t{0});
        if (end % 64 != 0) {
            all.words_.push_back((uint64_t{1} << (end % 64)) - 1);
        }
        return all;
    }
    RankSet without(const RankSet& other) const {
        RankSet rest = *this;
        for (size_t i = 0; i < rest.words_.size() && i < other.words_.size(); ++i) {
            rest.words_[i] &= ~other.words_[i];
        }
        return rest;
    }
    RankSet both(const RankSet& other) const { return without(without(other)); }

    bool empty() const {
        return std::all_of(words_.begin(), words_.end(), [](uint64_t word) { return word == 0; });
    }
    uint32_t count() const {
        uint32_t n = 0;
        for (uint64_t word : words_) {
            n += static_cast<uint32_t>(std::popcount(word));
        }
        return n;
    }
    /// Bytes of allocated memory.
    size_t bytes() const { return words_.size() * sizeof(uint64_t); }
    /// Upper bound: no rank at or above it is in the set.
    uint32_t end() const { return static_cast<uint32_t>(words_.size() * 64); }
    /// Returns the first rank >= `rank` that is in the set (`in`) or not in it; end() if none.
    uint32_t next(uint32_t rank, bool in) const {
        while (rank < end()) {
            const uint64_t word = (in ? words_[rank / 64] : ~words_[rank / 64]) >> (rank % 64);
            if (word != 0) {
                return rank + static_cast<uint32_t>(std::countr_zero(word));
            }
            rank = (rank / 64 + 1) * 64;
        }
        return end();
    }

    template <typename Function>
    void for_each(Function function) const {
        for (uint32_t i = 0; i < words_.size(); ++i) {
            for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
                function(i * 64 + static_cast<uint32_t>(std::countr_zero(word)));
            }
        }
    }

  private:
    std::vector<uint64_t> words_;
};

}  // namespace qpx::service
