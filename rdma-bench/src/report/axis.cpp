// SPDX-License-Identifier: BSD-2-Clause
#include "report/axis.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "report/markup.h"

namespace rdma_bench::report {
namespace {

/// The largest percentile that has a place of its own: six nines.
constexpr double kMostPercent = 99.9999;

double log_nines(double percent) {
    return -std::log10(1 - std::clamp(percent, 0.0, kMostPercent) / 100);
}

}  // namespace

std::string format_value(Unit unit, double value) {
    switch (unit) {
        case Unit::kBytes:
            return format_bytes(value);
        case Unit::kMicroseconds:
            return format_microseconds(value);
        case Unit::kCount:
            return format_count(value);
        case Unit::kRatio:
            return three_digits(value) + "\xC3\x97";
        case Unit::kPercent:
        case Unit::kGigabits:
        case Unit::kPlain:
            break;
    }
    // A percentile needs all its nines.
    if (unit == Unit::kPercent && value > 99.9) {
        std::string text = std::to_string(value);
        text.erase(text.find_last_not_of('0') + 1);
        return text.back() == '.' ? text.substr(0, text.size() - 1) : text;
    }
    return three_digits(value);
}

Axis::Axis(Scale scale, Unit unit, double low, double high, int most_labels)
    : scale_(scale), unit_(unit), low_(low), high_(high) {
    const bool logarithm = scale == Scale::kLog2 || scale == Scale::kLog10;
    if (!std::isfinite(low_) || !std::isfinite(high_) || high_ < low_) {
        low_ = logarithm ? 1 : 0;
        high_ = 1;
    }
    if (logarithm) {
        high_ = high_ > 0 ? high_ : 1;
        low_ = low_ > 0 ? low_ : std::min(high_, 1.0);
    }
    switch (scale) {
        case Scale::kLinear:
            linear(most_labels);
            break;
        case Scale::kLog2:
            powers(2, most_labels);
            break;
        case Scale::kLog10:
            // Under two decades powers of ten alone would leave the reader without a label.
            if (high_ / low_ < 100) {
                one_two_five();
            } else {
                powers(10, most_labels);
            }
            break;
        case Scale::kNines:
            nines();
            break;
    }
}

double Axis::project(double value) const {
    switch (scale_) {
        case Scale::kLinear:
            return value;
        case Scale::kNines:
            return log_nines(value);
        case Scale::kLog2:
        case Scale::kLog10:
            break;
    }
    return std::log10(std::max(value, 1e-300));
}

double Axis::place(double value) const {
    const double from = project(low_);
    const double to = project(high_);
    return to > from ? std::clamp((project(value) - from) / (to - from), 0.0, 1.0) : 0.5;
}

void Axis::linear(int most_labels) {
    low_ = std::min(low_, 0.0);
    high_ = high_ > low_ ? high_ : low_ + 1;
    const double rough = (high_ - low_) / std::max(1, most_labels - 1);
    const double decade = std::pow(10.0, std::floor(std::log10(rough)));
    double step = decade * 10;
    for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
        if (decade * factor >= rough * 0.999) {
            step = decade * factor;
            break;
        }
    }
    const auto first = static_cast<long>(std::floor(low_ / step));
    const auto last = static_cast<long>(std::ceil(high_ / step - 1e-9));
    low_ = static_cast<double>(first) * step;
    high_ = static_cast<double>(last) * step;
    for (long i = first; i <= last; ++i) {
        label(static_cast<double>(i) * step);
    }
}

void Axis::powers(double base, int most_labels) {
    const double log_base = std::log(base);
    int first = static_cast<int>(std::floor(std::log(low_) / log_base + 1e-9));
    int last = static_cast<int>(std::ceil(std::log(high_) / log_base - 1e-9));
    if (last == first) {
        // One value: in the middle.
        --first;
        ++last;
    }
    // Multiples of 10 are KiB and MiB, and thousands: labels sit where they are round.
    constexpr std::array<int, 7> kEvery{1, 2, 4, 5, 10, 20, 50};
    const auto* every = kEvery.begin();
    while (every + 1 < kEvery.end() && (last - first) / *every + 1 > most_labels) {
        ++every;
    }
    low_ = std::pow(base, first);
    high_ = std::pow(base, last);
    for (int power = first; power <= last; ++power) {
        const double value = std::pow(base, power);
        if (power % *every == 0) {
            label(value);
        } else if (last - first <= 24) {
            line(value);
        }
    }
}

void Axis::one_two_five() {
    std::vector<double> steps;
    const int decade = static_cast<int>(std::floor(std::log10(low_))) - 1;
    for (int power = decade; power <= decade + 5; ++power) {
        for (const double factor : {1.0, 2.0, 5.0}) {
            steps.push_back(factor * std::pow(10.0, power));
        }
    }
    // The last step at or below the lowest value, the first at or above the highest.
    const auto above_low = std::upper_bound(steps.begin(), steps.end(), low_ * 1.000001);
    auto first = above_low - (above_low == steps.begin() ? 0 : 1);
    auto last = std::lower_bound(first, steps.end(), high_ * 0.999999);
    if (last == steps.end()) {
        --last;
    }
    if (last == first) {
        last += last + 1 == steps.end() ? 0 : 1;
        first -= first == steps.begin() ? 0 : 1;
    }
    low_ = *first;
    high_ = *last;
    for (auto step = first; step <= last; ++step) {
        label(*step);
    }
}

void Axis::nines() {
    const double wanted = std::min(high_, kMostPercent);
    low_ = 0;
    label(low_);
    for (const double percent : {50.0, 90.0, 99.0, 99.9, 99.99, 99.999, kMostPercent}) {
        label(percent);
        high_ = percent;
        if (percent >= wanted && percent >= 90) {
            break;
        }
    }
}

}  // namespace rdma_bench::report
