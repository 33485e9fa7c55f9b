// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/axis.h"

namespace rdma_bench::report {

struct Point {
    double x;
    double y;
};

/// A line of a plot. Colour, dashes and marker follow from `look`, so that a series looks the same
/// in every plot.
struct Series {
    std::string name;
    std::vector<Point> points;
    int look = 0;
    bool steps = false;  ///< a histogram's outline instead of a line through markers
    bool markers = true;
};

/// How many looks differ; a series beyond that repeats the first.
constexpr int kLooks = 8;

struct PlotAxis {
    std::string title;
    Scale scale = Scale::kLinear;
    Unit unit = Unit::kPlain;
};

struct Plot {
    std::string id;  ///< unique in the page; letters, digits, '-'
    std::string title;
    std::string description;  ///< what the picture shows, for readers that cannot see it
    PlotAxis x;
    PlotAxis y;
    std::vector<Series> series;
    std::optional<double> reference;  ///< a horizontal line, for example ratio 1
};

/// The plot as an inline SVG element, or an empty string when no series has a point that can be
/// shown. Points with a value that is not finite, or not positive on a logarithm, are left out.
std::string draw(const Plot& plot);

/// The marker and line of a look, as a small inline SVG for legends.
std::string draw_key(int look);

/// The part of the page's style sheet that plots need.
std::string_view plot_style();

}  // namespace rdma_bench::report
