// SPDX-License-Identifier: BSD-2-Clause
#include "compare/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "report/format.h"

namespace rdma_bench {
namespace {

/// Removes control characters from text of untrusted files, which could control the terminal.
std::string printable(const std::string& text) {
    std::string out = text;
    std::replace_if(
        out.begin(), out.end(),
        [](char c) {
            const auto byte = static_cast<unsigned char>(c);
            return byte < 0x20 || byte == 0x7F;
        },
        '?');
    return out;
}

}  // namespace

std::string format_figure(const Figure& figure, double value) {
    if (figure.higher_is_better) {
        constexpr double kBitsPerByte = 8;
        return report::format_count(value * kBitsPerByte) + "b/s";
    }
    constexpr double kPerMicrosecond = 1e3;
    return report::format_microseconds(value / kPerMicrosecond);
}

std::string format_change(const Figure& figure) {
    return fmt::format("{:+.1f} %", (figure.ratio() - 1) * 100);
}

std::string format_interval(const Figure& figure) {
    if (!figure.interval) {
        return "";
    }
    return fmt::format("{:+.1f} to {:+.1f}", (figure.interval->low - 1) * 100,
                       (figure.interval->high - 1) * 100);
}

double parse_threshold(const std::string& text) {
    std::size_t used = 0;
    double value = -1;
    try {
        value = std::stod(text, &used);
    } catch (const std::exception&) {
        used = 0;
    }
    const bool percent = used + 1 == text.size() && text.back() == '%';
    if (used == 0 || (used != text.size() && !percent) || !std::isfinite(value)) {
        throw std::invalid_argument("threshold '" + text + "' is neither like 3% nor like 0.03");
    }
    value = percent ? value / 100 : value;
    if (value < 0 || value >= 1) {
        throw std::invalid_argument("threshold '" + text + "' is not from 0 to below 100 %");
    }
    return value;
}

std::string to_table(const Comparison& comparison, const CompareOptions& options) {
    std::string out =
        fmt::format("{:>10} {:>5}  {:<16} {:>12} {:>12} {:>8} {:>9} {:>16}  {}\n", "#bytes", "QPs",
                    "figure", "first", "second", "ratio", "change", "interval, %", "verdict");
    std::size_t worse = 0;
    std::size_t better = 0;
    std::size_t unclear = 0;
    for (const Figure& f : comparison.figures) {
        // The micro sign has two bytes and one column.
        const auto cell = [&](double value) {
            const std::string text = format_figure(f, value);
            const std::size_t wide = text.find("\xC2\xB5") != std::string::npos ? 1 : 0;
            return fmt::format("{:>{}}", text, 12 + wide);
        };
        out += fmt::format("{:>10} {:>5}  {:<16} {} {} {:>8.3f} {:>9} {:>16}  {}\n", f.size, f.qps,
                           f.name, cell(f.first), cell(f.second), f.ratio(), format_change(f),
                           format_interval(f), to_string(f.verdict));
        unclear += f.verdict == Verdict::kUnclear ? 1 : 0;
        worse += f.verdict == Verdict::kWorse ? 1 : 0;
        better += f.verdict == Verdict::kBetter ? 1 : 0;
    }
    for (const std::string& remark : comparison.remarks) {
        out += "differs: " + printable(remark) + "\n";
    }
    for (const std::string& failure : comparison.failures) {
        out += "failed: " + printable(failure) + "\n";
    }
    out += "judged " + comparison.ground + "\n";
    const bool single = std::none_of(comparison.figures.begin(), comparison.figures.end(),
                                     [](const Figure& f) { return f.interval.has_value(); });
    out += fmt::format(
        "{}: {} worse, {} better, {}threshold {}%\n", comparison.worse() ? "worse" : "not worse",
        worse, better, unclear > 0 ? fmt::format("{} unclear, ", unclear) : "",
        report::three_digits(
            (single ? options.single.value_or(options.threshold) : options.threshold) * 100));
    return out;
}

}  // namespace rdma_bench
