// SPDX-License-Identifier: BSD-2-Clause
#include "report/format.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace rdma_bench::report {
namespace {

std::string with_unit(double value, std::string_view unit) {
    std::string text = three_digits(value);
    if (!unit.empty()) {
        text += ' ';
        text += unit;
    }
    return text;
}

}  // namespace

std::string three_digits(double value) {
    if (!std::isfinite(value)) {
        return "?";
    }
    if (value == 0) {
        return "0";
    }
    std::array<char, 64> text{};
    const double magnitude = std::floor(std::log10(std::fabs(value)));
    // Rounding may carry into the next power of ten: 9.999 is "10", not "10.00".
    const double unit = std::pow(10.0, magnitude - 2);
    const double rounded = std::round(value / unit) * unit;
    const int decimals = static_cast<int>(std::max(0.0, std::min(12.0, 2 - magnitude)));
    std::snprintf(text.data(), text.size(), "%.*f", decimals, rounded);
    std::string out = text.data();
    if (out.find('.') != std::string::npos) {
        out.erase(out.find_last_not_of('0') + 1);
        if (out.back() == '.') {
            out.pop_back();
        }
    }
    return out;
}

std::string format_bytes(double bytes) {
    constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < kUnits.size()) {
        bytes /= 1024;
        ++unit;
    }
    return with_unit(bytes, kUnits[unit]);
}

std::string format_microseconds(double microseconds) {
    if (microseconds != 0 && std::fabs(microseconds) < 0.9995) {
        return with_unit(microseconds * 1e3, "ns");
    }
    if (std::fabs(microseconds) < 999.5) {
        return with_unit(microseconds, "\xC2\xB5s");
    }
    if (std::fabs(microseconds) < 999.5e3) {
        return with_unit(microseconds / 1e3, "ms");
    }
    return with_unit(microseconds / 1e6, "s");
}

std::string format_count(double count) {
    constexpr std::array<std::string_view, 4> kUnits{"", "k", "M", "G"};
    std::size_t unit = 0;
    while (std::fabs(count) >= 999.5 && unit + 1 < kUnits.size()) {
        count /= 1000;
        ++unit;
    }
    return with_unit(count, kUnits[unit]);
}

}  // namespace rdma_bench::report
