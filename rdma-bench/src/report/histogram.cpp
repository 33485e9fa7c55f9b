// SPDX-License-Identifier: BSD-2-Clause
#include "report/histogram.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace rdma_bench {

Histogram::Histogram(double unit_ns) : unit_ns_(unit_ns), counts_(kBuckets) {}

std::uint64_t Histogram::lower(std::size_t index) {
    constexpr std::size_t kHalf = std::size_t{1} << (kSubBits - 1);
    if (index < 2 * kHalf) {
        return index;
    }
    const std::size_t shift = index / kHalf - 1;
    return static_cast<std::uint64_t>(index - shift * kHalf) << shift;
}

void Histogram::merge(const Histogram& other) {
    if (other.unit_ns_ != unit_ns_) {
        throw std::invalid_argument("histograms of different units cannot be merged");
    }
    for (std::size_t i = 0; i < kBuckets; ++i) {
        counts_[i] += other.counts_[i];
    }
    count_ += other.count_;
    sum_ += other.sum_;
    squares_ += other.squares_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
}

void Histogram::clear() {
    *this = Histogram(unit_ns_);
}

double Histogram::min() const {
    return count_ ? static_cast<double>(min_) * unit_ns_ : 0;
}
double Histogram::max() const {
    return count_ ? static_cast<double>(max_) * unit_ns_ : 0;
}
double Histogram::mean() const {
    return count_ ? sum_ / static_cast<double>(count_) * unit_ns_ : 0;
}

double Histogram::stdev() const {
    if (!count_) {
        return 0;
    }
    const double mean = sum_ / static_cast<double>(count_);
    // Rounding may leave a tiny negative number when all samples are equal.
    return std::sqrt(std::max(0.0, squares_ / static_cast<double>(count_) - mean * mean)) *
           unit_ns_;
}

double Histogram::percentile(double percent) const {
    if (!count_) {
        return 0;
    }
    const double rank = std::ceil(std::clamp(percent, 0.0, 100.0) / 100 *
                                  static_cast<double>(count_) * (1 - 1e-15));
    const auto wanted = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(rank));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
        seen += counts_[i];
        if (seen >= wanted) {
            const std::uint64_t last = i + 1 < kBuckets ? lower(i + 1) - 1 : max_;
            return static_cast<double>(std::clamp(last, min_, max_)) * unit_ns_;
        }
    }
    return max();
}

std::vector<Histogram::Bucket> Histogram::buckets() const {
    std::vector<Bucket> result;
    for (std::size_t i = 0; i < kBuckets; ++i) {
        if (counts_[i]) {
            const double to = i + 1 < kBuckets ? static_cast<double>(lower(i + 1))
                                               : static_cast<double>(max_) + 1;
            result.push_back({static_cast<double>(lower(i)) * unit_ns_, to * unit_ns_, counts_[i]});
        }
    }
    return result;
}

Histogram::State Histogram::state() const {
    State state{unit_ns_, count_ ? min_ : 0, max_, sum_, squares_, {}};
    for (std::size_t i = 0; i < kBuckets; ++i) {
        if (counts_[i]) {
            state.counts.emplace_back(static_cast<std::uint32_t>(i), counts_[i]);
        }
    }
    return state;
}

Histogram Histogram::from_state(const State& state) {
    if (state.min_ticks > state.max_ticks || !(state.unit_ns > 0)) {
        throw std::invalid_argument("histogram with wrong limits or unit");
    }
    Histogram result(state.unit_ns);
    for (const auto& [index, count] : state.counts) {
        if (index >= kBuckets) {
            throw std::invalid_argument("histogram bucket " + std::to_string(index) + " of " +
                                        std::to_string(kBuckets));
        }
        result.counts_[index] += count;
        result.count_ += count;
    }
    if (result.count_) {
        result.min_ = state.min_ticks;
        result.max_ = state.max_ticks;
        result.sum_ = state.sum;
        result.squares_ = state.squares;
    }
    return result;
}

}  // namespace rdma_bench
