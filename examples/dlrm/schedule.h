// SPDX-License-Identifier: BSD-2-Clause
//
// Assignment of a file's records to batches. The file is read cyclically; the list of sizes
// repeats.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace dlrm {

struct Span {
    std::uint64_t first = 0;  ///< first record; the span wraps from the last record to 0
    std::uint32_t count = 0;
};

class Schedule {
  public:
    /// @throws std::invalid_argument: no size, a size of 0, or larger than the file
    Schedule(std::uint64_t records, std::vector<std::uint32_t> sizes)
        : records_(records), sizes_(std::move(sizes)) {
        if (sizes_.empty())
            throw std::invalid_argument("no batch size");
        for (const std::uint32_t size : sizes_) {
            if (size == 0 || size > records)
                throw std::invalid_argument("a batch has 1 record to as many as the file has");
            begins_.push_back(round_);
            round_ += size;
            largest_ = size > largest_ ? size : largest_;
        }
    }
    /// Returns the span of batch `number`, counted from 0.
    [[nodiscard]] Span at(std::uint64_t number) const {
        const std::size_t i = number % sizes_.size();
        const std::uint64_t rounds = number / sizes_.size() % records_;
        return {(rounds * (round_ % records_) + begins_[i]) % records_, sizes_[i]};
    }
    [[nodiscard]] std::uint32_t largest() const { return largest_; }

  private:
    std::uint64_t records_;
    std::vector<std::uint32_t> sizes_;
    std::vector<std::uint64_t> begins_;
    std::uint64_t round_ = 0;  ///< sum of all sizes
    std::uint32_t largest_ = 0;
};

}  // namespace dlrm
