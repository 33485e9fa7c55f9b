// SPDX-License-Identifier: BSD-2-Clause
#include "report/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "report/markup.h"

namespace rdma_bench::report {
namespace {

// Units of the drawing. A phone shows it at about 0.7 of that: the text stays readable there.
constexpr double kWidth = 480;
constexpr double kHeight = 300;
constexpr double kLeft = 74;
constexpr double kRight = 30;
constexpr double kTop = 14;
constexpr double kBottom = 54;
constexpr double kInnerWidth = kWidth - kLeft - kRight;
constexpr double kInnerHeight = kHeight - kTop - kBottom;
constexpr int kXLabels = 6;
constexpr int kYLabels = 6;

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.1f", value);
    return text;
}

bool usable(Scale scale, double value) {
    return std::isfinite(value) &&
           (scale == Scale::kLinear || scale == Scale::kNines ? true : value > 0);
}

/// Where a point lies in the drawing.
struct Frame {
    Axis x;
    Axis y;
    [[nodiscard]] double left(double value) const { return kLeft + x.place(value) * kInnerWidth; }
    [[nodiscard]] double top(double value) const {
        return kTop + (1 - y.place(value)) * kInnerHeight;
    }
};

struct Range {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    void add(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
};

std::string grid_line(const Tick& tick, const std::string& x1, const std::string& y1,
                      const std::string& x2, const std::string& y2) {
    const std::string look = tick.label.empty() ? "minor" : "major";
    return "<line class=\"" + look + "\" x1=\"" + x1 + "\" x2=\"" + x2 + "\" y1=\"" + y1 +
           "\" y2=\"" + y2 + "\"/>";
}

void draw_grid(std::string& out, const Plot& plot, const Frame& frame) {
    const std::string bottom = number(kTop + kInnerHeight);
    out += "<g class=\"grid\">";
    for (const Tick& tick : frame.x.ticks()) {
        const std::string x = number(frame.left(tick.value));
        out += grid_line(tick, x, number(kTop), x, bottom);
    }
    for (const Tick& tick : frame.y.ticks()) {
        const std::string y = number(frame.top(tick.value));
        out += grid_line(tick, number(kLeft), y, number(kWidth - kRight), y);
    }
    out += "</g><g class=\"labels\">";
    for (const Tick& tick : frame.x.ticks()) {
        if (tick.label.empty()) {
            continue;
        }
        const double x = frame.left(tick.value);
        out += "<text text-anchor=\"middle\" x=\"" + number(x) + "\" y=\"" +
               number(kTop + kInnerHeight + 18) + "\">" + escape_markup(tick.label) + "</text>";
    }
    for (const Tick& tick : frame.y.ticks()) {
        if (tick.label.empty()) {
            continue;
        }
        out += "<text text-anchor=\"end\" x=\"" + number(kLeft - 7) + "\" y=\"" +
               number(frame.top(tick.value) + 4.5) + "\">" + escape_markup(tick.label) + "</text>";
    }
    out += "<text class=\"axis\" text-anchor=\"middle\" x=\"" + number(kLeft + kInnerWidth / 2) +
           "\" y=\"" + number(kHeight - 12) + "\">" + escape_markup(plot.x.title) + "</text>";
    out += "<text class=\"axis\" text-anchor=\"middle\" transform=\"translate(15 " +
           number(kTop + kInnerHeight / 2) + ") rotate(-90)\">" + escape_markup(plot.y.title) +
           "</text></g>";
}

std::string marker(int look, double x, double y) {
    const auto at = [&](double dx, double dy) { return number(x + dx) + "," + number(y + dy); };
    switch (look % 4) {
        case 0:
            return "<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"3.6\"";
        case 1:
            return "<rect x=\"" + number(x - 3.3) + "\" y=\"" + number(y - 3.3) +
                   "\" width=\"6.6\" height=\"6.6\"";
        case 2:
            return "<polygon points=\"" + at(0, -4.4) + " " + at(4.2, 3.4) + " " + at(-4.2, 3.4) +
                   "\"";
        default:
            return "<polygon points=\"" + at(0, -4.8) + " " + at(4.8, 0) + " " + at(0, 4.8) + " " +
                   at(-4.8, 0) + "\"";
    }
}

std::string path(const Series& series, const std::vector<Point>& points, const Frame& frame) {
    std::string d;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const double x = frame.left(points[i].x);
        const double y = frame.top(points[i].y);
        if (i == 0) {
            d += "M" + number(x) + " " + number(y);
        } else if (series.steps) {
            d += "H" + number(x) + "V" + number(y);
        } else {
            d += "L" + number(x) + " " + number(y);
        }
    }
    return d;
}

void draw_series(std::string& out, const Plot& plot, const Series& series,
                 const std::vector<Point>& points, const Frame& frame) {
    const int look = series.look % kLooks;
    out += "<g class=\"look" + std::to_string(look) + "\"><path class=\"line\" d=\"" +
           path(series, points, frame) + "\"/>";
    for (const Point& point : points) {
        if (!series.markers) {
            break;
        }
        out += marker(look, frame.left(point.x), frame.top(point.y)) + "><title>" +
               escape_markup(series.name + ": " + format_value(plot.y.unit, point.y) + " (" +
                             format_value(plot.x.unit, point.x) + ")") +
               "</title></" +
               (look % 4 == 0   ? "circle"
                : look % 4 == 1 ? "rect"
                                : "polygon") +
               ">";
    }
    out += "</g>";
}

}  // namespace

std::string draw(const Plot& plot) {
    std::vector<std::vector<Point>> shown(plot.series.size());
    Range x;
    Range y;
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
        for (const Point& point : plot.series[i].points) {
            if (usable(plot.x.scale, point.x) && usable(plot.y.scale, point.y)) {
                shown[i].push_back(point);
                x.add(point.x);
                y.add(point.y);
            }
        }
    }
    if (x.low > x.high) {
        return {};
    }
    if (plot.reference) {
        y.add(*plot.reference);
    }
    const Frame frame{{plot.x.scale, plot.x.unit, x.low, x.high, kXLabels},
                      {plot.y.scale, plot.y.unit, y.low, y.high, kYLabels}};
    const std::string id = escape_markup(plot.id);
    std::string out = "<svg class=\"plot\" viewBox=\"0 0 " + number(kWidth) + " " +
                      number(kHeight) + "\" role=\"img\" aria-labelledby=\"" + id + "-t " + id +
                      "-d\"><title id=\"" + id + "-t\">" + escape_markup(plot.title) +
                      "</title><desc id=\"" + id + "-d\">" + escape_markup(plot.description) +
                      "</desc>";
    draw_grid(out, plot, frame);
    if (plot.reference) {
        const std::string at = number(frame.top(*plot.reference));
        out += "<line class=\"reference\" x1=\"" + number(kLeft) + "\" x2=\"" +
               number(kWidth - kRight) + "\" y1=\"" + at + "\" y2=\"" + at + "\"/>";
    }
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
        if (!shown[i].empty()) {
            draw_series(out, plot, plot.series[i], shown[i], frame);
        }
    }
    return out + "</svg>";
}

std::string draw_key(int look) {
    look %= kLooks;
    return "<svg class=\"key look" + std::to_string(look) +
           "\" viewBox=\"0 0 30 12\" aria-hidden=\"true\"><path class=\"line\" d=\"M1 6H29\"/>" +
           marker(look, 15, 6) + "/></svg>";
}

std::string_view plot_style() {
    // Colours that differ for the colour-blind (after Okabe and Ito), darker on white, lighter on
    // black; looks 4 to 7 are dashed as well.
    return R"(
:root{--l0:#0063a6;--l1:#c24a00;--l2:#00795a;--l3:#a8327f;--l4:#5a5a5a;--l5:#8a6d00;--l6:#0a7fa3;--l7:#8c2d19}
@media (prefers-color-scheme:dark){:root{--l0:#62b5f0;--l1:#ff9f5c;--l2:#43d0a5;--l3:#f08ccb;--l4:#c4c4c4;--l5:#e8cf5a;--l6:#7fdcf5;--l7:#ff8f7a}}
svg.plot{display:block;width:100%;height:auto;font:14px system-ui,sans-serif}
svg.key{width:30px;height:12px;vertical-align:middle;flex:none}
svg text{fill:var(--ink)} svg text.axis{fill:var(--soft)}
svg .major{stroke:var(--line);stroke-width:1} svg .minor{stroke:var(--line);stroke-width:.5;opacity:.6}
svg .reference{stroke:var(--ink);stroke-width:1.2;stroke-dasharray:2 3}
svg .line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}
svg circle,svg rect,svg polygon{fill:currentColor;stroke:var(--paper);stroke-width:.8}
.look0{color:var(--l0)}.look1{color:var(--l1)}.look2{color:var(--l2)}.look3{color:var(--l3)}
.look4{color:var(--l4)}.look5{color:var(--l5)}.look6{color:var(--l6)}.look7{color:var(--l7)}
.look4 .line,.look5 .line,.look6 .line,.look7 .line{stroke-dasharray:6 4}
)";
}

}  // namespace rdma_bench::report
