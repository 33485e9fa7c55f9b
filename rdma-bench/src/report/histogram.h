// SPDX-License-Identifier: BSD-2-Clause
// Latencies in fixed memory: buckets of equal width below 1,024 ticks, then 512 in each power of
// two, so that a bucket is never wider than 0.2 % of its value.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rdma_bench {

class Histogram {
  public:
    static constexpr unsigned kSubBits =
        10;  ///< 2^10 buckets of one tick, half of that per power of two above
    static constexpr unsigned kValueBits =
        40;  ///< values from 2^40 ticks on count as 2^40 - 1 (the maximum stays exact)
    static constexpr std::size_t kBuckets =
        (std::size_t{1} << kSubBits) +
        (std::size_t{kValueBits} - kSubBits) * (std::size_t{1} << (kSubBits - 1));

    /// @param unit_ns nanoseconds in one tick: 1 for nanoseconds, half a tick of the clock for half
    /// round trips
    explicit Histogram(double unit_ns = 1.0);

    void record(std::uint64_t ticks) {
        ++counts_[index(ticks)];
        ++count_;
        sum_ += static_cast<double>(ticks);
        squares_ += static_cast<double>(ticks) * static_cast<double>(ticks);
        min_ = ticks < min_ ? ticks : min_;
        max_ = ticks > max_ ? ticks : max_;
    }
    /// As if each value of `other` had been recorded here. Both have the same unit, else
    /// std::invalid_argument.
    void merge(const Histogram& other);
    void clear();
    /// What a tick is becomes known late when the clock is calibrated over the run.
    void set_unit_ns(double unit_ns) { unit_ns_ = unit_ns; }
    [[nodiscard]] double unit_ns() const { return unit_ns_; }

    [[nodiscard]] std::uint64_t count() const { return count_; }
    // All in nanoseconds; 0 when nothing was recorded. min, max, mean and stdev are exact.
    [[nodiscard]] double min() const;
    [[nodiscard]] double max() const;
    [[nodiscard]] double mean() const;
    [[nodiscard]] double stdev() const;  ///< standard deviation of the population
    /// @param percent 0 to 100: the value that this part of the samples does not exceed, at most a
    /// bucket too high
    [[nodiscard]] double percentile(double percent) const;
    [[nodiscard]] double typical() const { return percentile(50); }

    /// A bucket that has samples: from <= value < to, nanoseconds.
    struct Bucket {
        double from, to;
        std::uint64_t count;
    };
    [[nodiscard]] std::vector<Bucket> buckets() const;  ///< ascending, without the empty ones
    /// The inverse of buckets() for a file: index and count, and the exact figures.
    struct State {
        double unit_ns = 1.0;
        std::uint64_t min_ticks = 0, max_ticks = 0;
        double sum = 0, squares = 0;
        std::vector<std::pair<std::uint32_t, std::uint64_t>> counts;  ///< bucket number, samples
    };
    [[nodiscard]] State state() const;
    /// @throws std::invalid_argument a bucket that there is not, a minimum above the maximum, a
    /// unit that is not positive
    static Histogram from_state(const State& state);

    static std::size_t index(std::uint64_t ticks) {
        constexpr std::uint64_t kLinear = std::uint64_t{1} << kSubBits;
        if (ticks < kLinear) {
            return ticks;
        }
        if (ticks >> kValueBits) {
            return kBuckets - 1;
        }
        const unsigned shift = 64U - kSubBits - static_cast<unsigned>(__builtin_clzll(ticks));
        return (std::size_t{shift} << (kSubBits - 1)) + (ticks >> shift);
    }
    /// Smallest value that falls into a bucket, in ticks.
    static std::uint64_t lower(std::size_t index);

  private:
    double unit_ns_;
    std::uint64_t count_ = 0, min_ = UINT64_MAX, max_ = 0;
    double sum_ = 0, squares_ = 0;
    std::vector<std::uint64_t> counts_;
};

}  // namespace rdma_bench
