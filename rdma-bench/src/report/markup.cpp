// SPDX-License-Identifier: BSD-2-Clause
#include "report/markup.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace rdma_bench::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Decoded {
    std::uint32_t point;
    std::size_t bytes;  ///< 0: not UTF-8
};

/// One code point of well-formed UTF-8 (RFC 3629: shortest form, no surrogates).
Decoded decode(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t lead = byte(0);
    if (lead < 0x80) {
        return {lead, 1};
    }
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    constexpr std::array<std::uint32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
    if (lead < 0xC2 || lead > 0xF4 || text.size() < length) {
        return {0, 0};
    }
    std::uint32_t point = lead & (0x7FU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0) != 0x80) {
            return {0, 0};
        }
        point = point << 6 | (byte(i) & 0x3FU);
    }
    if (point < kSmallest[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) {
        return {0, 0};
    }
    return {point, length};
}

bool is_unwelcome(std::uint32_t point) {
    const bool control =
        (point < 0x20 && point != '\n' && point != '\t') || (point >= 0x7F && point < 0xA0);
    const bool direction = (point >= 0x202A && point <= 0x202E) ||
                           (point >= 0x2066 && point <= 0x2069) || point == 0x200E ||
                           point == 0x200F;
    return control || direction || point == 0xFFFE || point == 0xFFFF;
}

std::string with_unit(double value, std::string_view unit) {
    std::string text = three_digits(value);
    if (!unit.empty()) {
        text += ' ';
        text += unit;
    }
    return text;
}

}  // namespace

std::string escape_markup(std::string_view text) {
    std::string out;
    out.reserve(text.size() + text.size() / 8);
    while (!text.empty()) {
        const auto [point, bytes] = decode(text);
        if (bytes == 0 || is_unwelcome(point)) {
            out += kReplacement;
            text.remove_prefix(bytes == 0 ? 1 : bytes);
            continue;
        }
        switch (point) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            default:
                out += text.substr(0, bytes);
        }
        text.remove_prefix(bytes);
    }
    return out;
}

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
