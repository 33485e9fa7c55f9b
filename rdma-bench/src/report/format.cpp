// SPDX-License-Identifier: BSD-2-Clause
#include "report/format.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <initializer_list>

namespace rdma_bench::report {
namespace {

/// In the greatest unit in which the number is not below 1. @param carry from which on it is
/// rounded to one of the next unit
std::string scaled(double value, double step, double carry,
                   std::initializer_list<const char*> units) {
    const auto* unit = units.begin();
    while (std::fabs(value) >= carry && unit + 1 != units.end()) {
        value /= step;
        ++unit;
    }
    return three_digits(value) + *unit;
}

}  // namespace

std::string three_digits(double value) {
    if (!std::isfinite(value)) {
        return "?";
    }
    // "{:.3g}" alone writes 1234 as 1.23e+03.
    return fmt::format("{}", std::strtod(fmt::format("{:.3g}", value).c_str(), nullptr));
}

std::string format_bytes(double bytes) {
    return scaled(bytes, 1024, 1024, {" B", " KiB", " MiB", " GiB", " TiB"});
}

std::string format_microseconds(double microseconds) {
    return scaled(microseconds * 1000, 1000, 999.5, {" ns", " \xC2\xB5s", " ms", " s"});
}

std::string format_count(double count) {
    return scaled(count, 1000, 999.5, {"", " k", " M", " G"});
}

}  // namespace rdma_bench::report
