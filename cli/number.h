// SPDX-License-Identifier: BSD-2-Clause
//
// Validators for numbers, instead of CLI11's PositiveNumber and NonNegativeNumber, whose messages
// name the largest double, and which accept "nan".
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>

namespace cli {

inline CLI::Validator number(const char* name, bool zero) {
    return {[zero](std::string& text) {
                double value = 0;
                const bool good = CLI::detail::lexical_cast(text, value) && std::isfinite(value) &&
                                  (zero ? value >= 0 : value > 0);
                return good ? std::string()
                            : "'" + text + "' is no number" +
                                  (zero ? " of at least 0" : " greater than 0");
            },
            name};
}

inline const CLI::Validator kPositive = number("POSITIVE", false);
inline const CLI::Validator kNonNegative = number("NONNEGATIVE", true);

}  // namespace cli
