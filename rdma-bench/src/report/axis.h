// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace rdma_bench::report {

enum class Scale {
    kLinear,  ///< from zero
    kLog2,    ///< message sizes, numbers of QPs
    kLog10,
    kNines,  ///< percentiles: 90, 99, 99.9 at equal distances
};

enum class Unit { kPlain, kBytes, kGigabits, kCount, kMicroseconds, kPercent, kRatio };

std::string format_value(Unit unit, double value);

struct Tick {
    double value;
    std::string label;  ///< empty: a grid line only
};

/// One axis of a plot: bounds that enclose the data and end on ticks, and ticks that do not crowd.
class Axis {
  public:
    /// Values of `low` and `high` that the scale cannot show (zero on a logarithm, no data) are
    /// replaced.
    Axis(Scale scale, Unit unit, double low, double high, int most_labels);

    /// 0 at the low end, 1 at the high end; clamped.
    [[nodiscard]] double place(double value) const;
    [[nodiscard]] const std::vector<Tick>& ticks() const { return ticks_; }
    [[nodiscard]] double low() const { return low_; }
    [[nodiscard]] double high() const { return high_; }

  private:
    [[nodiscard]] double project(double value) const;
    void linear(int most_labels);
    void powers(double base, int most_labels);
    void one_two_five();
    void nines();
    void label(double value) { ticks_.push_back({value, format_value(unit_, value)}); }
    void line(double value) { ticks_.push_back({value, {}}); }

    Scale scale_;
    Unit unit_;
    double low_;
    double high_;
    std::vector<Tick> ticks_;
};

}  // namespace rdma_bench::report
