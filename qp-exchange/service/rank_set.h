// SPDX-License-Identifier: BSD-2-Clause
// A set of ranks, one bit each.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

namespace qpx::service {

class RankSet {
  public:
    bool has(uint32_t rank) const {
        return rank / 64 < words_.size() && (words_[rank / 64] >> (rank % 64) & 1) != 0;
    }
    /// False when it was in already.
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
