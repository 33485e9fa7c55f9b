// SPDX-License-Identifier: BSD-2-Clause
#include <charconv>
#include <cmath>

#include "options/parse.h"

namespace rdma_bench {
namespace {

std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto comma = text.find(',');
        parts.push_back(text.substr(0, comma));
        if (comma == text.npos) {
            return parts;
        }
        text.remove_prefix(comma + 1);
    }
}

/// Parses the number at the beginning of `text`; `rest` is the text after it.
std::uint64_t number(std::string_view text, std::string_view& rest, const std::string& error) {
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{}) {
        throw UsageError(error);
    }
    rest = text.substr(static_cast<std::size_t>(end - text.data()));
    return value;
}

}  // namespace

std::vector<std::uint64_t> parse_sizes(std::string_view text) {
    std::vector<std::uint64_t> sizes;
    for (const auto part : split(text)) {
        const std::string error = "-s: '" + std::string(part) +
                                  "' is no size (bytes, or with k, M or G for powers of 1024)";
        std::string_view unit;
        std::uint64_t value = number(part, unit, error);
        unsigned shift = 0;
        if (unit == "k" || unit == "K") {
            shift = 10;
        } else if (unit == "m" || unit == "M") {
            shift = 20;
        } else if (unit == "g" || unit == "G") {
            shift = 30;
        } else if (!unit.empty()) {
            throw UsageError(error);
        }
        if (value == 0 || value > (std::uint64_t{1} << 31 >> shift)) {
            throw UsageError("-s: a message has 1 to 2^31 bytes, not " + std::string(part));
        }
        sizes.push_back(value << shift);
    }
    return sizes;
}

std::vector<unsigned> parse_counts(std::string_view text, std::string_view option) {
    std::vector<unsigned> counts;
    for (const auto part : split(text)) {
        const std::string error =
            std::string(option) + ": '" + std::string(part) + "' is no number from 1 to 16384";
        std::string_view rest;
        const auto value = number(part, rest, error);
        if (!rest.empty() || value < 1 || value > 16384) {
            throw UsageError(error);
        }
        counts.push_back(static_cast<unsigned>(value));
    }
    return counts;
}

std::vector<unsigned> parse_processors(std::string_view text) {
    constexpr unsigned kMost = 1024;  // size of a cpu_set_t
    std::vector<unsigned> processors;
    for (const auto part : split(text)) {
        const std::string error = "--pin: '" + std::string(part) +
                                  "' is no processor (0 to 1023) or range of them, like 2-5";
        std::string_view rest;
        const auto first = number(part, rest, error);
        auto last = first;
        if (rest.starts_with('-')) {
            last = number(rest.substr(1), rest, error);
        }
        if (!rest.empty() || last >= kMost || first > last) {
            throw UsageError(error);
        }
        for (auto processor = first; processor <= last; ++processor) {
            processors.push_back(static_cast<unsigned>(processor));
        }
    }
    return processors;
}

double parse_rate(std::string_view text) {
    const std::string error = "'" + std::string(text) +
                              "' is no rate (messages a second, or with k, M for powers of 1000)";
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    double factor = 1;
    if (unit == "k" || unit == "K") {
        factor = 1e3;
    } else if (unit == "M") {
        factor = 1e6;
    } else if (!unit.empty()) {
        throw UsageError(error);
    }
    if (code != std::errc{} || !std::isfinite(value) || value <= 0 || value * factor > 1e10) {
        throw UsageError(error);
    }
    return value * factor;
}

}  // namespace rdma_bench
